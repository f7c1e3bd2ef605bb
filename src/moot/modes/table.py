"""What a mode can do. Stops, failures, storage and replay are the table's business, not the mode's."""

from typing import Protocol

from moot.context.views import View, blind, everything
from moot.model.events import TurnStatus
from moot.model.participants import Participant
from moot.model.plans import Plan


class Table(Protocol):
    """Turns at a table. A turn is named by its stage, its round and who speaks; no name is used twice in a run.

    A participant that fails is a status, never an exception. When the whole run is stopped, the mode is left.
    """

    @property
    def plan(self) -> Plan: ...

    async def open_stage(self, stage: str, round: int = 0) -> None:
        """Tell readers that something new begins."""
        ...

    async def speak(
        self,
        who: Participant,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = everything,
        instruction: str = "",
    ) -> TurnStatus: ...

    async def all_speak(
        self,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = blind,
    ) -> dict[str, TurnStatus]:
        """Let everybody who is spoken to speak at the same time."""
        ...
