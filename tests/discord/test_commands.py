from pathlib import Path

import pytest

from moot.discord.commands import MODE_NAMES, _parse_new_options
from moot.types.errors import UsageError
from tests.discord.parley import Parley, parley


async def mentioned(here: Parley, text: str) -> str:
    """Say something to Moot by mention, and return what it replies."""
    asked = here.say(f"<@{here.double.guild.bot['id']}> {text}")

    def replies() -> list[str]:
        return [
            str(one["content"])
            for one in here.general.messages
            if one.get("message_reference", {}).get("message_id") == asked["id"]
        ]

    await here.double.wait_until(lambda: bool(replies()))
    return replies()[0]


async def test_a_table_is_laid_changed_and_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        assert "begin with `/moot new`" in await here.command("status")
        assert "begin with `/moot new`" in await here.command("stop")
        assert "There is no persona 'nobody'" in await here.command("new", participants="nobody")
        assert "There is no mode" not in await here.command("new", participants="sceptic, scripted/other")
        assert "Mode: consensus." in await here.command("mode", mode="consensus", rounds=1)
        assert "Engineer (scripted/one)" in await here.command(
            "persona", name="engineer", model="scripted/one"
        )
        assert "sits at the table already" in await here.command("persona", name="engineer")
        assert "Sceptic" in await here.command("persona")
        told = await here.command("status")
        assert told == (
            "The discussion begins with what is written next.\n"
            "At the table: Sceptic (scripted/brief), Alpha (scripted/other), Engineer (scripted/one). "
            "Mode: consensus.\nNobody is speaking."
        )
        here.say("What is a moot?")
        await here.shown("And the second.")
        await here.over()
        assert here.heard()[-4:] == [
            ("Sceptic", "A brief answer."),
            ("Alpha", "Another answer."),
            ("Engineer", "The first word."),
            ("Engineer", "And the second."),
        ]
        assert "takes at least two" in await here.command("participants", participants="scripted/echo")
        assert "Beta (scripted/brief)" in await here.command(
            "participants", participants="scripted/echo, scripted/brief"
        )
        assert "The whiteboard is empty." in await here.command("whiteboard")
        assert "Nobody is speaking." in await here.command("stop")


async def test_the_same_by_mention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        laid = await mentioned(here, "new scripted/hanging, scripted/hanging mode=parallel")
        assert laid.startswith(
            "At the table: Alpha (scripted/hanging), Beta (scripted/hanging). Mode: parallel."
        )
        assert "Mode: consensus" in await mentioned(here, "mode consensus 1")
        assert "Beta" in await mentioned(here, "participants")
        assert "Sceptic" in await mentioned(here, "persona")
        assert "begins with what is written next" in await mentioned(here, "status")
        assert "Nothing was drawn" in await mentioned(here, "whiteboard")
        here.say(f"<@{here.double.guild.bot['id']}> stop me if you know this one")
        await here.shown("It begins.")
        assert await mentioned(here, "stop Alpha") == "Alpha stops."
        await here.double.wait_until(lambda: ("Beta", "It begins.") in here.heard())
        assert "The table is speaking." in await mentioned(here, "status")
        assert await mentioned(here, "stop") == "All stop; what was said so far is kept."
        await here.over()
        asked = (await here.house.discussions.list_messages(await here.discussion()))[0]
        assert asked.content == "anna: stop me if you know this one"


async def test_a_discussion_of_the_page_goes_on_in_a_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/brief", channel=here.aside)
        here.double.post_message(here.aside, "anna", "A table for two.")
        await here.double.wait_for_message(here.aside, "A brief answer.")
        await here.over()
        id = await here.discussion()
        assert "Here goes on: " in await here.command("new", discussion=id)
        assert "There is no discussion 'dis_x'" in await here.command("new", discussion="dis_x")
        here.say("And here?")
        await here.shown("A brief answer.")
        await here.double.wait_until(
            lambda: (
                here.double.channel_lines(here.aside)[-2:]
                == [("local", "anna: And here?"), ("Alpha", "A brief answer.")]
            )
        )
        assert here.heard()[-2:] == [("anna", "And here?"), ("Alpha", "A brief answer.")]


async def test_somebody_who_is_not_there_cannot_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/brief")
        assert await here.command("stop", participant="Omega") == (
            "Nobody here is called 'Omega': there are Alpha."
        )


def test_options_by_mention() -> None:
    assert _parse_new_options("sceptic, engineer mode=debate rounds=3") == {
        "participants": "sceptic, engineer",
        "mode": "debate",
        "rounds": 3,
    }
    assert _parse_new_options("") == {"participants": ""}
    with pytest.raises(UsageError, match="rounds"):
        _parse_new_options("rounds=many")


def test_all_modes_can_be_chosen() -> None:
    assert MODE_NAMES == ("single", "parallel", "consensus", "debate", "advisors", "directed")
