from pathlib import Path

import pytest

from moot.discord.commands import _parse_new_options
from moot.types.errors import UsageError
from tests.discord.bot_session import BotSession, open_bot_session


async def mention_bot(session: BotSession, text: str) -> str:
    """Say something to Moot by mention, and return what it replies."""
    asked = session.post_message(f"<@{session.fake_discord.guild.bot['id']}> {text}")

    def find_replies() -> list[str]:
        return [
            str(one["content"])
            for one in session.general.messages
            if one.get("message_reference", {}).get("message_id") == asked["id"]
        ]

    await session.fake_discord.wait_until(lambda: bool(find_replies()))
    return find_replies()[0]


async def test_commands_create_change_and_describe_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        assert "Start one with `/moot new`" in await here.run_command("status")
        assert "Start one with `/moot new`" in await here.run_command("stop")
        assert "There is no persona 'nobody'" in await here.run_command("new", participants="nobody")
        assert "There is no mode" not in await here.run_command("new", participants="sceptic, scripted/other")
        assert "Mode: consensus." in await here.run_command("mode", mode="consensus", rounds=1)
        assert "Engineer (scripted/one)" in await here.run_command("persona", name="engineer", model="scripted/one")
        assert "is already a participant" in await here.run_command("persona", name="engineer")
        assert "Sceptic" in await here.run_command("persona")
        told = await here.run_command("status")
        assert told == (
            "The next message starts the discussion.\n"
            "At the table: Sceptic (scripted/brief), Alpha (scripted/other), Engineer (scripted/one). "
            "Mode: consensus.\nNo run is active."
        )
        here.post_message("What is a moot?")
        await here.wait_for_message("And the second.")
        await here.wait_until_idle()
        assert here.visible_lines()[-4:] == [
            ("Sceptic", "A brief answer."),
            ("Alpha", "Another answer."),
            ("Engineer", "The first word."),
            ("Engineer", "And the second."),
        ]
        assert "takes at least two" in await here.run_command("participants", participants="scripted/echo")
        assert "Beta (scripted/brief)" in await here.run_command(
            "participants", participants="scripted/echo, scripted/brief"
        )
        assert "The whiteboard is empty." in await here.run_command("whiteboard")
        assert "No run is active." in await here.run_command("stop")


async def test_commands_work_by_mention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        laid = await mention_bot(here, "new scripted/hanging, scripted/hanging mode=parallel")
        assert laid.startswith("At the table: Alpha (scripted/hanging), Beta (scripted/hanging). Mode: parallel.")
        assert "Mode: consensus" in await mention_bot(here, "mode consensus 1")
        assert "Beta" in await mention_bot(here, "participants")
        assert "Sceptic" in await mention_bot(here, "persona")
        assert "The next message starts" in await mention_bot(here, "status")
        assert "The whiteboard is empty." in await mention_bot(here, "whiteboard")
        here.post_message(f"<@{here.fake_discord.guild.bot['id']}> stop me if you know this one")
        await here.wait_for_message("It begins.")
        assert await mention_bot(here, "stop Alpha") == "Stopped Alpha."
        await here.fake_discord.wait_until(lambda: ("Beta", "It begins.") in here.visible_lines())
        assert "A run is active." in await mention_bot(here, "status")
        assert await mention_bot(here, "stop") == "Stopped. The answers so far are kept."
        await here.wait_until_idle()
        asked = (await here.services.discussions.list_messages(await here.discussion_id()))[0]
        assert asked.content == "anna: stop me if you know this one"


async def test_new_command_continues_existing_discussion_in_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief", channel=here.other_channel)
        here.fake_discord.post_message(here.other_channel, "anna", "A table for two.")
        await here.fake_discord.wait_for_message(here.other_channel, "A brief answer.")
        await here.wait_until_idle()
        id = await here.discussion_id()
        assert "Continuing: " in await here.run_command("new", discussion=id)
        assert "There is no discussion 'dis_x'" in await here.run_command("new", discussion="dis_x")
        here.post_message("And here?")
        await here.wait_for_message("A brief answer.")
        await here.fake_discord.wait_until(
            lambda: (
                here.fake_discord.channel_lines(here.other_channel)[-2:]
                == [("local", "anna: And here?"), ("Alpha", "A brief answer.")]
            )
        )
        assert here.visible_lines()[-2:] == [("anna", "And here?"), ("Alpha", "A brief answer.")]


async def test_stop_command_rejects_unknown_participant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        assert await here.run_command("stop", participant="Omega") == (
            "There is no participant 'Omega'. Choose one of Alpha."
        )


def test_parse_new_options_reads_mention_text() -> None:
    assert _parse_new_options("sceptic, engineer mode=debate rounds=3") == {
        "participants": "sceptic, engineer",
        "mode": "debate",
        "rounds": 3,
    }
    assert _parse_new_options("") == {"participants": ""}
    with pytest.raises(UsageError, match="rounds"):
        _parse_new_options("rounds=many")
