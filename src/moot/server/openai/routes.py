"""`/v1`: the paths of an OpenAI server, whose models are tables."""

from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody

from moot.prompts.attachments import LARGEST
from moot.server.auth import Revocations
from moot.server.disconnects import while_waited_for
from moot.server.openai.response import Keeping, broken_off, collected, form, repeated, streamed
from moot.server.openai.runner import Speaking
from moot.server.openai.schemas import Asked, Completion, Model, ModelList
from moot.server.openai.virtual_models import Tables
from moot.server.rate_limits import RateLimits
from moot.server.schemas import IdempotencyKey
from moot.server.sse import Readers
from moot.store.database import Database
from moot.types.accounts import Caller

MAX_BODY = LARGEST * 3 // 2  # a file that is written in base64 takes a third more


class CompletionRoutes(Controller):
    path = "/v1"
    include_in_schema = False  # it is described elsewhere, and by others

    @get("/models")
    async def models(self, caller: Given[Caller], tables: Given[Tables]) -> ModelList:
        return ModelList(data=await tables.listed(caller))

    @get("/models/{id:path}")
    async def model(self, id: FromPath[str], caller: Given[Caller], tables: Given[Tables]) -> Model:
        return await tables.one(caller, id.removeprefix("/"))

    @post("/chat/completions", status_code=200, request_max_body_size=MAX_BODY)
    async def complete(
        self,
        data: JSONBody[Asked],
        request: Request[Caller, Any, Any],
        caller: Given[Caller],
        speaking: Given[Speaking],
        readers: Given[Readers],
        revocations: Given[Revocations],
        limits: Given[RateLimits],
        database: Given[Database],
        idempotency_key: IdempotencyKey = None,
    ) -> Response[Any]:
        """Answer as a whole or as a stream; whoever leaves stops the table."""
        keeping = Keeping(database, caller.tenant, idempotency_key if data.place is None else None)
        if (earlier := await keeping.earlier(data)) is not None:
            return _again(earlier, data, readers, caller)
        try:
            underway = await speaking.begin(caller, data, limits, idempotency_key)
        except BaseException:
            await keeping.give_back()
            raise
        shape = form(underway.id, data.model, with_usage=data.wants_usage)
        if data.stream:
            frames = streamed(underway, shape, keeping)
            return readers.stream(frames, caller, opening=shape.opening(), parting=broken_off())
        return Response(await while_waited_for(request, revocations, collected(underway, shape, keeping)))


def _again(reply: Completion, data: Asked, readers: Readers, caller: Caller) -> Response[Any]:
    if not data.stream:
        return Response(reply)
    shape = form(reply.id, reply.model, with_usage=data.wants_usage)
    return readers.stream(repeated(reply, shape), caller, opening=shape.opening(), parting=broken_off())
