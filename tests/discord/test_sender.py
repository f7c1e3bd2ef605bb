from pathlib import Path

import pytest

from moot.testing.discord.faults import FaultKind
from moot.testing.discord.guild import MAX_WEBHOOKS
from tests.discord.parley import Parley, parley

ANSWERS = [("Alpha", "The first word."), ("Alpha", "And the second.")]


async def asked(here: Parley) -> None:
    await here.command("new", participants="scripted/one")
    here.say("Why?")


@pytest.mark.parametrize("kind", ["rate", "cloudflare", "broken", "done_and_broken", "lost"])
async def test_whatever_goes_wrong_on_the_way_everything_arrives_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: FaultKind
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        here.double.faults.add_fault(
            "POST /webhooks/", kind, skip=1
        )  # the answer of the command comes that way too
        here.double.faults.add_fault("POST /webhooks/", kind, skip=2)
        await asked(here)
        await here.shown("And the second.")
        await here.over()
        assert here.heard()[-3:] == [("anna", "Why?"), *ANSWERS]
        assert len(here.double.channel_lines(here.general)) == 5


@pytest.mark.parametrize("kind", ["rate", "broken", "done_and_broken", "lost"])
async def test_where_there_can_be_no_webhook_moot_speaks_for_all_and_once_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: FaultKind
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        here.general.webhooks_allowed = False
        here.double.faults.add_fault(f"POST /channels/{here.general.id}/messages", kind, skip=1)
        await asked(here)
        await here.shown("And the second.")
        assert here.heard()[-3:] == [
            ("anna", "Why?"),
            ("Moot", "**Alpha:** The first word."),
            ("Moot", "**Alpha:** And the second."),
        ]
        assert len(here.double.channel_lines(here.general)) == 5


async def test_where_there_are_too_many_webhooks_already_moot_speaks_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        somebody = here.double.guild.add_member("carla")
        for _ in range(MAX_WEBHOOKS):
            here.double.guild.add_webhook(here.general, "Theirs")["user"] = somebody
        await asked(here)
        await here.shown("**Alpha:** And the second.")


async def test_where_moot_may_not_write_any_more_nothing_is_sent_until_somebody_writes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await asked(here)
        await here.shown("And the second.")
        here.general.closed = True
        here.say("Are you there?")
        await here.until(
            lambda: here.house.channels.list_bindings("local"), lambda bound: bound[0].trouble is not None
        )
        requests = len(here.double.rest.request_log)
        status = await here.command("status", channel=here.aside)
        assert f"Nothing is sent to <#{here.general.id}>: Discord does not let Moot write here" in status
        assert "nothing more is sent to a channel" in caplog.text
        await here.over()
        assert not any(here.general.id in one for one in here.double.rest.request_log[requests:])
        here.general.closed = False
        here.say("And now?")
        await here.double.wait_until(lambda: here.heard().count(ANSWERS[1]) == 3)


async def test_a_webhook_that_somebody_deletes_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await asked(here)
        await here.shown("And the second.")
        here.double.guild.webhooks.clear()
        here.say("And again?")
        await here.double.wait_until(lambda: here.heard()[-3:] == [("anna", "And again?"), *ANSWERS])


async def test_a_webhook_is_found_again_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await asked(here)
        await here.shown("And the second.")
        await here.leave()
        await here.join()
        here.say("And again?")
        await here.double.wait_until(lambda: here.heard()[-3:] == [("anna", "And again?"), *ANSWERS])
        assert len(here.double.guild.webhooks) == 1
