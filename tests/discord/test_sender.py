from pathlib import Path

import pytest

from moot.testing.discord.faults import FaultKind
from moot.testing.discord.guild import MAX_WEBHOOKS
from tests.discord.bot_session import BotSession, open_bot_session

ANSWERS = [("Alpha", "The first word."), ("Alpha", "And the second.")]


async def start_run(session: BotSession) -> None:
    await session.run_command("new", participants="scripted/one")
    session.post_message("Why?")


@pytest.mark.parametrize("kind", ["rate", "cloudflare", "broken", "done_and_broken", "lost"])
async def test_messages_arrive_once_and_in_order_despite_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: FaultKind
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        # The reply to the command uses this path too.
        session.fake_discord.faults.add_fault("POST /webhooks/", kind, skip=1)
        session.fake_discord.faults.add_fault("POST /webhooks/", kind, skip=2)
        await start_run(session)
        await session.wait_for_message("And the second.")
        await session.wait_until_idle()
        assert session.visible_lines()[-3:] == [("anna", "Why?"), *ANSWERS]
        assert len(session.fake_discord.channel_lines(session.general)) == 5


@pytest.mark.parametrize("kind", ["rate", "broken", "done_and_broken", "lost"])
async def test_bot_sends_messages_once_when_webhooks_are_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: FaultKind
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        session.general.webhooks_allowed = False
        session.fake_discord.faults.add_fault(f"POST /channels/{session.general.id}/messages", kind, skip=1)
        await start_run(session)
        await session.wait_for_message("And the second.")
        assert session.visible_lines()[-3:] == [
            ("anna", "Why?"),
            ("Moot", "**Alpha:** The first word."),
            ("Moot", "**Alpha:** And the second."),
        ]
        assert len(session.fake_discord.channel_lines(session.general)) == 5


async def test_bot_sends_messages_when_webhook_limit_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        member = session.fake_discord.guild.add_member("carla")
        for _ in range(MAX_WEBHOOKS):
            session.fake_discord.guild.add_webhook(session.general, "Theirs")["user"] = member
        await start_run(session)
        await session.wait_for_message("**Alpha:** And the second.")


async def test_closed_channel_is_disabled_until_next_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await start_run(session)
        await session.wait_for_message("And the second.")
        session.general.closed = True
        session.post_message("Are you there?")
        await session.wait_until(
            lambda: session.worker.stores.channels.list_bindings("local"), lambda bound: bound[0].error is not None
        )
        requests = len(session.fake_discord.rest.request_log)
        status = await session.run_command("status", channel=session.other_channel)
        assert f"Sending to <#{session.general.id}> is disabled: Moot is no longer allowed to write here" in status
        assert "discord channel disabled" in caplog.text
        await session.wait_until_idle()
        assert not any(session.general.id in one for one in session.fake_discord.rest.request_log[requests:])
        session.general.closed = False
        session.post_message("And now?")
        await session.fake_discord.wait_until(lambda: session.visible_lines().count(ANSWERS[1]) == 3)


async def test_deleted_webhook_is_recreated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await start_run(session)
        await session.wait_for_message("And the second.")
        session.fake_discord.guild.webhooks.clear()
        session.post_message("And again?")
        await session.fake_discord.wait_until(
            lambda: session.visible_lines()[-3:] == [("anna", "And again?"), *ANSWERS]
        )


async def test_webhook_is_reused_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await start_run(session)
        await session.wait_for_message("And the second.")
        await session.stop_bot()
        await session.connect_bot()
        session.post_message("And again?")
        await session.fake_discord.wait_until(
            lambda: session.visible_lines()[-3:] == [("anna", "And again?"), *ANSWERS]
        )
        assert len(session.fake_discord.guild.webhooks) == 1
