import asyncio
from typing import Any

import msgspec
import pytest
from litestar import Litestar, Request, post
from litestar.exceptions import ClientException

from moot.server.auth import Revocations
from moot.server.errors import EXCEPTION_HANDLERS
from moot.server.requests import run_until_disconnect
from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.types.accounts import Caller
from moot.types.errors import NotFound, Unauthorized
from tests.server.asgi_client import AsgiClient, http_scope

TOKEN_CALLER = Caller(account="ada", tenant="ada", name="ada", kind="token", credential="gone")


@pytest.fixture
def revocations(database: Database) -> Revocations:
    return Revocations(Accounts(database))


def pending_request(disconnected: asyncio.Event) -> Request[Any, Any, Any]:
    """A request whose client disconnects when the event is set."""
    body = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if body:
            return body.pop()
        await disconnected.wait()
        return {"type": "http.disconnect"}

    scope: Any = {"type": "http", "headers": [], "user": TOKEN_CALLER}
    return Request(scope, receive)


async def test_run_until_disconnect_returns_result(revocations: Revocations) -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await run_until_disconnect(pending_request(asyncio.Event()), revocations, work()) == "done"


async def test_run_until_disconnect_propagates_error(revocations: Revocations) -> None:
    async def work() -> str:
        raise NotFound("nothing there")

    with pytest.raises(NotFound, match="nothing there"):
        await run_until_disconnect(pending_request(asyncio.Event()), revocations, work())


class EndlessWork:
    """Work that runs until it is cancelled."""

    def __init__(self) -> None:
        self.started, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> str:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return "never"


async def test_disconnect_cancels_work(revocations: Revocations) -> None:
    left, work = asyncio.Event(), EndlessWork()
    waiting = asyncio.create_task(run_until_disconnect(pending_request(left), revocations, work()))
    await work.started.wait()
    left.set()
    with pytest.raises(ClientException):
        await waiting
    assert work.ended.is_set()


async def test_revoked_credential_cancels_work(revocations: Revocations) -> None:
    work = EndlessWork()
    waiting = asyncio.create_task(run_until_disconnect(pending_request(asyncio.Event()), revocations, work()))
    await work.started.wait()
    await revocations.check_credentials()
    with pytest.raises(Unauthorized):
        await waiting
    assert work.ended.is_set()


async def test_disconnected_request_gets_400_response(revocations: Revocations) -> None:
    """The client does not read the response, but it must not count as a server error."""
    client, work = AsgiClient(), EndlessWork()

    @post("/work")
    async def handler(request: Request[Any, Any, Any]) -> str:
        request.scope["user"] = TOKEN_CALLER
        return await run_until_disconnect(request, revocations, work())

    app = Litestar([handler], exception_handlers=EXCEPTION_HANDLERS, logging_config=None)
    answering = asyncio.create_task(app(http_scope("/work") | {"method": "POST"}, client.receive, client.send))
    await work.started.wait()
    client.disconnected.set()
    await answering
    assert client.status == 400
    assert msgspec.json.decode(b"".join(client.received_bodies))["detail"] == "The client disconnected."
