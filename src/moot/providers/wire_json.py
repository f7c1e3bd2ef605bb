"""Decodes JSON of providers leniently: stream frames and model lists."""

import json
from typing import TypeVar

import msgspec
from msgspec import Struct

from moot.types.errors import ProviderError
from moot.types.faults import fault

T = TypeVar("T")


def decode(decoder: msgspec.json.Decoder[T], frame: bytes) -> T:
    """Decode a frame; lone surrogates and broken UTF-8 become U+FFFD, other damage is a bad response."""
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            return decoder.decode(_mended(frame))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ProviderError(
                fault("bad_response", "The provider sent a piece of its answer that cannot be read.")
            ) from error


def _mended(frame: bytes) -> bytes:
    loose = json.dumps(json.loads(frame.decode("utf-8", "replace")), ensure_ascii=False)
    return loose.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def tokens(count: int | None) -> int:
    """Read a count that may be missing, or nonsense."""
    return max(0, count or 0)


def is_json(text: str) -> bool:
    """Tell whether a tool call's arguments arrived whole."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


class Entry(Struct):
    id: str


class Listing(Struct):
    data: list[Entry]


_listings = msgspec.json.Decoder(Listing)


def read_listing(body: bytes) -> list[str]:
    return [entry.id for entry in _listings.decode(body).data]
