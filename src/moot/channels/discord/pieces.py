"""What a streamed answer falls into."""

from msgspec import Struct


class Prose(Struct, frozen=True):
    text: str


class Code(Struct, frozen=True):
    """A block of code, without its fences; `lead` is punctuation that stands before it."""

    language: str
    text: str
    lead: str = ""


class Table(Struct, frozen=True):
    text: str


Piece = Prose | Code | Table
