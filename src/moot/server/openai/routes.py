"""Routes of the OpenAI-compatible API under `/v1`."""

from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody

from moot.prompts.attachments import MAX_FILE_BYTES
from moot.server.auth import Revocations
from moot.server.openai.response import (
    IdempotentReply,
    collect_completion,
    create_chunk_encoder,
    interruption_frame,
    replay_completion,
    stream_completion,
)
from moot.server.openai.runner import CompletionRunner
from moot.server.openai.schemas import Completion, CompletionRequest, ModelList, ModelObject
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.server.requests import IdempotencyKey, run_until_disconnect
from moot.server.sse import SseConnections
from moot.store.database import Database
from moot.types.accounts import Caller

MAX_BODY = MAX_FILE_BYTES * 3 // 2  # base64 makes a file a third larger


class CompletionRoutes(Controller):
    path = "/v1"
    include_in_schema = False  # OpenAI documents this API

    @get("/models")
    async def list_models(self, caller: Given[Caller], virtual_models: Given[VirtualModels]) -> ModelList:
        return ModelList(data=await virtual_models.list_models(caller))

    @get("/models/{id:path}")
    async def get_model(
        self, id: FromPath[str], caller: Given[Caller], virtual_models: Given[VirtualModels]
    ) -> ModelObject:
        return await virtual_models.get_model(caller, id.removeprefix("/"))

    @post("/chat/completions", status_code=200, request_max_body_size=MAX_BODY)
    async def create_completion(
        self,
        data: JSONBody[CompletionRequest],
        request: Request[Caller, Any, Any],
        caller: Given[Caller],
        completion_runner: Given[CompletionRunner],
        sse_connections: Given[SseConnections],
        revocations: Given[Revocations],
        rate_limits: Given[RateLimits],
        database: Given[Database],
        idempotency_key: IdempotencyKey = None,
    ) -> Response[Any]:
        """Respond with a whole completion or a stream. The run stops when the client disconnects."""
        idempotent_reply = IdempotentReply(
            database, caller.tenant, idempotency_key if data.discussion_id is None else None
        )
        if (stored := await idempotent_reply.load_or_reserve(data)) is not None:
            return _replay_response(stored, data, sse_connections, caller)
        try:
            completion_run = await completion_runner.start_completion(caller, data, rate_limits, idempotency_key)
        except BaseException:
            await idempotent_reply.release_key()
            raise
        encoder = create_chunk_encoder(completion_run.id, data.model, with_usage=data.wants_usage)
        if data.stream:
            frames = stream_completion(completion_run, encoder, idempotent_reply)
            return sse_connections.stream_response(
                frames, caller, opening_frame=encoder.opening_frame(), closing_frame=interruption_frame()
            )
        return Response(
            await run_until_disconnect(
                request, revocations, collect_completion(completion_run, encoder, idempotent_reply)
            )
        )


def _replay_response(
    reply: Completion, data: CompletionRequest, sse_connections: SseConnections, caller: Caller
) -> Response[Any]:
    if not data.stream:
        return Response(reply)
    encoder = create_chunk_encoder(reply.id, reply.model, with_usage=data.wants_usage)
    return sse_connections.stream_response(
        replay_completion(reply, encoder),
        caller,
        opening_frame=encoder.opening_frame(),
        closing_frame=interruption_frame(),
    )
