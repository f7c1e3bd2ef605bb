from pathlib import Path

import pytest

from moot.discord import connection
from tests.discord.bot_session import BotSession, open_bot_session


async def has_no_live_runs(session: BotSession) -> bool:
    """Return whether the services still answer."""
    return len(await session.services.discussions.live_runs("local")) == 0


async def test_wrong_token_is_logged_and_services_keep_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False, token="of-nobody") as session:
        await session.start_bot()
        await session.fake_discord.wait_until(lambda: connection.REJECTED_TEXT in caplog.text)
        assert "of-nobody" not in caplog.text
        assert await has_no_live_runs(session)
        assert session.fake_discord.gateway.identify_count == 0


async def test_missing_intents_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False) as session:
        session.fake_discord.gateway.allows_privileged_intents = False
        await session.start_bot()
        await session.fake_discord.wait_until(lambda: connection.MISSING_INTENTS_TEXT in caplog.text)
        assert await has_no_live_runs(session)


async def test_connection_is_retried_when_discord_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "FIRST_BACKOFF_SECONDS", 0.05)
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
    monkeypatch.setattr("moot.discord.bot.RESTART_DELAY_SECONDS", 0.05)
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
