from pathlib import Path

import pytest

from tests.discord.bot_session import open_bot_session


async def test_message_in_bound_channel_is_answered_under_participant_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        told = await here.run_command("new", participants="sceptic = scripted/one")
        assert told == ("At the table: Sceptic (scripted/one). Mode: single.\nYour next message starts the discussion.")
        asked = here.post_message("Why are tables round?")
        await here.wait_for_message("And the second.")
        shown = here.fake_discord.channel_lines(here.general)
        link = f"https://discord.com/channels/{here.fake_discord.guild.id}/{here.general.id}"
        assert shown[-4:] == [
            ("anna", "Why are tables round?"),
            ("Sceptic", f"-# Replying to anna: Why are tables round? ({link}/{asked['id']})"),
            ("Sceptic", "The first word."),
            ("Sceptic", "And the second."),
        ]
        assert "cdn.discordapp.com/embed/avatars" in here.general.messages[-1]["shown_avatar"]


async def test_unbound_channel_ignores_messages_and_answers_mention_with_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        here.post_message("Hello?")
        here.post_message(f"<@{here.fake_discord.guild.bot['id']}> hello?")
        await here.wait_for_message("Start one with `/moot new`")
        assert len(here.visible_lines()) == 3


async def test_resumed_session_delivers_missed_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        here.fake_discord.gateway.abort_connections()
        here.post_message("Are you there?")
        await here.wait_for_message("A brief answer.")
        assert (here.fake_discord.gateway.identify_count, here.fake_discord.gateway.resume_count) == (1, 1)


async def test_bound_channels_are_restored_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief, scripted/other")
        await here.stop_bot()
        await here.connect_bot()
        here.post_message("Well?")
        await here.wait_for_message("A brief answer.")
        await here.wait_for_message("Another answer.")


async def test_status_command_reports_deleted_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        other = here.fake_discord.guild.channels[here.other_channel.id]
        await here.run_command("new", participants="scripted/brief")
        here.fake_discord.guild.remove_channel(here.general)
        status = await here.run_command("status", channel=other)
        while "is disabled" not in status:
            status = await here.run_command("status", channel=other)
        assert f"Sending to <#{here.general.id}> is disabled: The channel is gone." in status


async def test_commands_are_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        [moot] = here.fake_discord.rest.registered_commands
        assert moot["name"] == "moot"
        assert [one["name"] for one in moot["options"]] == [
            "new",
            "mode",
            "participants",
            "persona",
            "stop",
            "allow",
            "refuse",
            "status",
            "whiteboard",
        ]
