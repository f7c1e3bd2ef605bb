"""A provider behind HTTP: a wire format, an address, and the shared transport."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import msgspec

from moot.providers import profiles
from moot.providers import profiles as prices
from moot.providers.provider import ChunkStream
from moot.providers.transport import Transport
from moot.providers.wire_format import ENDINGS, Reader, Wire, understood
from moot.types.chunks import Chunk, Done, Failed, Usage
from moot.types.errors import ProviderError
from moot.types.faults import fault
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest

CLOSING_SECONDS = 2.0
DRAIN_SECONDS = 0.02


class HttpProvider:
    def __init__(
        self, name: str, wire: Wire, base_url: str, transport: Transport, *, free: bool = False
    ) -> None:
        self.name = name
        self.base_url = base_url.rstrip("/")
        self._wire = wire
        self._transport = transport
        self._free = free

    def check(self, model: str) -> None:
        """Nothing is known here: which models there are is the server's to say."""

    def profile(self, model: str) -> Profile:
        known = profiles.profile(self._wire.api, model)
        return msgspec.structs.replace(known, context=prices.context_window(self.base_url, model))

    def cost(self, model: str, usage: Usage) -> float | None:
        return 0.0 if self._free else prices.cost(self.base_url, model, usage)

    async def stream(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        reader = self._wire.reader(self.name, key)
        body = await self._body(request)
        url = self.base_url + self._wire.url(request.model)
        answer = self._transport.post(self.name, url, self._wire.headers(key), body, key)
        heard = False
        try:
            async with aclosing(answer):
                async for frames in answer:
                    heard = True
                    chunks = understood(reader, frames)
                    if reader.finished and not _ended(chunks):
                        yield chunks
                        chunks = await _closing(answer, reader)
                    if _ended(chunks):
                        try:
                            yield chunks
                        finally:
                            await _drained(answer, chunks[-1])
                        return
                    if chunks:
                        yield chunks
            yield reader.end() if heard else [Done("stop")]
        except ProviderError as error:
            ending = reader.end()  # a finish that was seen counts, however untidy the close
            yield ending if isinstance(ending[-1], Done) else [Failed(error.fault)]

    async def _body(self, request: ModelRequest) -> bytes:
        """Write the body; where files are in it that takes its time, and others are not to wait for it."""
        profile = profiles.profile(self._wire.api, request.model)
        if any(isinstance(part, File) for message in request.messages for part in message.parts):
            return await asyncio.to_thread(self._wire.body, request, profile)
        return self._wire.body(request, profile)

    async def models(self, key: str | None = None) -> list[str]:
        url = self.base_url + self._wire.models_url()
        body = await self._transport.get(self.name, url, self._wire.headers(key), key)
        try:
            return self._wire.read_models(body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ProviderError(
                fault("bad_response", f"{self.name} gave no list of models that can be read.")
            ) from error

    async def aclose(self) -> None:
        """Nothing of its own to close: the transport is shared and closed by its owner."""


async def _drained(answer: AsyncGenerator[list[bytes], None], ending: Chunk) -> None:
    """Read the few bytes that follow an answer, so that its connection can be used for the next one."""
    if isinstance(ending, Done):
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in answer:
                    pass


def _ended(chunks: list[Chunk]) -> bool:
    return bool(chunks) and type(chunks[-1]) in ENDINGS


async def _closing(answer: AsyncGenerator[list[bytes], None], reader: Reader) -> list[Chunk]:
    """Wait a little for what may follow a complete answer: counts, and a closing word."""
    chunks: list[Chunk] = []
    with suppress(TimeoutError, ProviderError):
        async with asyncio.timeout(CLOSING_SECONDS):
            async for frames in answer:
                chunks += understood(reader, frames)
                if _ended(chunks):
                    return chunks
    return chunks + reader.end()
