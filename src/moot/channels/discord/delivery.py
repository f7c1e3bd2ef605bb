"""What pieces of an answer become: messages, with typing and pauses before them, in four degrees."""

from typing import Literal

from msgspec import Struct

Degree = Literal[0, 1, 2, 3]
Kind = Literal["text", "code", "table"]
LONGEST = 1950  # characters of a message; Discord takes 2,000


class Send(Struct, frozen=True):
    """A message to send: first wait `pause` seconds, then show typing for `typing` seconds."""

    text: str
    kind: Kind = "text"  # a table's text holds a markdown table, which Discord cannot show
    pause: float = 0.0
    typing: float = 0.0
