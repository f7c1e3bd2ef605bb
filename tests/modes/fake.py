"""A table where nobody is asked anything: it notes who was to speak, and answers as it was told to."""

from collections.abc import Mapping, Sequence

from moot.context.views import View, blind, everything
from moot.model.events import TurnStatus
from moot.model.participants import Participant, seat
from moot.model.plans import Plan


class Left(Exception):
    """The run was stopped, so the mode is left."""


class FakeTable:
    """`told` is the dialogue: a line for every stage, and one for each turn with what its speaker could see.

    `ends` says how a participant's turns end, one after the other; they are completed when nothing is said. After
    `stopped_after` turns the run is stopped.
    """

    def __init__(
        self,
        plan: Plan,
        ends: Mapping[str, Sequence[TurnStatus]] | None = None,
        stopped_after: int | None = None,
    ) -> None:
        self.plan = plan
        self.told: list[str] = []
        self.instructions: set[str] = set()
        self._ends = {who: list(turns) for who, turns in (ends or {}).items()}
        self._left = stopped_after
        self._names: set[str] = set()

    async def open_stage(self, stage: str, round: int = 0) -> None:
        self._leave_if_stopped()
        self.told.append(f"{stage} {round}")

    async def speak(
        self,
        who: Participant,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = everything,
        instruction: str = "",
    ) -> TurnStatus:
        self._leave_if_stopped()
        status = self._turn(who, f"{stage}/{round}", view)
        self.instructions.add(instruction)
        return status

    async def all_speak(
        self, stage: str = "answer", *, round: int = 0, view: View = blind
    ) -> dict[str, TurnStatus]:
        self._leave_if_stopped()
        self.told.append("all at once:")
        return {who.id: self._turn(who, f"{stage}/{round}", view) for who in self.plan.speaking}

    def _turn(self, who: Participant, place: str, view: View) -> TurnStatus:
        name = f"{place}/{who.id}"
        assert name not in self._names, f"{name} was used before"
        self._names.add(name)
        ends = self._ends.get(who.id)
        status: TurnStatus = ends.pop(0) if ends else "completed"
        self.told.append(f"{name} sees {view.__name__}" + ("" if status == "completed" else f": {status}"))
        if self._left is not None:
            self._left -= 1
        return status

    def _leave_if_stopped(self) -> None:
        if self._left is not None and self._left <= 0:
            raise Left


def plan(mode: str, seats: int = 2, **more: object) -> Plan:
    return Plan(mode=mode, participants=seat(("a/one",) * seats), **more)  # type: ignore[arg-type]
