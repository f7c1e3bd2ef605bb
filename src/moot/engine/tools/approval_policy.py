"""Consent to calls that have effects: whether it was given, asking for it, and noting that such a call begins."""

from typing import Literal, Protocol

from msgspec import Struct

from moot.types.events import Seat
from moot.types.tools import Decision

Standing = Literal["given", "wanted", "again"]


class Wanted(Struct, frozen=True, kw_only=True):
    """A call that somebody wants to make, of `server/tool`."""

    call_id: str
    tool: str
    arguments: str
    seat: Seat


class Consent(Protocol):
    async def standing(self, wanted: Wanted) -> Standing:
        """Tell whether to ask: not where it was given for all such calls.

        But it is asked again where a turn begins anew that had begun such a call.
        """
        ...

    async def ask(self, wanted: Wanted) -> None:
        """Put the question; whoever is told of it from now on can answer it."""
        ...

    async def answer(self, wanted: Wanted) -> Decision | None:
        """Wait for the answer; whoever waits may leave, and then nobody can answer any more.

        None is where nobody is there to be asked.
        """
        ...

    async def begin(self, wanted: Wanted) -> None:
        """Note, safely, that the call begins now."""
        ...


class NoConsent:
    """Nobody can be asked, so nothing is allowed."""

    async def standing(self, wanted: Wanted) -> Standing:  # noqa: ARG002 - a Consent
        return "wanted"

    async def ask(self, wanted: Wanted) -> None:
        """Nobody hears it."""

    async def answer(self, wanted: Wanted) -> None:
        """Nobody is there."""

    async def begin(self, wanted: Wanted) -> None:
        """It is noted nowhere."""
