"""The stateless endpoint: one agent's turn a call, all state in the request, server-sent events back."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
from litestar import Request, Response, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody

from moot.engine.model_resolution import Casting
from moot.providers.registry import Resolved
from moot.server.errors import Problem, ProblemAnswer
from moot.server.rate_limits import start_rate
from moot.server.sse import MEDIA_TYPE, Frames, Readers
from moot.services.discussions import Hall
from moot.services.stateless import Chains, Stateless
from moot.services.stateless_request import lesson_of
from moot.store.billing.budgets import Budgets
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.errors import MissingKey, UsageError
from moot.types.stateless import FRAMES, NAMES, ChatEvent, ChatRequest


def no_key(_: Request[Any, Any, Any], error: MissingKey) -> ProblemAnswer:
    problem = Problem("No key", 401, f"{error} Or send one along, as apiKey.")
    return ProblemAnswer(problem, {"WWW-Authenticate": "Bearer"})


@post(
    "/api/stateless/chat",
    status_code=200,
    guards=[start_rate],
    media_type=MEDIA_TYPE,
    tags=["stateless"],
    exception_handlers={MissingKey: no_key},
    summary="Let one agent of a lesson speak, without keeping anything",
)
async def chat(
    data: JSONBody[ChatRequest],
    caller: Given[Caller],
    hall: Given[Hall],
    casting: Given[Casting],
    stateless: Given[Stateless],
    readers: Given[Readers],
    budgets: Given[Budgets],
) -> Response[str]:
    """The director decides who speaks; send the `directorState` of `done` along with the next call.

    A key in the request is used for this call and forgotten. With a key of the server or one that you stored, what
    the turn cost is charged to you; nothing else is kept.
    """
    hall.refuse_if_leaving()
    lesson = await asyncio.to_thread(lesson_of, data)  # a long ledger takes a moment
    chains = await _chains(casting, caller, data)
    payer = None if data.api_key else Payer(tenant=caller.tenant, account=caller.account)
    if payer is not None:
        await budgets.refuse_if_spent(caller.account)
    return readers.stream(_frames(stateless.turn(lesson, chains, payer)), caller)


async def _chains(casting: Casting, caller: Caller, request: ChatRequest) -> Chains:
    """Find who is asked for each model; what is wrong with one is said of the field that wants it."""
    wanted = {"model": request.model}
    wanted |= {
        f"config.agents[{at}].model": one.model for at, one in enumerate(request.config.agents) if one.model
    }
    found: dict[str, Sequence[Resolved]] = {}
    for field, model in wanted.items():
        try:
            found[model] = await _chain(casting, caller, request, model)
        except MissingKey:
            raise
        except UsageError as error:
            raise UsageError(f"{field}: {error}") from error
    return found


async def _chain(casting: Casting, caller: Caller, request: ChatRequest, model: str) -> Sequence[Resolved]:
    if not request.api_key:
        return await casting.models(caller.tenant, model)
    provider = request.model.partition("/")[0]
    if model.partition("/")[0] != provider:
        raise UsageError(f"apiKey is a key for {provider}, and is not sent elsewhere.")
    return [casting.once(model, request.api_key)]


async def _frames(events: AsyncGenerator[list[ChatEvent], None]) -> Frames:
    async with aclosing(events):
        async for some in events:
            yield [_frame(event) for event in some]


def _frame(event: ChatEvent) -> bytes:
    name, frame = NAMES[type(event)], FRAMES[type(event)](event)
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(frame) + b"\n\n"
