"""Who can be mentioned in a channel, and how a name in a text becomes a mention."""

from msgspec import Struct


class Member(Struct, frozen=True):
    """Somebody who can be mentioned; the names are those by which a text may call them."""

    id: str
    names: tuple[str, ...]
