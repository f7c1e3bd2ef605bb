"""The way of one answer to a channel: text goes in as it is streamed, messages come out when they are due.

One outlet serves one stream of one speaker. It does no I/O and knows no clock:

    outlet = Outlet(degree=2, room=Room(speaker="Alpha", others=("Beta",), members=members), chance=random.random)
    for each text delta:   sends = outlet.feed(delta)
    at a tool call, or before a file of the answer is sent:   sends = outlet.boundary()
    at the end of the turn, also after a stop:   sends = outlet.end()

Each call returns the messages to send now, in order; every text has between 1 and 1,950 characters. Before a message
wait `pause` seconds, then type for `typing` seconds; both are 0 for the first message. After a follow-up interrupt, or
where the turn begins again, drop the outlet and what was not yet sent, and take a new one.

With `ask_again` nothing is sent of an answer that begins with another speaker's label; `outlet.foreign` names that
speaker, and the answer is to be asked for again. Without it, once retries are used up, the label is stripped.
`outlet.left_out` counts the characters beyond the last message a stream may have.
"""

from collections.abc import Callable

from msgspec import Struct

from moot.channels.discord.delivery import LONGEST, Degree, Send
from moot.channels.discord.mentions import Member


class Room(Struct, frozen=True, kw_only=True):
    """Who speaks, who else is at the table, and who can be mentioned in the channel."""

    speaker: str
    others: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()


class Outlet:
    def __init__(
        self,
        *,
        degree: Degree,
        room: Room,
        chance: Callable[[], float],
        prefill: str = "",
        guard: bool = False,
        ask_again: bool = False,
    ) -> None:
        self.foreign: str | None = None
        self.left_out = 0
        self._text = ""

    def feed(self, text: str) -> list[Send]:
        self._text += text
        return []

    def boundary(self) -> list[Send]:
        """Send what has gathered: a tool is called, or a file of the answer follows."""
        text, self._text = self._text.strip(), ""
        return [Send(text[at : at + LONGEST]) for at in range(0, len(text), LONGEST)]

    def end(self) -> list[Send]:
        return self.boundary()
