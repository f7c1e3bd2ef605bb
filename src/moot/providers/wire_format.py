"""A wire format: how a request is written, and how its answer is read. Neither side does any I/O."""

from collections.abc import Mapping
from typing import Protocol

from moot.types.chunks import Chunk, Done, Failed
from moot.types.errors import ProviderError
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

FINAL_CHUNK_TYPES = (Done, Failed)


class StreamDecoder(Protocol):
    """Understands one answer; it holds what a wire format spreads over several events."""

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        """Turn the data of one event into chunks."""
        ...

    @property
    def has_finish_reason(self) -> bool:
        """Whether the answer is complete, though counts and closing words may follow."""
        ...

    def final_chunks(self) -> list[Chunk]:
        """Close the books when the stream has ended without a word of its own."""
        ...


class WireFormat(Protocol):
    @property
    def api(self) -> str: ...

    def request_path(self, model: str) -> str: ...

    def request_headers(self, key: str | None) -> Mapping[str, str]: ...

    def encode_request(self, request: ModelRequest, profile: Profile) -> bytes: ...

    def create_decoder(self, provider_name: str, key: str | None) -> StreamDecoder:
        """Make a reader; it knows the key only to keep it out of what it quotes."""
        ...

    def models_path(self) -> str: ...

    def parse_model_list(self, body: bytes) -> list[str]: ...


def decode_frames(decoder: StreamDecoder, frames: list[bytes]) -> list[Chunk]:
    """Read frames up to an ending; one that cannot be read is an ending too."""
    chunks: list[Chunk] = []
    for frame in frames:
        try:
            chunks += decoder.decode_frame(frame)
        except ProviderError as error:
            chunks.append(Failed(error.fault))
        if chunks and type(chunks[-1]) in FINAL_CHUNK_TYPES:
            break
    return chunks
