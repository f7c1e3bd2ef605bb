"""Table draft of `moot chat`: participants, mode and options, and the request body built from them."""

from typing import Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from moot.types.discussions import Discussion
from moot.types.errors import UsageError
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions, ModeName, adapt_mode, assign_lesson_roles
from moot.types.participants import Participant, default_names, first_free_name, participant_id
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
        """Body for creating a discussion and for changing one."""
        return {name: value for name, value in to_builtins(self).items() if value is not None}

    def with_mode(self, mode: ModeName) -> "TableDraft":
        return replace(self, mode=mode, participants=assign_lesson_roles(self.participants, mode))

    def with_participant(self, model: str, name: str | None = None) -> "TableDraft":
        taken = {who.id for who in self.participants}
        new_name = name or first_free_name(default_names(), taken)
        if participant_id(new_name) in taken:
            raise UsageError(f"The name {new_name} is already used. Choose another name.")
        participants = (*self.participants, Participant(participant_id(new_name), new_name, model))
        mode = adapt_mode(self.mode, participants)
        return replace(self, participants=assign_lesson_roles(participants, mode), mode=mode)

    def without_participant(self, who: Participant) -> "TableDraft":
        """Remove a participant. With one left, the mode becomes `single`. Raises UsageError for the last one."""
        remaining = tuple(one for one in self.participants if one.id != who.id)
        if not remaining:
            raise UsageError(f"{who.name} is the only participant. Use /add first.")
        mode = adapt_mode(self.mode, remaining)
        debate = self.debate and replace(
            self.debate,
            lead=None if self.debate.lead == who.id else self.debate.lead,
            quorum=self.debate.quorum and min(self.debate.quorum, len(remaining)),
        )
        return replace(self, participants=remaining, mode=mode, debate=debate)

    @property
    def description(self) -> str:
        who = ", ".join(f"{one.name} ({one.model})" for one in self.participants)
        return f"{who}: {self.mode}"


def draft_from_plan(plan: RunPlan) -> TableDraft:
    """Copy participants, mode and the options of that mode from a plan."""
    options = {plan.mode: getattr(plan, plan.mode)} if plan.spec.options else {}
    return TableDraft(participants=plan.participants, mode=plan.mode, rounds=plan.rounds, **options)


def draft_from_discussion(discussion: Discussion) -> TableDraft:
    return convert(discussion, TableDraft, from_attributes=True)
