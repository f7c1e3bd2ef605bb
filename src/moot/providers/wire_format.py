"""A wire format: how a request is written, and how its answer is read. Neither side does any I/O."""

from collections.abc import Mapping
from typing import Protocol

from moot.types.chunks import Chunk, Done, Failed
from moot.types.errors import ProviderError
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

ENDINGS = (Done, Failed)


class Reader(Protocol):
    """Understands one answer; it holds what a wire format spreads over several events."""

    def read(self, frame: bytes) -> list[Chunk]:
        """Turn the data of one event into chunks."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the answer is complete, though counts and closing words may follow."""
        ...

    def end(self) -> list[Chunk]:
        """Close the books when the stream has ended without a word of its own."""
        ...


class Wire(Protocol):
    @property
    def api(self) -> str: ...

    def url(self, model: str) -> str: ...

    def headers(self, key: str | None) -> Mapping[str, str]: ...

    def body(self, request: ModelRequest, profile: Profile) -> bytes: ...

    def reader(self, who: str, key: str | None) -> Reader:
        """Make a reader; it knows the key only to keep it out of what it quotes."""
        ...

    def models_url(self) -> str: ...

    def read_models(self, body: bytes) -> list[str]: ...


def understood(reader: Reader, frames: list[bytes]) -> list[Chunk]:
    """Read frames up to an ending; one that cannot be read is an ending too."""
    chunks: list[Chunk] = []
    for frame in frames:
        try:
            chunks += reader.read(frame)
        except ProviderError as error:
            chunks.append(Failed(error.fault))
        if chunks and type(chunks[-1]) in ENDINGS:
            break
    return chunks
