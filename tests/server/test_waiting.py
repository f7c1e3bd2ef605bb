import asyncio
from typing import Any

import msgspec
import pytest
from litestar import Litestar, Request, post
from litestar.exceptions import ClientException

from moot.model.accounts import Caller
from moot.model.errors import NotFound, Refused
from moot.server.problems import HANDLERS
from moot.server.revocations import Revocations
from moot.server.waiting import while_waited_for
from moot.store.accounts import Accounts
from moot.store.database import Database
from tests.server.visiting import Visitor, asking_for

TOKEN = Caller(account="ada", tenant="ada", name="ada", kind="token", credential="gone")


@pytest.fixture
def revocations(database: Database) -> Revocations:
    return Revocations(Accounts(database))


def request(left: asyncio.Event) -> Request[Any, Any, Any]:
    """A request whose caller stays until the event is set."""
    body = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if body:
            return body.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    scope: Any = {"type": "http", "headers": [], "user": TOKEN}
    return Request(scope, receive)


async def test_who_waits_gets_what_came_of_it(revocations: Revocations) -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await while_waited_for(request(asyncio.Event()), revocations, work()) == "done"


async def test_what_goes_wrong_is_told_as_it_is(revocations: Revocations) -> None:
    async def work() -> str:
        raise NotFound("nothing there")

    with pytest.raises(NotFound, match="nothing there"):
        await while_waited_for(request(asyncio.Event()), revocations, work())


class Work:
    """Work that goes on until it is ended."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> str:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return "never"


async def test_work_ends_at_once_when_nobody_waits_any_more(revocations: Revocations) -> None:
    left, work = asyncio.Event(), Work()
    waiting = asyncio.create_task(while_waited_for(request(left), revocations, work()))
    await work.begun.wait()
    left.set()
    with pytest.raises(ClientException):
        await waiting
    assert work.ended.is_set()


async def test_work_ends_when_the_credential_it_was_asked_with_is_gone(revocations: Revocations) -> None:
    work = Work()
    waiting = asyncio.create_task(while_waited_for(request(asyncio.Event()), revocations, work()))
    await work.begun.wait()
    await revocations.check()
    with pytest.raises(Refused) as caught:
        await waiting
    assert caught.value.log_in
    assert work.ended.is_set()


async def test_whoever_has_left_is_answered_like_everybody_else(revocations: Revocations) -> None:
    """Nobody reads it, but it must be no mistake of ours."""
    visitor, work = Visitor(), Work()

    @post("/work")
    async def handler(request: Request[Any, Any, Any]) -> str:
        request.scope["user"] = TOKEN
        return await while_waited_for(request, revocations, work())

    app = Litestar([handler], exception_handlers=HANDLERS, logging_config=None)
    answering = asyncio.create_task(
        app(asking_for("/work") | {"method": "POST"}, visitor.receive, visitor.send)
    )
    await work.begun.wait()
    visitor.leaves.set()
    await answering
    assert visitor.status == 400
    assert msgspec.json.decode(b"".join(visitor.came))["detail"] == "Whoever asked has left."
