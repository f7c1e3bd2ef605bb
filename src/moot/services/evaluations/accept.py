"""Accepting what a trial was improved to: one's own persona is changed, any other becomes a new one of one's own."""

from moot.prompts.tasks.evaluation import Role
from moot.prompts.tokens import cut
from moot.services.evaluations.improve import Case, Improvements
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import Acceptances, Trials
from moot.types.accounts import Caller
from moot.types.errors import Conflict
from moot.types.evaluations import Acceptance, Round, Trial, best
from moot.types.personas import PersonaDraft

NAME = 60


class Accepting:
    def __init__(self, database: Database, worker: str, improvements: Improvements) -> None:
        self._trials = Trials(database)
        self._discussions = Discussions(database)
        self._acceptances = Acceptances(database, worker)
        self._improvements = improvements

    async def accept(self, caller: Caller, id: str) -> Trial:
        """Apply the best round of a trial; doing so again changes nothing."""
        trial = await self._trials.get(caller.tenant, id)
        if trial.acceptance is not None:
            return trial
        self._improvements.refuse_if_going_on(id)
        found = best(trial.rounds)
        if found is None:
            raise Conflict("No round of this trial was better than the answer as it stood: improve it first.")
        case = await self._improvements.case(caller, trial)
        own = case.role.persona is not None and not case.role.persona.shipped
        wanted = await self._wanted(case, found, made=not own)
        draft = None if own else _draft(case.role, found.description)
        return await self._acceptances.accept(caller.tenant, id, wanted, draft)

    async def undo(self, caller: Caller, id: str) -> Trial:
        """Put back what was there before, unless it was changed since."""
        return await self._acceptances.undo(caller.tenant, id)

    async def _wanted(self, case: Case, found: Round, *, made: bool) -> Acceptance:
        """Say what is to be done; whose persona comes from the discussion has none of its own to be replaced."""
        who = case.told.who
        discussion = await self._discussions.get(case.caller.tenant, case.answered.message.discussion)
        seated = next((one.persona for one in discussion.participants if one.id == who.id), who.persona)
        if made and (seated or discussion.persona) != who.persona:
            raise Conflict("This participant plays another part by now: ask again, and judge the new answer.")
        return Acceptance(
            persona="" if made else who.persona or "",
            field=case.role.field,
            before=case.role.text,
            after=found.description,
            made=made,
            participant=who.id,
            replaced=seated if made else None,
        )


def _draft(role: Role, text: str) -> PersonaDraft:
    """Draft a persona of one's own: a copy with another text or, where nothing was played, a new one."""
    if role.persona is None:
        return PersonaDraft(name=cut(role.who.name, NAME), description=text)
    like = role.persona
    texts = {"description": like.description, "system_prompt": like.system_prompt, role.field: text}
    return PersonaDraft(
        name=f"{cut(like.name, NAME - 10)}, improved",
        description=texts["description"],
        system_prompt=texts["system_prompt"],
        traits=like.traits,
        specialisations=like.specialisations,
        category=like.category,
        colour=like.colour,
    )
