from pathlib import Path

import pytest

from moot.discord.commands import _parse_new_options
from moot.types.errors import UsageError
from tests.discord.bot_session import BotSession, open_bot_session


async def mention_bot(session: BotSession, text: str) -> str:
    """Mention the bot in a message, and return its reply."""
    asked = session.post_message(f"<@{session.fake_discord.guild.bot['id']}> {text}")

    def find_replies() -> list[str]:
        return [
            str(one["content"])
            for one in session.general.messages
            if one.get("message_reference", {}).get("message_id") == asked["id"]
        ]

    await session.fake_discord.wait_until(lambda: bool(find_replies()))
    return find_replies()[0]


async def test_commands_create_change_and_show_participants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        assert "Start one with `/moot new`" in await session.run_command("status")
        assert "Start one with `/moot new`" in await session.run_command("stop")
        assert "There is no persona 'nobody'" in await session.run_command("new", participants="nobody")
        assert "There is no mode" not in await session.run_command("new", participants="sceptic, scripted/other")
        assert "Mode: consensus." in await session.run_command("mode", mode="consensus", rounds=1)
        assert "Engineer (scripted/one)" in await session.run_command("persona", name="engineer", model="scripted/one")
        assert "is already a participant" in await session.run_command("persona", name="engineer")
        assert "Sceptic" in await session.run_command("persona")
        reply = await session.run_command("status")
        assert reply == (
            "The next message starts the discussion.\n"
            "Participants: Sceptic (scripted/brief), Alpha (scripted/other), Engineer (scripted/one). "
            "Mode: consensus.\nNo run is active."
        )
        session.post_message("What is a moot?")
        await session.wait_for_message("And the second.")
        await session.wait_until_idle()
        assert session.visible_lines()[-4:] == [
            ("Sceptic", "A brief answer."),
            ("Alpha", "Another answer."),
            ("Engineer", "The first word."),
            ("Engineer", "And the second."),
        ]
        assert "takes at least two" in await session.run_command("participants", participants="scripted/echo")
        assert "Beta (scripted/brief)" in await session.run_command(
            "participants", participants="scripted/echo, scripted/brief"
        )
        assert "The whiteboard is empty." in await session.run_command("whiteboard")
        assert "No run is active." in await session.run_command("stop")


async def test_commands_work_by_mention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        reply = await mention_bot(session, "new scripted/hanging, scripted/hanging mode=parallel")
        assert reply.startswith("Participants: Alpha (scripted/hanging), Beta (scripted/hanging). Mode: parallel.")
        assert "Mode: consensus" in await mention_bot(session, "mode consensus 1")
        assert "Beta" in await mention_bot(session, "participants")
        assert "Sceptic" in await mention_bot(session, "persona")
        assert "The next message starts" in await mention_bot(session, "status")
        assert "The whiteboard is empty." in await mention_bot(session, "whiteboard")
        session.post_message(f"<@{session.fake_discord.guild.bot['id']}> stop me if you know this one")
        await session.wait_for_message("It begins.")
        assert await mention_bot(session, "stop Alpha") == "Stopped Alpha."
        await session.fake_discord.wait_until(lambda: ("Beta", "It begins.") in session.visible_lines())
        assert "A run is active." in await mention_bot(session, "status")
        assert await mention_bot(session, "stop") == "Stopped. The answers so far are kept."
        await session.wait_until_idle()
        asked = (await session.services.discussions.list_messages(await session.discussion_id()))[0]
        assert asked.content == "anna: stop me if you know this one"


async def test_new_command_continues_existing_discussion_in_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief", channel=session.other_channel)
        session.fake_discord.post_message(session.other_channel, "anna", "A table for two.")
        await session.fake_discord.wait_for_message(session.other_channel, "A brief answer.")
        await session.wait_until_idle()
        id = await session.discussion_id()
        assert "Continuing: " in await session.run_command("new", discussion=id)
        assert "There is no discussion 'dis_x'" in await session.run_command("new", discussion="dis_x")
        session.post_message("And here?")
        await session.wait_for_message("A brief answer.")
        await session.fake_discord.wait_until(
            lambda: (
                session.fake_discord.channel_lines(session.other_channel)[-2:]
                == [("local", "anna: And here?"), ("Alpha", "A brief answer.")]
            )
        )
        assert session.visible_lines()[-2:] == [("anna", "And here?"), ("Alpha", "A brief answer.")]


async def test_stop_command_rejects_unknown_participant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        assert await session.run_command("stop", participant="Omega") == (
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
