import logging

import pytest

from moot.engine.waits import retry_while_unavailable
from moot.types.errors import DatabaseUnavailable


class UnavailableDatabase:
    """A database that answers when it was asked often enough."""

    def __init__(self, failures: int) -> None:
        self.failures_left = failures

    async def query(self) -> str:
        self.failures_left -= 1
        if self.failures_left >= 0:
            raise DatabaseUnavailable("The database is busy.")
        return "there"


@pytest.fixture(autouse=True)
def recorded_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Do not wait, only note for how long."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    return waited


async def test_what_is_there_is_not_waited_for(recorded_waits: list[float]) -> None:
    assert await retry_while_unavailable(UnavailableDatabase(0).query) == "there"
    assert recorded_waits == []


async def test_what_is_away_is_asked_again_ever_more_seldom_and_it_is_said_why(
    recorded_waits: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert await retry_while_unavailable(UnavailableDatabase(7).query) == "there"
    assert recorded_waits == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert {record.__dict__["reason"] for record in caplog.records} == {"The database is busy."}


async def test_what_goes_wrong_otherwise_is_not_tried_again(recorded_waits: list[float]) -> None:
    async def ask() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await retry_while_unavailable(ask)
    assert recorded_waits == []
