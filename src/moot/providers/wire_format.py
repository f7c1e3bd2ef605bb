"""Protocols of a wire format: encode a request, decode the response stream. No I/O."""

from collections.abc import Mapping
from typing import Protocol

from moot.types.chunks import Chunk, Done, Failed
from moot.types.errors import ProviderError
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

FINAL_CHUNK_TYPES = (Done, Failed)


class StreamDecoder(Protocol):
    """Decodes one response stream. Keeps state that spans several events, such as tool calls and usage."""

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        """Decode the data of one event. Raises ProviderError for invalid data."""
        ...

    @property
    def has_finish_reason(self) -> bool:
        """Whether the answer is complete. Usage and a closing event may still follow."""
        ...

    def final_chunks(self) -> list[Chunk]:
        """Return the last chunks of a stream that ended without a closing event."""
        ...


class WireFormat(Protocol):
    @property
    def api(self) -> str: ...

    def request_path(self, model: str) -> str: ...

    def request_headers(self, key: str | None) -> Mapping[str, str]: ...

    def encode_request(self, request: ModelRequest, profile: Profile) -> bytes: ...

    def create_decoder(self, provider_name: str, key: str | None) -> StreamDecoder:
        """Create a decoder for one response. It needs the key only to redact it in error messages."""
        ...

    def models_path(self) -> str: ...

    def parse_model_list(self, body: bytes) -> list[str]: ...


def decode_frames(decoder: StreamDecoder, frames: list[bytes]) -> list[Chunk]:
    """Decode frames up to a `Done` or `Failed`. An invalid frame becomes a `Failed`."""
    chunks: list[Chunk] = []
    for frame in frames:
        try:
            chunks += decoder.decode_frame(frame)
        except ProviderError as error:
            chunks.append(Failed(error.fault))
        if chunks and type(chunks[-1]) in FINAL_CHUNK_TYPES:
            break
    return chunks
