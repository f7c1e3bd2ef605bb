import logging

import pytest

from moot.store.database import retry_while_unavailable
from moot.types.errors import DatabaseUnavailable


class UnavailableDatabase:
    """A database that answers after some failed calls."""

    def __init__(self, failures: int) -> None:
        self.failures_left = failures

    async def query(self) -> str:
        self.failures_left -= 1
        if self.failures_left >= 0:
            raise DatabaseUnavailable("The database is busy.")
        return "there"


@pytest.fixture(autouse=True)
def recorded_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the waits instead of waiting."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    return waited


async def test_retry_while_unavailable_returns_at_once_when_available(recorded_waits: list[float]) -> None:
    assert await retry_while_unavailable(UnavailableDatabase(0).query)() == "there"
    assert recorded_waits == []


async def test_retry_while_unavailable_backs_off_and_logs_reason(
    recorded_waits: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert await retry_while_unavailable(UnavailableDatabase(7).query)() == "there"
    assert recorded_waits == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert {record.__dict__["reason"] for record in caplog.records} == {"The database is busy."}


async def test_retry_while_unavailable_repeats_method_with_its_arguments() -> None:
    class Store:
        def __init__(self) -> None:
            self.calls: list[tuple[int, str]] = []

        @retry_while_unavailable
        async def add(self, number: int, *, name: str) -> int:
            self.calls.append((number, name))
            if len(self.calls) < 2:
                raise DatabaseUnavailable("The database is busy.")
            return number

    store = Store()
    assert await store.add(1, name="one") == 1
    assert store.calls == [(1, "one")] * 2


async def test_retry_while_unavailable_propagates_other_errors(recorded_waits: list[float]) -> None:
    async def ask() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await retry_while_unavailable(ask)()
    assert recorded_waits == []
