from typing import Any

from moot.server.hang_up import hang_up, offer


class Transport:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


class Cycle:
    """As uvicorn has it: `send` belongs to something that has the transport."""

    def __init__(self) -> None:
        self.transport = Transport()

    async def send(self, message: object) -> None:
        """Nobody listens."""


def test_a_connection_that_is_offered_can_be_closed_at_once() -> None:
    scope: dict[str, Any] = {"extensions": {"other": {}}}
    cycle = Cycle()
    offer(scope, cycle.send)
    assert not cycle.transport.aborted
    assert hang_up(scope)
    assert cycle.transport.aborted
    assert "other" in scope["extensions"]


def test_where_there_is_nothing_to_close_that_is_said() -> None:
    scope: dict[str, Any] = {}

    async def send(message: object) -> None:
        """Not of uvicorn."""

    offer(scope, send)
    assert not hang_up(scope)
