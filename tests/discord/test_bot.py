from pathlib import Path

import pytest

from moot.discord import bot
from tests.discord.bot_session import BotSession, open_bot_session


async def test_message_in_bound_channel_is_answered_under_participant_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        reply = await session.run_command("new", participants="sceptic = scripted/one")
        assert reply == (
            "Participants: Sceptic (scripted/one). Mode: single.\nYour next message starts the discussion."
        )
        asked = session.post_message("Why are tables round?")
        await session.wait_for_message("And the second.")
        shown = session.fake_discord.channel_lines(session.general)
        link = f"https://discord.com/channels/{session.fake_discord.guild.id}/{session.general.id}"
        assert shown[-4:] == [
            ("anna", "Why are tables round?"),
            ("Sceptic", f"-# Replying to anna: Why are tables round? ({link}/{asked['id']})"),
            ("Sceptic", "The first word."),
            ("Sceptic", "And the second."),
        ]
        assert "cdn.discordapp.com/embed/avatars" in session.general.messages[-1]["shown_avatar"]


async def test_unbound_channel_ignores_messages_and_answers_mention_with_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        session.post_message("Hello?")
        session.post_message(f"<@{session.fake_discord.guild.bot['id']}> hello?")
        await session.wait_for_message("Start one with `/moot new`")
        assert len(session.visible_lines()) == 3


async def test_resumed_session_delivers_missed_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        session.fake_discord.gateway.abort_connections()
        session.post_message("Are you there?")
        await session.wait_for_message("A brief answer.")
        assert (session.fake_discord.gateway.identify_count, session.fake_discord.gateway.resume_count) == (1, 1)


async def test_bound_channels_are_restored_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief, scripted/other")
        await session.stop_bot()
        await session.connect_bot()
        session.post_message("Well?")
        await session.wait_for_message("A brief answer.")
        await session.wait_for_message("Another answer.")


async def test_status_command_reports_deleted_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        other = session.fake_discord.guild.channels[session.other_channel.id]
        await session.run_command("new", participants="scripted/brief")
        session.fake_discord.guild.remove_channel(session.general)
        status = await session.run_command("status", channel=other)
        while "is disabled" not in status:
            status = await session.run_command("status", channel=other)
        assert f"Sending to <#{session.general.id}> is disabled: The channel is gone." in status


async def test_commands_are_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        [moot] = session.fake_discord.rest.registered_commands
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


async def has_no_live_runs(session: BotSession) -> bool:
    """Return whether the services still answer."""
    return len(await session.services.discussions.live_runs("local")) == 0


async def test_wrong_token_is_logged_and_services_keep_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False, token="of-nobody") as session:
        await session.start_bot()
        await session.fake_discord.wait_until(lambda: bot.REJECTED_TEXT in caplog.text)
        assert "of-nobody" not in caplog.text
        assert await has_no_live_runs(session)
        assert session.fake_discord.gateway.identify_count == 0


async def test_missing_intents_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False) as session:
        session.fake_discord.gateway.allows_privileged_intents = False
        await session.start_bot()
        await session.fake_discord.wait_until(lambda: bot.MISSING_INTENTS_TEXT in caplog.text)
        assert await has_no_live_runs(session)


async def test_connection_is_retried_when_discord_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bot, "FIRST_BACKOFF_SECONDS", 0.05)
    async with open_bot_session(tmp_path, monkeypatch, connected=False) as session:
        session.fake_discord.faults.add_fault("GET /users/@me", "lost", times=2)
        await session.connect_bot()
        assert "discord unreachable; retrying" in caplog.text
        await session.run_command("new", participants="scripted/brief")
        session.post_message("Well?")
        await session.wait_for_message("A brief answer.")


async def test_new_session_is_started_when_resume_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        session.fake_discord.gateway.drop_session()
        session.fake_discord.gateway.abort_connections()
        await session.fake_discord.wait_until(lambda: session.fake_discord.gateway.identify_count == 2)
        session.post_message("Well?")
        await session.wait_for_message("A brief answer.")


async def test_failed_channel_task_is_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bot, "RESTART_DELAY_SECONDS", 0.05)
    broken = [True]
    async with open_bot_session(tmp_path, monkeypatch) as session:
        whole = session.worker.stores.channels.delivery_progress

        async def fail_once(id: str, run: str) -> object:
            if broken:
                broken.pop()
                raise RuntimeError("a mistake of ours")
            return await whole(id, run)

        monkeypatch.setattr(session.worker.stores.channels, "delivery_progress", fail_once)
        await session.run_command("new", participants="scripted/brief")
        session.post_message("Well?")
        await session.wait_for_message("A brief answer.")
        assert "discord task failed; restarting" in caplog.text
