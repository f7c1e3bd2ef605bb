from pathlib import Path

import pytest

from moot.discord import connection
from tests.discord.parley import Parley, parley


async def is_well(here: Parley) -> bool:
    """Tell whether the house answers as ever."""
    return len(await here.house.discussions.live_runs("local")) == 0


async def test_a_wrong_token_is_told_and_everything_else_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with parley(tmp_path, monkeypatch, joined=False, token="of-nobody") as here:
        await here.begin()
        await here.double.wait_until(lambda: connection.REJECTED_TEXT in caplog.text)
        assert "of-nobody" not in caplog.text
        assert await is_well(here)
        assert here.double.gateway.identify_count == 0


async def test_missing_intents_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with parley(tmp_path, monkeypatch, joined=False) as here:
        here.double.gateway.allows_privileged_intents = False
        await here.begin()
        await here.double.wait_until(lambda: connection.MISSING_INTENTS_TEXT in caplog.text)
        assert await is_well(here)


async def test_a_discord_that_is_away_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "FIRST_BACKOFF_SECONDS", 0.05)
    async with parley(tmp_path, monkeypatch, joined=False) as here:
        here.double.faults.add_fault("GET /users/@me", "lost", times=2)
        await here.join()
        assert "Discord cannot be reached" in caplog.text
        await here.command("new", participants="scripted/brief")
        here.say("Well?")
        await here.shown("A brief answer.")


async def test_a_session_that_cannot_be_resumed_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/brief")
        here.double.gateway.drop_session()
        here.double.gateway.abort_connections()
        await here.double.wait_until(lambda: here.double.gateway.identify_count == 2)
        here.say("Well?")
        await here.shown("A brief answer.")


async def test_a_part_that_fails_begins_anew_and_hurts_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("moot.discord.bot.AGAIN_SECONDS", 0.05)
    broken = [True]
    async with parley(tmp_path, monkeypatch) as here:
        whole = here.house.channels.delivery_progress

        async def told(id: str, run: str) -> object:
            if broken:
                broken.pop()
                raise RuntimeError("a mistake of ours")
            return await whole(id, run)

        monkeypatch.setattr(here.house.channels, "delivery_progress", told)
        await here.command("new", participants="scripted/brief")
        here.say("Well?")
        await here.shown("A brief answer.")
        assert "a part of the Discord channel failed and begins anew" in caplog.text
