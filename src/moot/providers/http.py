"""A provider behind HTTP: a wire format, an address, and the shared transport."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Protocol

import msgspec

from moot.model.chunks import Chunk, Done, Failed, Usage
from moot.model.errors import ProviderError
from moot.model.faults import fault
from moot.model.profiles import Profile
from moot.model.requests import ModelRequest
from moot.providers import prices, profiles
from moot.providers.provider import ChunkStream
from moot.providers.transport import Transport

ENDINGS = (Done, Failed)
DRAIN_SECONDS = 0.02


class Reader(Protocol):
    """Understands one stream; it holds what a wire format spreads over several events."""

    def read(self, frame: bytes) -> list[Chunk]:
        """Turn the data of one event into chunks."""
        ...

    def end(self) -> list[Chunk]:
        """Close the books when the stream has ended without a word of its own."""
        ...


class Wire(Protocol):
    """A wire format: how a request is written and how its answer is read."""

    def url(self, model: str) -> str: ...

    def headers(self, key: str | None) -> Mapping[str, str]: ...

    def body(self, request: ModelRequest, profile: Profile) -> bytes: ...

    def reader(self, who: str) -> Reader: ...

    def models_url(self) -> str: ...

    def read_models(self, body: bytes) -> list[str]: ...


class HttpProvider:
    def __init__(
        self, name: str, wire: Wire, base_url: str, transport: Transport, *, free: bool = False
    ) -> None:
        self.name = name
        self._free = free
        self.base_url = base_url.rstrip("/")
        self._wire = wire
        self._transport = transport

    def check(self, model: str) -> None:
        """Nothing is known here: which models there are is the server's to say."""

    def profile(self, model: str) -> Profile:
        known = profiles.profile(self.name, model)
        return msgspec.structs.replace(known, context=prices.context_window(self.base_url, model))

    def cost(self, model: str, usage: Usage) -> float | None:
        return 0.0 if self._free else prices.cost(self.base_url, model, usage)

    async def stream(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        reader = self._wire.reader(self.name)
        body = self._wire.body(request, profiles.profile(self.name, request.model))
        url = self.base_url + self._wire.url(request.model)
        answer = self._transport.post(self.name, url, self._wire.headers(key), body, key)
        heard = False
        try:
            async with aclosing(answer):
                async for frames in answer:
                    heard = True
                    chunks = understood(reader, frames)
                    if chunks and isinstance(chunks[-1], ENDINGS):
                        yield chunks[:-1]
                        if isinstance(chunks[-1], Done):
                            await _drained(answer)
                        yield chunks[-1:]
                        return
                    if chunks:
                        yield chunks
            yield reader.end() if heard else [Done("stop")]
        except ProviderError as error:
            yield [Failed(error.fault)]

    async def models(self, key: str | None = None) -> list[str]:
        url = self.base_url + self._wire.models_url()
        body = await self._transport.get(self.name, url, self._wire.headers(key), key)
        try:
            return self._wire.read_models(body)
        except msgspec.DecodeError as error:
            raise ProviderError(
                fault("bad_response", f"{self.name} gave no list of models that can be read.")
            ) from error

    async def aclose(self) -> None:
        """Nothing of its own to close: the transport is shared and closed by its owner."""


def understood(reader: Reader, frames: list[bytes]) -> list[Chunk]:
    """Read frames up to an ending; one that cannot be read is an ending too."""
    chunks: list[Chunk] = []
    for frame in frames:
        try:
            chunks += reader.read(frame)
        except ProviderError as error:
            chunks.append(Failed(error.fault))
        if chunks and isinstance(chunks[-1], ENDINGS):
            break
    return chunks


async def _drained(answer: AsyncGenerator[list[bytes], None]) -> None:
    """Read the few bytes that follow an answer, so that its connection can be used for the next one."""
    with suppress(TimeoutError, ProviderError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in answer:
                pass
