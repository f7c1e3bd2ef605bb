"""Lenient JSON decoding of stream frames, and the model list of OpenAI and Anthropic."""

import json
from typing import TypeVar

import msgspec
from msgspec import Struct

from moot.types.errors import ProviderError
from moot.types.faults import make_fault

T = TypeVar("T")


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
