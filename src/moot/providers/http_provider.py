"""A provider over HTTP: a wire format, a base URL and the shared transport."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import msgspec

from moot.providers import profiles
from moot.providers.provider import ChunkStream
from moot.providers.transport import Transport
from moot.providers.wire_format import FINAL_CHUNK_TYPES, StreamDecoder, WireFormat, decode_frames
from moot.types.chunks import Chunk, Done, Failed, Usage
from moot.types.errors import ProviderError
from moot.types.faults import make_fault
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest

TRAILING_CHUNK_SECONDS = 2.0  # wait for usage after the finish reason
DRAIN_SECONDS = 0.02  # wait for the end of the body after the closing event


class HttpProvider:
    def __init__(
        self, name: str, wire_format: WireFormat, base_url: str, transport: Transport, *, is_free: bool = False
    ) -> None:
        self.name = name
        self.base_url = base_url.rstrip("/")
        self._wire_format = wire_format
        self._transport = transport
        self._is_free = is_free

    def check_model(self, model: str) -> None:
        """Accept every model: only the server knows its models."""

    def model_profile(self, model: str) -> Profile:
        profile = profiles.find_profile(self._wire_format.api, model)
        return msgspec.structs.replace(profile, context=profiles.context_window(self.base_url, model))

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        return 0.0 if self._is_free else profiles.call_cost_usd(self.base_url, model, usage)

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        decoder = self._wire_format.create_decoder(self.name, key)
        body = await self._encode_body(request)
        url = self.base_url + self._wire_format.request_path(request.model)
        frame_stream = self._transport.post_stream(self.name, url, self._wire_format.request_headers(key), body, key)
        received = False
        try:
            async with aclosing(frame_stream):
                async for frames in frame_stream:
                    received = True
                    chunks = decode_frames(decoder, frames)
                    # Yield text at once; some servers never send usage or close the stream.
                    if decoder.finish_reason is not None and not _is_complete(chunks):
                        yield chunks
                        chunks = await _read_trailing_chunks(frame_stream, decoder)
                    if _is_complete(chunks):
                        try:
                            yield chunks
                        finally:
                            await _drain_response(frame_stream, chunks[-1])
                        return
                    if chunks:
                        yield chunks
            # An empty body is an empty answer, not an error: the caller retries it.
            yield decoder.final_chunks() if received else [Done("stop")]
        except ProviderError as error:
            # After a finish reason the answer is complete, even if the connection breaks.
            final_chunks = decoder.final_chunks()
            yield final_chunks if isinstance(final_chunks[-1], Done) else [Failed(error.fault)]

    async def _encode_body(self, request: ModelRequest) -> bytes:
        """Encode the request body. With files this takes long, so it runs in a thread."""
        profile = profiles.find_profile(self._wire_format.api, request.model)
        if any(isinstance(part, File) for message in request.messages for part in message.parts):
            return await asyncio.to_thread(self._wire_format.encode_request, request, profile)
        return self._wire_format.encode_request(request, profile)

    async def list_models(self, key: str | None = None) -> list[str]:
        url = self.base_url + self._wire_format.models_path
        body = await self._transport.fetch_body(self.name, url, self._wire_format.request_headers(key), key)
        try:
            return self._wire_format.parse_model_list(body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ProviderError(make_fault("bad_response", f"{self.name} returned an invalid model list.")) from error

    async def aclose(self) -> None:
        """Close nothing: the registry owns the shared transport."""


async def _drain_response(answer: AsyncGenerator[list[bytes], None], final_chunk: Chunk) -> None:
    """Read to the end of the body, so that the connection can be reused."""
    if isinstance(final_chunk, Done):
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in answer:
                    pass


def _is_complete(chunks: list[Chunk]) -> bool:
    return bool(chunks) and type(chunks[-1]) in FINAL_CHUNK_TYPES


async def _read_trailing_chunks(answer: AsyncGenerator[list[bytes], None], decoder: StreamDecoder) -> list[Chunk]:
    """Wait briefly for usage and the closing event, which may follow the finish reason."""
    chunks: list[Chunk] = []
    with suppress(TimeoutError, ProviderError):
        async with asyncio.timeout(TRAILING_CHUNK_SECONDS):
            async for frames in answer:
                chunks += decode_frames(decoder, frames)
                if _is_complete(chunks):
                    return chunks
    return chunks + decoder.final_chunks()
