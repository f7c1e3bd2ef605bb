"""A provider behind HTTP: a wire format, an address, and the shared transport."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import msgspec

from moot.providers import profiles
from moot.providers import profiles as prices
from moot.providers.provider import ChunkStream
from moot.providers.transport import Transport
from moot.providers.wire_format import FINAL_CHUNK_TYPES, StreamDecoder, WireFormat, decode_frames
from moot.types.chunks import Chunk, Done, Failed, Usage
from moot.types.errors import ProviderError
from moot.types.faults import make_fault
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest

TRAILING_CHUNK_SECONDS = 2.0
DRAIN_SECONDS = 0.02


class HttpProvider:
    def __init__(
        self,
        name: str,
        wire_format: WireFormat,
        base_url: str,
        transport: Transport,
        *,
        is_free: bool = False,
    ) -> None:
        self.name = name
        self.base_url = base_url.rstrip("/")
        self._wire_format = wire_format
        self._transport = transport
        self._is_free = is_free

    def check_model(self, model: str) -> None:
        """Nothing is known here: which models there are is the server's to say."""

    def model_profile(self, model: str) -> Profile:
        known = profiles.find_profile(self._wire_format.api, model)
        return msgspec.structs.replace(known, context=prices.context_window(self.base_url, model))

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        return 0.0 if self._is_free else prices.call_cost_usd(self.base_url, model, usage)

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        reader = self._wire_format.create_decoder(self.name, key)
        body = await self._encode_body(request)
        url = self.base_url + self._wire_format.request_path(request.model)
        answer = self._transport.post_stream(
            self.name, url, self._wire_format.request_headers(key), body, key
        )
        heard = False
        try:
            async with aclosing(answer):
                async for frames in answer:
                    heard = True
                    chunks = decode_frames(reader, frames)
                    if reader.has_finish_reason and not _is_complete(chunks):
                        yield chunks
                        chunks = await _read_trailing_chunks(answer, reader)
                    if _is_complete(chunks):
                        try:
                            yield chunks
                        finally:
                            await _drain_response(answer, chunks[-1])
                        return
                    if chunks:
                        yield chunks
            yield reader.final_chunks() if heard else [Done("stop")]
        except ProviderError as error:
            ending = reader.final_chunks()  # a finish that was seen counts, however untidy the close
            yield ending if isinstance(ending[-1], Done) else [Failed(error.fault)]

    async def _encode_body(self, request: ModelRequest) -> bytes:
        """Write the body; where files are in it that takes its time, and others are not to wait for it."""
        profile = profiles.find_profile(self._wire_format.api, request.model)
        if any(isinstance(part, File) for message in request.messages for part in message.parts):
            return await asyncio.to_thread(self._wire_format.encode_request, request, profile)
        return self._wire_format.encode_request(request, profile)

    async def list_models(self, key: str | None = None) -> list[str]:
        url = self.base_url + self._wire_format.models_path()
        body = await self._transport.fetch_body(self.name, url, self._wire_format.request_headers(key), key)
        try:
            return self._wire_format.parse_model_list(body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ProviderError(
                make_fault("bad_response", f"{self.name} gave no list of models that can be read.")
            ) from error

    async def aclose(self) -> None:
        """Nothing of its own to close: the transport is shared and closed by its owner."""


async def _drain_response(answer: AsyncGenerator[list[bytes], None], final_chunk: Chunk) -> None:
    """Read the few bytes that follow an answer, so that its connection can be used for the next one."""
    if isinstance(final_chunk, Done):
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in answer:
                    pass


def _is_complete(chunks: list[Chunk]) -> bool:
    return bool(chunks) and type(chunks[-1]) in FINAL_CHUNK_TYPES


async def _read_trailing_chunks(
    answer: AsyncGenerator[list[bytes], None], decoder: StreamDecoder
) -> list[Chunk]:
    """Wait a little for what may follow a complete answer: counts, and a closing word."""
    chunks: list[Chunk] = []
    with suppress(TimeoutError, ProviderError):
        async with asyncio.timeout(TRAILING_CHUNK_SECONDS):
            async for frames in answer:
                chunks += decode_frames(decoder, frames)
                if _is_complete(chunks):
                    return chunks
    return chunks + decoder.final_chunks()
