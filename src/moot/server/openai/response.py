"""Sends a chat completion as a stream or in one piece; repeats it for the same key."""

import time
from collections.abc import Iterator
from contextlib import aclosing

import msgspec
from msgspec import Struct

from moot.server.errors import told_of
from moot.server.openai.errors import shaped
from moot.server.openai.response_text import Bit, Telling
from moot.server.openai.runner import Underway
from moot.server.openai.schemas import (
    Answer,
    Asked,
    Choice,
    Chunk,
    ChunkChoice,
    ChunkWithUsage,
    Completion,
    Delta,
    Finish,
    Used,
    used,
)
from moot.server.sse import Frames
from moot.store.database import Database
from moot.store.idempotency import give_key_back, keep_reply, take_key
from moot.types.errors import MootError, ProviderError
from moot.types.faults import fault


class Keeping:
    """For one request. Without a key nothing is kept; with one, nothing but a whole reply."""

    def __init__(self, database: Database, tenant: str, key: str | None) -> None:
        self._database = database
        self._tenant = tenant
        self._key = key
        self._taken = False

    async def earlier(self, asked: Asked) -> Completion | None:
        """Return the reply that was given before, or take the key."""
        if self._key is None:
            return None
        found = await take_key(self._database, self._tenant, self._key, asked, Completion)
        self._taken = found is None
        return found

    async def keep(self, reply: Completion) -> None:
        if self._key is not None and self._taken:
            async with self._database.write() as connection:
                await keep_reply(connection, self._tenant, self._key, reply)
            self._taken = False

    async def give_back(self) -> None:
        """Let the request be made again, unless its reply was kept."""
        if self._key is not None and self._taken:
            self._taken = False
            await give_key_back(self._database, self._tenant, self._key)


DONE = b"data: [DONE]\n\n"
BROKEN_OFF = "The stream broke off here: the answer is not whole. Ask again."


class Form(Struct, frozen=True):
    """What all chunks of an answer have in common."""

    id: str
    model: str
    with_usage: bool
    created: int

    def opening(self) -> bytes:
        return self._chunk(Delta(role="assistant", content=""))

    def bit(self, bit: Bit) -> bytes:
        return self._chunk(Delta(content=bit.text) if bit.is_content else Delta(reasoning_content=bit.text))

    def ending(self, finish: Finish, usage: Used) -> Iterator[bytes]:
        yield self._chunk(Delta(), finish)
        if self.with_usage:
            told = ChunkWithUsage(id=self.id, created=self.created, model=self.model, choices=(), usage=usage)
            yield _frame(msgspec.json.encode(told))
        yield DONE

    def whole(self, telling: Telling) -> Completion:
        answer = Answer(content=telling.content, reasoning_content=telling.reasoning or None)
        return Completion(
            id=self.id,
            created=self.created,
            model=self.model,
            choices=(Choice(message=answer, finish_reason=telling.finish),),
            usage=used(telling.usage),
        )

    def _chunk(self, delta: Delta, finish: Finish | None = None) -> bytes:
        kind = ChunkWithUsage if self.with_usage else Chunk
        choice = ChunkChoice(delta=delta, finish_reason=finish)
        told = kind(id=self.id, created=self.created, model=self.model, choices=(choice,))
        return _frame(msgspec.json.encode(told))


def form(id: str, model: str, *, with_usage: bool) -> Form:
    return Form(id, model, with_usage, int(time.time()))


async def streamed(underway: Underway, form: Form, keeping: Keeping) -> Frames:
    """Yield frames after the opening. Only a whole answer ends with DONE; any other ends with an error."""
    telling = Telling(underway.plan)
    try:
        async with aclosing(underway.events) as events:
            async for some in events:
                yield [form.bit(bit) for bit in telling.told(some)]
        if telling.failure is None:
            await keeping.keep(whole := form.whole(telling))
            yield list(form.ending(telling.finish, whole.usage))
        else:
            yield [failure(telling.failure)]
    except MootError as error:
        yield [failure(error)]
    finally:
        await keeping.give_back()


async def collected(underway: Underway, form: Form, keeping: Keeping) -> Completion:
    telling = Telling(underway.plan)
    try:
        async with aclosing(underway.events) as events:
            async for some in events:
                telling.summed_up(some)
        if telling.failure is not None:
            raise telling.failure
        await keeping.keep(whole := form.whole(telling))
    finally:
        await keeping.give_back()
    return whole


async def repeated(reply: Completion, form: Form) -> Frames:
    """Stream a reply that was given before."""
    (choice,) = reply.choices
    frames = []
    if choice.message.reasoning_content:
        frames.append(form.bit(Bit(choice.message.reasoning_content, is_content=False)))
    frames.append(form.bit(Bit(choice.message.content, is_content=True)))
    yield [*frames, *form.ending(choice.finish_reason, reply.usage)]


def failure(error: MootError) -> bytes:
    return _frame(shaped(told_of(error).problem))


def broken_off() -> bytes:
    return failure(ProviderError(fault("network", BROKEN_OFF)))


def _frame(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"
