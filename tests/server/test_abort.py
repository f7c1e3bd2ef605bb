from typing import Any

from moot.server.abort import abort_connection, add_abort_extension


class FakeTransport:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


class FakeRequestCycle:
    """Like uvicorn: `send` is a method of an object that has the transport."""

    def __init__(self) -> None:
        self.transport = FakeTransport()

    async def send(self, message: object) -> None:
        pass


def test_abort_connection_aborts_transport() -> None:
    scope: dict[str, Any] = {"extensions": {"other": {}}}
    cycle = FakeRequestCycle()
    add_abort_extension(scope, cycle.send)
    assert not cycle.transport.aborted
    assert abort_connection(scope)
    assert cycle.transport.aborted
    assert "other" in scope["extensions"]


def test_abort_connection_returns_false_without_transport() -> None:
    scope: dict[str, Any] = {}

    async def send(message: object) -> None:
        pass

    add_abort_extension(scope, send)
    assert not abort_connection(scope)
