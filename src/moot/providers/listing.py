"""The list of models as OpenAI, Anthropic and their kin give it: {"data": [{"id": …}]}."""

import msgspec
from msgspec import Struct


class Entry(Struct):
    id: str


class Listing(Struct):
    data: list[Entry]


_listings = msgspec.json.Decoder(Listing)


def read_listing(body: bytes) -> list[str]:
    return [entry.id for entry in _listings.decode(body).data]
