"""The stateless endpoint: one agent's turn a call, all state in the request, server-sent events back."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
from litestar import Response, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody
from msgspec import Struct

from moot.engine.casting import Casting
from moot.engine.patience import patiently
from moot.engine.stateless import Lesson, Stateless
from moot.model.accounts import Caller
from moot.model.errors import MissingKey, Refused
from moot.model.money import Charge, Payer
from moot.model.stateless import NAMES, ChatEvent, ChatRequest
from moot.providers.registry import Resolved
from moot.server.limits import message_rate
from moot.server.sse import MEDIA_TYPE, Frames, Readers
from moot.store.budgets import Budgets
from moot.store.charges import pay
from moot.store.database import Database
from moot.streams.stop import Stop

LOOK_SECONDS = 5.0  # after which a reader may be due a sign of life


class Told(Struct, frozen=True):
    type: str
    data: ChatEvent


@post(
    "/api/stateless/chat",
    status_code=200,
    guards=[message_rate],
    media_type=MEDIA_TYPE,
    tags=["stateless"],
    summary="Let one agent of a lesson speak, without keeping anything",
)
async def chat(
    data: JSONBody[ChatRequest],
    caller: Given[Caller],
    casting: Given[Casting],
    stateless: Given[Stateless],
    readers: Given[Readers],
    budgets: Given[Budgets],
    database: Given[Database],
) -> Response[str]:
    """The director decides who speaks; send `directorState` of the last event along with the next call.

    A key in the request is used for this call and forgotten. With a key of the server or one that you stored, what
    the turn cost is charged to you; nothing else is kept.
    """
    lesson = Lesson(data)
    chain = await _chain(casting, caller, data)
    if not data.api_key:
        await budgets.refuse_if_spent(caller.account)
    payer = None if data.api_key else Payer(tenant=caller.tenant, account=caller.account)
    return readers.stream(_frames(stateless, lesson, chain, database, payer), caller)


async def _chain(casting: Casting, caller: Caller, data: ChatRequest) -> Sequence[Resolved]:
    try:
        if data.api_key:
            return [casting.once(data.model, data.api_key)]
        return await casting.models(caller.tenant, data.model)
    except MissingKey as error:
        raise Refused(f"{error} Or send apiKey along.", log_in=True) from error


async def _frames(
    stateless: Stateless, lesson: Lesson, chain: Sequence[Resolved], database: Database, payer: Payer | None
) -> Frames:
    stop, charges = Stop(), list[Charge]()
    events = stateless.turn(lesson, chain, stop, charges)
    try:
        async for some in _ticking(events):
            yield some
    finally:
        stop.request()
        if payer is not None and charges:
            await patiently(lambda: pay(database, payer, *charges))


async def _ticking(events: AsyncIterator[ChatEvent]) -> AsyncIterator[list[bytes]]:
    """Hand on events as frames, and nothing now and then while there are none."""
    coming: asyncio.Task[ChatEvent] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({coming}, timeout=LOOK_SECONDS)
            if not done:
                yield []
                continue
            try:
                event = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield [_frame(event)]
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait({coming})


def _frame(event: ChatEvent) -> bytes:
    name = NAMES[type(event)]
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(Told(name, event)) + b"\n\n"
