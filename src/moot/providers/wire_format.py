"""Protocols of a wire format (encode a request, decode the response stream), and what the formats share. No I/O."""

import json
from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from moot.types.chunks import Chunk, Done, Failed
from moot.types.errors import ProviderError
from moot.types.faults import make_fault
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

T = TypeVar("T")
FINAL_CHUNK_TYPES = (Done, Failed)


class StreamDecoder(Protocol):
    """Decodes one response stream. Keeps state that spans several events, such as tool calls and usage."""

    finish_reason: str | None  # once set, the answer is complete; usage and a closing event may still follow

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        """Decode the data of one event. Raises ProviderError for invalid data."""
        ...

    def final_chunks(self) -> list[Chunk]:
        """Return the last chunks of a stream that ended without a closing event."""
        ...


class WireFormat(Protocol):
    api: str
    models_path: str

    def request_path(self, model: str) -> str: ...

    def request_headers(self, key: str | None) -> Mapping[str, str]: ...

    def encode_request(self, request: ModelRequest, profile: Profile) -> bytes: ...

    def create_decoder(self, provider_name: str, key: str | None) -> StreamDecoder:
        """Create a decoder for one response. It needs the key only to redact it in error messages."""
        ...

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


def decode_leniently(decoder: msgspec.json.Decoder[T], frame: bytes) -> T:
    """Decode a frame. Lone surrogates and invalid UTF-8 become U+FFFD. Other errors raise ProviderError."""
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            return decoder.decode(_repair_json(frame))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ProviderError(
                make_fault("bad_response", "The provider sent an event that cannot be parsed.")
            ) from error


def _repair_json(frame: bytes) -> bytes:
    text = json.dumps(json.loads(frame.decode("utf-8", "replace")), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def token_count(count: int | None) -> int:
    """Return 0 for a missing or negative count."""
    return max(0, count or 0)


def is_json(text: str) -> bool:
    """Check whether the arguments of a tool call are complete."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


class ModelListEntry(Struct):
    id: str


class ModelListBody(Struct):
    data: list[ModelListEntry]


_model_list_decoder = msgspec.json.Decoder(ModelListBody)


def parse_model_ids(body: bytes) -> list[str]:
    return [entry.id for entry in _model_list_decoder.decode(body).data]
