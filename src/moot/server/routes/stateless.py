"""The stateless endpoint: one request runs one agent's turn. The client keeps all state."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
from litestar import Request, Response, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody

from moot.engine.model_resolution import ModelResolver
from moot.engine.runs.ephemeral import EphemeralRuns
from moot.providers.registry import ResolvedModel
from moot.server.errors import Problem, ProblemResponse
from moot.server.rate_limits import model_request_rate
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections
from moot.services.billing import AccountBudgetGuard
from moot.services.discussions import DiscussionService
from moot.services.model_tasks import ModelTasks
from moot.services.stateless import StatelessTurn, parse_lesson, stream_chat_events
from moot.store.billing.budgets import Budgets
from moot.types.accounts import Caller
from moot.types.errors import MissingKey, UsageError
from moot.types.stateless import EVENT_FRAMES, EVENT_NAMES, ChatEvent, ChatRequest
from moot.types.streams import HEARTBEAT, BatchStream


def handle_missing_key(_: Request[Any, Any, Any], error: MissingKey) -> ProblemResponse:
    problem = Problem("No key", 401, f"{error} Or send one as apiKey.")
    return ProblemResponse(problem, {"WWW-Authenticate": "Bearer"})


@post(
    "/api/stateless/chat",
    status_code=200,
    guards=[model_request_rate],
    media_type=SSE_MEDIA_TYPE,
    tags=["stateless"],
    exception_handlers={MissingKey: handle_missing_key},
    summary="Run one turn of a lesson without storing it, as server-sent events",
)
async def stream_chat(
    data: JSONBody[ChatRequest],
    caller: Given[Caller],
    discussion_service: Given[DiscussionService],
    model_resolver: Given[ModelResolver],
    stateless_turns: Given[EphemeralRuns],
    model_tasks: Given[ModelTasks],
    sse_connections: Given[SseConnections],
    budgets: Given[Budgets],
) -> Response[str]:
    """The director chooses the speaker. Send the `directorState` of the `done` event with the next request.

    An `apiKey` is used for this request only and never stored. With the server's key or your stored key, the cost
    of the turn is charged to your account. Nothing else is stored.
    """
    discussion_service.reject_if_draining()
    lesson = await asyncio.to_thread(parse_lesson, data)  # in a thread: a long request is slow to parse
    turn = StatelessTurn(lesson, await _resolve_models(model_resolver, caller, data))
    budget_guard = None if data.api_key else AccountBudgetGuard(model_tasks, caller)
    if budget_guard is not None:
        await budgets.reject_if_spent(caller.account)
    chat_events = stream_chat_events(lesson, stateless_turns.stream(turn, budget_guard))
    return sse_connections.stream_response(_chat_frames(chat_events), caller)


async def _resolve_models(
    model_resolver: ModelResolver, caller: Caller, request: ChatRequest
) -> Mapping[str, Sequence[ResolvedModel]]:
    """Resolve each model of the request. Errors name the field that contains the model."""
    models = {"model": request.model}
    models |= {
        f"config.agents[{index}].model": one.model for index, one in enumerate(request.config.agents) if one.model
    }
    chains: dict[str, Sequence[ResolvedModel]] = {}
    for field, model in models.items():
        try:
            chains[model] = await _resolve_model(model_resolver, caller, request, model)
        except MissingKey:
            raise
        except UsageError as error:
            raise UsageError(f"{field}: {error}") from error
    return chains


async def _resolve_model(
    model_resolver: ModelResolver, caller: Caller, request: ChatRequest, model: str
) -> Sequence[ResolvedModel]:
    if not request.api_key:
        return await model_resolver.resolve_with_fallbacks(caller.tenant, model)
    provider = request.model.partition("/")[0]
    if model.partition("/")[0] != provider:
        raise UsageError(f"apiKey is for {provider} and is not sent to another provider.")
    return [model_resolver.resolve_with_key(model, request.api_key)]


async def _chat_frames(events: BatchStream[ChatEvent]) -> BatchStream[bytes]:
    async with aclosing(events):
        async for batch in events:
            yield [_chat_frame(event) for event in batch] or HEARTBEAT


def _chat_frame(event: ChatEvent) -> bytes:
    name, frame = EVENT_NAMES[type(event)], EVENT_FRAMES[type(event)](event)
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(frame) + b"\n\n"
