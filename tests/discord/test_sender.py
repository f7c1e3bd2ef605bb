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
    async with open_bot_session(tmp_path, monkeypatch) as here:
        here.fake_discord.faults.add_fault(
            "POST /webhooks/", kind, skip=1
        )  # the answer of the command comes that way too
        here.fake_discord.faults.add_fault("POST /webhooks/", kind, skip=2)
        await start_run(here)
        await here.wait_for_message("And the second.")
        await here.wait_until_idle()
        assert here.visible_lines()[-3:] == [("anna", "Why?"), *ANSWERS]
        assert len(here.fake_discord.channel_lines(here.general)) == 5


@pytest.mark.parametrize("kind", ["rate", "broken", "done_and_broken", "lost"])
async def test_bot_sends_messages_once_when_webhooks_are_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: FaultKind
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        here.general.webhooks_allowed = False
        here.fake_discord.faults.add_fault(f"POST /channels/{here.general.id}/messages", kind, skip=1)
        await start_run(here)
        await here.wait_for_message("And the second.")
        assert here.visible_lines()[-3:] == [
            ("anna", "Why?"),
            ("Moot", "**Alpha:** The first word."),
            ("Moot", "**Alpha:** And the second."),
        ]
        assert len(here.fake_discord.channel_lines(here.general)) == 5


async def test_bot_sends_messages_when_webhook_limit_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        somebody = here.fake_discord.guild.add_member("carla")
        for _ in range(MAX_WEBHOOKS):
            here.fake_discord.guild.add_webhook(here.general, "Theirs")["user"] = somebody
        await start_run(here)
        await here.wait_for_message("**Alpha:** And the second.")


async def test_closed_channel_is_disabled_until_next_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await start_run(here)
        await here.wait_for_message("And the second.")
        here.general.closed = True
        here.post_message("Are you there?")
        await here.wait_until(
            lambda: here.worker.stores.channels.list_bindings("local"), lambda bound: bound[0].error is not None
        )
        requests = len(here.fake_discord.rest.request_log)
        status = await here.run_command("status", channel=here.other_channel)
        assert f"Sending to <#{here.general.id}> is disabled: Moot is no longer allowed to write here" in status
        assert "discord channel disabled" in caplog.text
        await here.wait_until_idle()
        assert not any(here.general.id in one for one in here.fake_discord.rest.request_log[requests:])
        here.general.closed = False
        here.post_message("And now?")
        await here.fake_discord.wait_until(lambda: here.visible_lines().count(ANSWERS[1]) == 3)


async def test_deleted_webhook_is_recreated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await start_run(here)
        await here.wait_for_message("And the second.")
        here.fake_discord.guild.webhooks.clear()
        here.post_message("And again?")
        await here.fake_discord.wait_until(lambda: here.visible_lines()[-3:] == [("anna", "And again?"), *ANSWERS])


async def test_webhook_is_reused_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await start_run(here)
        await here.wait_for_message("And the second.")
        await here.stop_bot()
        await here.connect_bot()
        here.post_message("And again?")
        await here.fake_discord.wait_until(lambda: here.visible_lines()[-3:] == [("anna", "And again?"), *ANSWERS])
        assert len(here.fake_discord.guild.webhooks) == 1
