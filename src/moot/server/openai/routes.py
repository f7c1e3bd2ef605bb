"""Routes of the OpenAI-compatible API under `/v1`, and their responses: streamed or whole, with idempotent replay."""

import time
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Struct, field

from moot.prompts.attachments import MAX_FILE_BYTES
from moot.server.auth import Revocations
from moot.server.errors import problem_response
from moot.server.openai.errors import encode_openai_error
from moot.server.openai.response_text import ResponseText, TextPiece
from moot.server.openai.runner import CompletionRun, CompletionRunner
from moot.server.openai.schemas import (
    AssistantMessage,
    Choice,
    Chunk,
    ChunkChoice,
    ChunkWithUsage,
    Completion,
    CompletionRequest,
    CompletionUsage,
    Delta,
    FinishReason,
    ModelList,
    ModelObject,
    completion_usage,
)
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.server.requests import IdempotencyKey, run_until_disconnect
from moot.server.sse import SseConnections
from moot.store.database import Database
from moot.store.idempotency import release_idempotency_key, reserve_key_for_slow_request, store_idempotent_reply
from moot.types.accounts import Caller
from moot.types.errors import MootError, ProviderError
from moot.types.faults import make_fault
from moot.types.streams import HEARTBEAT, BatchStream

MAX_BODY = MAX_FILE_BYTES * 3 // 2  # base64 makes a file a third larger
DONE_FRAME = b"data: [DONE]\n\n"
INTERRUPTED_MESSAGE = "The stream was interrupted and the answer is incomplete. Send the request again."


class IdempotentReply:
    """The stored reply of one request. Without a key, nothing is stored. Only complete replies are stored."""

    def __init__(self, database: Database, tenant: str, key: str | None) -> None:
        self._database = database
        self._tenant = tenant
        self._key = key
        self._holds_key = False

    async def load_or_reserve(self, request: CompletionRequest) -> Completion | None:
        """Return the stored reply, or None after reserving the key. Raises `Conflict` while a request holds it."""
        if self._key is None:
            return None
        reply = await reserve_key_for_slow_request(self._database, self._tenant, self._key, request, Completion)
        self._holds_key = reply is None
        return reply

    async def store_reply(self, reply: Completion) -> None:
        if self._key is not None and self._holds_key:
            async with self._database.write() as connection:
                await store_idempotent_reply(connection, self._tenant, self._key, reply)
            self._holds_key = False

    async def release_key(self) -> None:
        """Allow a retry with the same key, unless a reply was stored. Idempotent."""
        if self._key is not None and self._holds_key:
            self._holds_key = False
            await release_idempotency_key(self._database, self._tenant, self._key)


class ChunkEncoder(Struct, frozen=True):
    id: str
    model: str
    with_usage: bool  # the client requested `stream_options.include_usage`
    created: int = field(default_factory=lambda: int(time.time()))  # Unix time in seconds

    def opening_frame(self) -> bytes:
        return self._chunk_frame(Delta(role="assistant", content=""))

    def piece_frame(self, piece: TextPiece) -> bytes:
        return self._chunk_frame(Delta(content=piece.text) if piece.is_content else Delta(reasoning_content=piece.text))

    def final_frames(self, finish: FinishReason, usage: CompletionUsage) -> Iterator[bytes]:
        yield self._chunk_frame(Delta(), finish)
        if self.with_usage:
            chunk = ChunkWithUsage(id=self.id, created=self.created, model=self.model, choices=(), usage=usage)
            yield _data_frame(msgspec.json.encode(chunk))
        yield DONE_FRAME

    def build_completion(self, response_text: ResponseText) -> Completion:
        answer = AssistantMessage(content=response_text.content, reasoning_content=response_text.reasoning or None)
        return Completion(
            id=self.id,
            created=self.created,
            model=self.model,
            choices=(Choice(message=answer, finish_reason=response_text.finish),),
            usage=completion_usage(response_text.usage),
        )

    def _chunk_frame(self, delta: Delta, finish: FinishReason | None = None) -> bytes:
        kind = ChunkWithUsage if self.with_usage else Chunk
        choice = ChunkChoice(delta=delta, finish_reason=finish)
        chunk = kind(id=self.id, created=self.created, model=self.model, choices=(choice,))
        return _data_frame(msgspec.json.encode(chunk))


async def stream_completion(
    completion_run: CompletionRun, encoder: ChunkEncoder, idempotent_reply: IdempotentReply
) -> BatchStream[bytes]:
    """Yield the frames after the opening frame. A complete answer ends with `[DONE]`, any other with an error."""
    response_text = ResponseText(completion_run.plan)
    try:
        async with aclosing(completion_run.events) as events:
            async for batch in events:
                yield [encoder.piece_frame(piece) for piece in response_text.apply_events(batch)] or HEARTBEAT
        if response_text.failure is None:
            await idempotent_reply.store_reply(completion := encoder.build_completion(response_text))
            yield list(encoder.final_frames(response_text.finish, completion.usage))
        else:
            yield [error_frame(response_text.failure)]
    except MootError as error:
        yield [error_frame(error)]
    finally:
        await idempotent_reply.release_key()


async def collect_completion(
    completion_run: CompletionRun, encoder: ChunkEncoder, idempotent_reply: IdempotentReply
) -> Completion:
    response_text = ResponseText(completion_run.plan)
    try:
        async with aclosing(completion_run.events) as events:
            async for batch in events:
                response_text.apply_whole_turns(batch)
        if response_text.failure is not None:
            raise response_text.failure
        await idempotent_reply.store_reply(completion := encoder.build_completion(response_text))
    finally:
        await idempotent_reply.release_key()
    return completion


async def replay_completion(reply: Completion, encoder: ChunkEncoder) -> BatchStream[bytes]:
    (choice,) = reply.choices
    frames = []
    if choice.message.reasoning_content:
        frames.append(encoder.piece_frame(TextPiece(choice.message.reasoning_content, is_content=False)))
    frames.append(encoder.piece_frame(TextPiece(choice.message.content, is_content=True)))
    yield [*frames, *encoder.final_frames(choice.finish_reason, reply.usage)]


def error_frame(error: MootError) -> bytes:
    return _data_frame(encode_openai_error(problem_response(error).problem))


def _data_frame(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


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
            if not data.stream:
                return Response(stored)
            encoder = ChunkEncoder(stored.id, stored.model, data.wants_usage)
            return _stream_response(replay_completion(stored, encoder), encoder, sse_connections, caller)
        try:
            completion_run = await completion_runner.start_completion(caller, data, rate_limits, idempotency_key)
        except BaseException:
            await idempotent_reply.release_key()
            raise
        encoder = ChunkEncoder(completion_run.id, data.model, data.wants_usage)
        if data.stream:
            frames = stream_completion(completion_run, encoder, idempotent_reply)
            return _stream_response(frames, encoder, sse_connections, caller)
        completion = collect_completion(completion_run, encoder, idempotent_reply)
        return Response(await run_until_disconnect(request, revocations, completion))


def _stream_response(
    frames: BatchStream[bytes], encoder: ChunkEncoder, sse_connections: SseConnections, caller: Caller
) -> Response[Any]:
    interruption = ProviderError(make_fault("network", INTERRUPTED_MESSAGE))
    return sse_connections.stream_response(
        frames, caller, opening_frame=encoder.opening_frame(), closing_frame=error_frame(interruption)
    )
