"""Accepting what a trial was improved to: one's own persona is changed, any other becomes a new one of one's own."""

from moot.prompts.tasks.evaluation import RewriteTarget
from moot.prompts.tokens import truncate_text
from moot.services.evaluations.improve import ImprovementCase, PersonaImprover
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import AppliedImprovements, Evaluations
from moot.types.accounts import Caller
from moot.types.errors import Conflict
from moot.types.evaluations import AppliedImprovement, Evaluation, ImprovementRound, best_round
from moot.types.personas import PersonaDraft

MAX_NAME_CHARS = 60


class ImprovementApplier:
    def __init__(self, database: Database, worker: str, improver: PersonaImprover) -> None:
        self._evaluations = Evaluations(database)
        self._discussions = Discussions(database)
        self._applied_improvements = AppliedImprovements(database, worker)
        self._improver = improver

    async def apply_improvement(self, caller: Caller, id: str) -> Evaluation:
        """Apply the best round of a trial; doing so again changes nothing."""
        trial = await self._evaluations.get_evaluation(caller.tenant, id)
        if trial.acceptance is not None:
            return trial
        self._improver.reject_if_running(id)
        found = best_round(trial.rounds)
        if found is None:
            raise Conflict("No round of this trial was better than the answer as it stood: improve it first.")
        case = await self._improver.build_case(caller, trial)
        own = case.role.persona is not None and not case.role.persona.shipped
        wanted = await self._plan_change(case, found, creates_persona=not own)
        draft = None if own else _draft_persona(case.role, found.description)
        return await self._applied_improvements.apply_improvement(caller.tenant, id, wanted, draft)

    async def undo_improvement(self, caller: Caller, id: str) -> Evaluation:
        """Put back what was there before, unless it was changed since."""
        return await self._applied_improvements.undo_improvement(caller.tenant, id)

    async def _plan_change(
        self, case: ImprovementCase, best_round: ImprovementRound, *, creates_persona: bool
    ) -> AppliedImprovement:
        """Say what is to be done; whose persona comes from the discussion has none of its own to be replaced."""
        who = case.replayed_prompt.participant
        discussion = await self._discussions.get_discussion(
            case.caller.tenant, case.evaluated_answer.message.discussion
        )
        seated = next((one.persona for one in discussion.participants if one.id == who.id), who.persona)
        if creates_persona and (seated or discussion.persona) != who.persona:
            raise Conflict("This participant plays another part by now: ask again, and judge the new answer.")
        return AppliedImprovement(
            persona="" if creates_persona else who.persona or "",
            field=case.role.field,
            before=case.role.text,
            after=best_round.description,
            made=creates_persona,
            participant=who.id,
            replaced=seated if creates_persona else None,
        )


def _draft_persona(role: RewriteTarget, text: str) -> PersonaDraft:
    """Draft a persona of one's own: a copy with another text or, where nothing was played, a new one."""
    if role.persona is None:
        return PersonaDraft(name=truncate_text(role.participant.name, MAX_NAME_CHARS), description=text)
    like = role.persona
    texts = {"description": like.description, "system_prompt": like.system_prompt, role.field: text}
    return PersonaDraft(
        name=f"{truncate_text(like.name, MAX_NAME_CHARS - 10)}, improved",
        description=texts["description"],
        system_prompt=texts["system_prompt"],
        traits=like.traits,
        specialisations=like.specialisations,
        category=like.category,
        colour=like.colour,
    )
