"""Applies an improvement: updates the user's persona, or creates a copy of a built-in one."""

from moot.prompts.tasks.evaluation import RewriteTarget
from moot.prompts.tokens import truncate_text
from moot.services.evaluations.improve import ImprovementCase, PersonaImprover
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.errors import Conflict
from moot.types.evaluations import AppliedImprovement, Evaluation, ImprovementRound, best_round
from moot.types.personas import PersonaDraft

MAX_NAME_CHARS = 60


class ImprovementApplier:
    def __init__(self, stores: Stores, improver: PersonaImprover) -> None:
        self._evaluations = stores.evaluations
        self._discussions = stores.discussions
        self._applied_improvements = stores.applied_improvements
        self._improver = improver

    async def apply_improvement(self, caller: Caller, id: str) -> Evaluation:
        """Apply the best round. Idempotent. Raises Conflict if no round is better than the original answer."""
        evaluation = await self._evaluations.get_evaluation(caller.tenant, id)
        if evaluation.applied_improvement is not None:
            return evaluation
        self._improver.reject_if_running(id)
        found = best_round(evaluation.rounds)
        if found is None:
            raise Conflict("No round of this evaluation is better than the original answer. Improve it first.")
        case = await self._improver.build_case(caller, evaluation)
        is_editable = case.role.persona is not None and not case.role.persona.builtin
        change = await self._plan_change(case, found, creates_persona=not is_editable)
        draft = None if is_editable else _draft_persona(case.role, found.description)
        return await self._applied_improvements.apply_improvement(caller.tenant, id, change, draft)

    async def undo_improvement(self, caller: Caller, id: str) -> Evaluation:
        """Restore the previous state. Raises Conflict if the persona or participant was changed since."""
        return await self._applied_improvements.undo_improvement(caller.tenant, id)

    async def _plan_change(
        self, case: ImprovementCase, best_round: ImprovementRound, *, creates_persona: bool
    ) -> AppliedImprovement:
        """Raises Conflict if the participant has another persona now.

        `replaced` stays None for a participant that uses the default persona of the discussion.
        """
        who = case.replayed_prompt.participant
        discussion = await self._discussions.get_discussion(
            case.caller.tenant, case.evaluated_answer.message.discussion
        )
        current = next((one.persona for one in discussion.participants if one.id == who.id), who.persona)
        if creates_persona and (current or discussion.persona) != who.persona:
            raise Conflict("This participant has another persona now. Evaluate a new answer.")
        return AppliedImprovement(
            persona="" if creates_persona else who.persona or "",
            field=case.role.field,
            before=case.role.text,
            after=best_round.description,
            is_new_persona=creates_persona,
            participant=who.id,
            previous_persona=current if creates_persona else None,
        )


def _draft_persona(role: RewriteTarget, text: str) -> PersonaDraft:
    """Copy the persona with a new text. A participant without a persona gets a new one."""
    if role.persona is None:
        return PersonaDraft(name=truncate_text(role.participant.name, MAX_NAME_CHARS), description=text)
    original = role.persona
    texts = {"description": original.description, "system_prompt": original.system_prompt, role.field: text}
    return PersonaDraft(
        name=f"{truncate_text(original.name, MAX_NAME_CHARS - 10)}, improved",
        description=texts["description"],
        system_prompt=texts["system_prompt"],
        traits=original.traits,
        specialisations=original.specialisations,
        category=original.category,
        colour=original.colour,
    )
