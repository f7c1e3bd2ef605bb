import asyncio
from typing import Any

import pytest
from litestar import Request
from litestar.exceptions import ClientException

from moot.model.errors import NotFound
from moot.server.waiting import while_waited_for


def request(left: asyncio.Event) -> Request[Any, Any, Any]:
    """A request whose caller stays until the event is set."""
    body = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if body:
            return body.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    scope: Any = {"type": "http", "headers": []}
    return Request(scope, receive)


async def test_who_waits_gets_what_came_of_it() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await while_waited_for(request(asyncio.Event()), work()) == "done"


async def test_what_goes_wrong_is_told_as_it_is() -> None:
    async def work() -> str:
        raise NotFound("nothing there")

    with pytest.raises(NotFound, match="nothing there"):
        await while_waited_for(request(asyncio.Event()), work())


async def test_work_ends_at_once_when_nobody_waits_any_more() -> None:
    left, begun, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    waiting = asyncio.create_task(while_waited_for(request(left), work()))
    await begun.wait()
    left.set()
    with pytest.raises(ClientException):
        await waiting
    assert ended.is_set()
