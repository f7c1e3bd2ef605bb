"""The table of a chat as it is to be: who sits there, how they speak, and the body that asks a server for it."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from moot.types.debate import DebateOptions
from moot.types.discussions import Discussion
from moot.types.errors import UsageError
from moot.types.modes import SOLO_MODES, AdvisorOptions, DirectedOptions, ModeName
from moot.types.participants import Participant, default_names, participant_id
from moot.types.run_plan import RunPlan


class TableDraft(Struct, frozen=True, kw_only=True):
    participants: tuple[Participant, ...]
    mode: str
    rounds: int = 2
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None

    @property
    def request_body(self) -> dict[str, Any]:
        """Write it as a server takes it, for a new discussion as well as for a change of one."""
        return {name: value for name, value in to_builtins(self).items() if value is not None}

    def with_mode(self, mode: ModeName) -> "TableDraft":
        return replace(self, mode=mode, participants=_assign_lesson_roles(self.participants, mode))

    def with_participant(self, model: str, name: str | None = None) -> "TableDraft":
        taken = {who.id for who in self.participants}
        called = name or next(one for one in default_names() if participant_id(one) not in taken)
        if participant_id(called) in taken:
            raise UsageError(f"Somebody is called {called} already: choose another name.")
        seated = (*self.participants, Participant(participant_id(called), called, model))
        mode = "parallel" if self.mode == "single" else self.mode
        return replace(self, participants=_assign_lesson_roles(seated, mode), mode=mode)

    def without_participant(self, who: Participant) -> "TableDraft":
        """Let somebody go; whoever is left alone speaks alone."""
        left = tuple(one for one in self.participants if one.id != who.id)
        if not left:
            raise UsageError(f"{who.name} is the last one at the table: /add another one first.")
        mode = self.mode if len(left) > 1 or self.mode in SOLO_MODES - {"parallel"} else "single"
        debate = self.debate and replace(
            self.debate,
            lead=None if self.debate.lead == who.id else self.debate.lead,
            quorum=self.debate.quorum and min(self.debate.quorum, len(left)),
        )
        return replace(self, participants=left, mode=mode, debate=debate)

    @property
    def description(self) -> str:
        who = ", ".join(f"{one.name} ({one.model})" for one in self.participants)
        return f"{who}: {self.mode}"


def draft_from_plan(plan: RunPlan) -> TableDraft:
    """Take the table of a plan, with the rules of its mode."""
    return TableDraft(
        participants=plan.participants,
        mode=plan.mode,
        rounds=plan.rounds,
        debate=plan.debate if plan.mode == "debate" else None,
        advisors=plan.advisors if plan.mode == "advisors" else None,
        directed=plan.directed if plan.mode == "directed" else None,
    )


def draft_from_discussion(discussion: Discussion) -> TableDraft:
    return TableDraft(
        participants=discussion.participants,
        mode=discussion.mode,
        rounds=discussion.rounds,
        debate=discussion.debate,
        advisors=discussion.advisors,
        directed=discussion.directed,
    )


def _assign_lesson_roles(participants: Sequence[Participant], mode: str) -> tuple[Participant, ...]:
    """See to it that a lesson has a teacher and students: who has no role gets one."""
    if mode != "directed":
        return tuple(participants)
    taught = any(who.role == "teacher" for who in participants)
    roles = [
        who.role or ("student" if taught or place else "teacher") for place, who in enumerate(participants)
    ]
    return tuple(replace(who, role=role) for who, role in zip(participants, roles, strict=True))
