"""A table where nobody is asked anything: it notes who was to speak, and answers as it was told to."""

from collections.abc import Coroutine, Mapping, Sequence

from moot.modes.table import Brief, T
from moot.prompts.tasks.task import Ask
from moot.prompts.visibility import View, blind, everything
from moot.types.billing import Purpose
from moot.types.debate import LaneStatus
from moot.types.discussions import Message, Role
from moot.types.events import ANSWERED, Finding, NoticeKind, TurnStatus
from moot.types.participants import Participant, seat
from moot.types.run_plan import Plan


class Left(Exception):
    """The run was stopped, so the mode is left."""


class FakeTable:
    """`told` is the dialogue: a line for every stage, and one for each turn with what its speaker could see.

    `ends` says how a participant's turns end, one after the other; they are completed when nothing is said. After
    `stopped_after` turns the run is stopped. `finds` are what inquiries come to, by name; `poor` cannot be afforded.
    """

    def __init__(
        self,
        plan: Plan,
        ends: Mapping[str, Sequence[TurnStatus]] | None = None,
        stopped_after: int | None = None,
        finds: Mapping[str, Sequence[Finding]] | None = None,
        poor: Sequence[str] = (),
    ) -> None:
        self.plan = plan
        self.revision = 0
        self.run = "run_1"
        self.said = [Message(id="msg_0", discussion="", run=self.run, role="user", content="Go on.")]
        self.told: list[str] = []
        self.instructions: set[str] = set()
        self._ends = {who: list(turns) for who, turns in (ends or {}).items()}
        self._left = stopped_after
        self._names: set[str] = set()
        self._finds = {name: list(found) for name, found in (finds or {}).items()}
        self._poor = poor

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
        brief: Brief | None = None,
        acting: bool = False,
    ) -> TurnStatus:
        self._leave_if_stopped()
        status = self._turn(who, f"{stage}/{round}", view)
        self.instructions.add(instruction)
        self.said.append(_spoken(who, stage, round, status))
        return status

    async def all_speak(
        self,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = blind,
        who: Sequence[Participant] | None = None,
        brief: Brief | None = None,
        then: LaneStatus | None = None,
    ) -> dict[str, TurnStatus]:
        self._leave_if_stopped()
        told = f", told to {brief.__name__}" if brief else ""
        lanes = f", each in a lane that is then {then}" if then else ""
        self.told.append(f"all at once{told}{lanes}:")
        speaking = self.plan.speaking if who is None else who
        return {one.id: self._turn(one, f"{stage}/{round}", view) for one in speaking}

    async def one_speaks(
        self,
        candidates: Sequence[Participant],
        stage: str,
        *,
        round: int = 0,
        view: View,
        brief: Brief,
        role: Role,
    ) -> TurnStatus:
        self.told.append(f"one, as {role}, told to {brief.__name__}:")
        status: TurnStatus = "failed"
        for who in candidates:
            status = self._turn(who, f"{stage}/{round}", view)
            if status in ANSWERED:
                break
        return status

    async def find(self, purpose: Purpose, who: Participant, ask: Ask, *, round: int = 0) -> Finding | None:
        found = self._finds.get(purpose)
        self.told.append(f"{who.id} ({who.model}) looks for {purpose}" + ("" if found else " in vain"))
        return found.pop(0) if found else None

    async def conclude(self, finding: Finding) -> None:
        self.told.append(f"concluded: {type(finding).__name__}")

    async def settle(self, lanes: Sequence[Participant], kind: NoticeKind, words: str) -> None:
        self._leave_if_stopped()
        self.told.append(f"{', '.join(who.id for who in lanes)} complete, {kind}: {words}")

    async def tell(self, kind: NoticeKind, words: str) -> None:
        self._leave_if_stopped()
        self.told.append(f"{kind}: {words}")

    async def affords(
        self,
        what: str,
        speakers: Sequence[Participant],
        brief: Brief | None = None,
        *,
        view: View = everything,
        keeping: Brief | None = None,
    ) -> bool:
        self._leave_if_stopped()
        return what not in self._poor

    async def together(self, *doings: Coroutine[None, None, T]) -> Sequence[T]:
        self.told.append("at the same time:")
        return [await one for one in doings]

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


def _spoken(who: Participant, stage: str, round: int, status: TurnStatus) -> Message:
    return Message(
        id=f"msg_{stage}_{round}_{who.id}",
        discussion="",
        run="run_1",
        role="assistant",
        content="So it is." if status in ANSWERED else "",
        participant=who.id,
        name=who.name,
        stage=stage,
        round=round,
        status=status,
    )


def plan(mode: str, seats: int = 2, **more: object) -> Plan:
    return Plan(mode=mode, participants=seat(("a/one",) * seats), **more)  # type: ignore[arg-type]
