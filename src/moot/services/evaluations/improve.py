"""Improving the part that gave an answer, round by round: rewritten, answered again, judged again, and kept at once.

Whoever reads the rounds is waited for: when they leave, it stops, and the same call goes on later.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.model_resolution import Chains
from moot.engine.turns.structured_output import Shaped
from moot.engine.turns.token_estimates import room
from moot.engine.waits import patiently
from moot.prompts.tasks.evaluation import Rewritten, Role, rewriting, small_change, verdicts
from moot.services.evaluations.judge import Answered, Court
from moot.services.model_tasks import Errands
from moot.services.prompt_replay import Retelling, Told
from moot.store.database import Database
from moot.store.library.evaluations import BUSY, Trials, refuse_if_accepted
from moot.store.library.personas import Personas
from moot.streaming.lesson_turn import spoken_in
from moot.types.accounts import Caller
from moot.types.billing import Payer, total
from moot.types.errors import Conflict, MootError, NotFound, ProviderError
from moot.types.evaluations import Outcome, Round, Trial, best, outcome
from moot.types.events import Answer, TurnEnded
from moot.types.faults import fault

CHANGED = "The persona was changed or deleted since this answer was given: ask again, and make assertions about the new answer."


class Improving(Struct, frozen=True, kw_only=True, tag_field="type", tag="improving"):
    """It begins, or goes on, with the rounds that there are."""

    trial: Trial


class Tried(Struct, frozen=True, kw_only=True, tag_field="type", tag="rewritten"):
    """The description of a round is there; it is answered with next."""

    round: int
    change: str
    description: str


class AnsweredAgain(Struct, frozen=True, kw_only=True, tag_field="type", tag="answered"):
    round: int
    answer: str


class RoundEnded(Struct, frozen=True, kw_only=True, tag_field="type", tag="round_ended"):
    """A round was judged and is kept; `number` counts from 1."""

    number: int
    round: Round


class Improved(Struct, frozen=True, kw_only=True, tag_field="type", tag="done"):
    """It is over: all assertions pass, all rounds are used, or it failed, and `message` says what to do."""

    outcome: Outcome
    trial: Trial
    message: str = ""


Progress = Improving | Tried | AnsweredAgain | RoundEnded | Improved


class Case(Struct, frozen=True, kw_only=True):
    """What is improved, for whom, and what an answer to the same needs."""

    caller: Caller
    answered: Answered
    told: Told
    role: Role

    @property
    def payer(self) -> Payer:
        return Payer(
            tenant=self.caller.tenant,
            account=self.caller.account,
            discussion=self.answered.message.discussion,
        )


class Improvements:
    def __init__(
        self,
        database: Database,
        worker: str,
        court: Court,
        personas: Personas,
        chains: Chains,
        errands: Errands,
    ) -> None:
        self._worker = worker
        self._court = court
        self._personas = personas
        self._chains = chains
        self._errands = errands
        self._trials = Trials(database)
        self._retelling = Retelling(database)
        self._going_on: set[str] = set()

    async def improve(self, caller: Caller, id: str) -> AsyncGenerator[Progress, None]:
        """Go on with a trial until all of it passes or its rounds are used; whatever refuses it is raised at first."""
        trial = await self._trials.get(caller.tenant, id)
        refuse_if_accepted(trial)
        case = await self.case(caller, trial)
        for model in {trial.judge, case.told.who.model}:
            await self._chains(caller.tenant, model)  # a key that is missing is told before anything is paid
        async with self._errands.within_budget(caller.account):
            pass
        with self._alone(id):
            trial = await self._trials.hold(caller.tenant, id, self._worker)
            try:
                yield Improving(trial=trial)
                async with aclosing(self._rounds(case, trial)) as rounds:
                    async for event in rounds:
                        yield event
            finally:
                await patiently(lambda: self._trials.let_go(caller.tenant, id, self._worker))

    async def case(self, caller: Caller, trial: Trial) -> Case:
        """Put together what a trial is about; its persona must be as it was when it answered."""
        answered = await self._court.answered(caller.tenant, trial.message)
        told = await self._retelling.of(caller.tenant, answered.message)
        role = await self._role(caller.tenant, told)
        return Case(caller=caller, answered=answered, told=told, role=role)

    async def _role(self, tenant: str, told: Told) -> Role:
        as_told = told.plan.personas.get(told.who.id, "")
        if told.who.persona is None or not as_told:
            return Role(who=told.who)
        try:
            role = Role(who=told.who, persona=await self._personas.get(tenant, told.who.persona))
        except NotFound:
            raise Conflict(CHANGED) from None
        if role.told(role.text) != as_told:
            raise Conflict(CHANGED)
        return role

    def refuse_if_going_on(self, id: str) -> None:
        """Refuse what cannot be done while this process improves a trial."""
        if id in self._going_on:
            raise Conflict(BUSY)

    @contextmanager
    def _alone(self, id: str) -> Iterator[None]:
        self.refuse_if_going_on(id)
        self._going_on.add(id)
        try:
            yield
        finally:
            self._going_on.discard(id)

    async def _rounds(self, case: Case, trial: Trial) -> AsyncGenerator[Progress, None]:
        try:
            while (over := outcome(trial)) is None:
                number = len(trial.rounds) + 1
                rewritten = await self._rewritten(case, trial)
                new = rewritten.needed()
                yield Tried(round=number, change=new.change, description=new.description)
                answer = await self._answer(case, new.description)
                yield AnsweredAgain(round=number, answer=answer.message.text)
                trial = await self._judged(case, trial, rewritten, answer)
                yield RoundEnded(number=number, round=trial.rounds[-1])
            yield Improved(outcome=over, trial=trial)
        except MootError as error:  # such as a model that fails, or a budget that is spent meanwhile
            yield Improved(outcome="failed", trial=trial, message=str(error))

    async def _rewritten(self, case: Case, trial: Trial) -> Shaped[Rewritten]:
        found = best(trial.rounds)
        text = found.description if found else case.role.text
        chain = await self._chains(case.caller.tenant, trial.judge)
        place = await asyncio.to_thread(room, chain)
        asking = rewriting(case.role, trial, case.answered.question, case.answered.message.content, place)
        async with self._errands.within_budget(case.caller.account):
            return await self._errands.ask(
                case.payer, "improvement", chain, asking, Rewritten, small_change(case.role, text)
            )

    async def _answer(self, case: Case, description: str) -> TurnEnded:
        """Answer the very same again, in the part as it was rewritten."""
        chain = await self._chains(case.caller.tenant, case.told.who.model)
        asking = case.told.request(case.role.told(description))
        async with self._errands.within_budget(case.caller.account):
            ended = await self._errands.answer(case.payer, "improvement", chain, asking)
        if ended.status != "completed":
            raise ProviderError(ended.fault or fault("bad_response", f"{ended.model} gave no whole answer."))
        if case.answered.message.script is None:
            return ended
        return replace(ended, message=Answer(text=spoken_in(ended.message.text)))

    async def _judged(
        self, case: Case, trial: Trial, rewritten: Shaped[Rewritten], answer: TurnEnded
    ) -> Trial:
        words = answer.message.text
        told = await self._court.verdicts(case.caller, case.answered, words, trial.assertions, trial.judge)
        new = Round(
            description=rewritten.needed().description,
            change=rewritten.needed().change,
            answer=words,
            verdicts=verdicts(told.needed()),
            cost=total((rewritten.cost, answer.cost, told.cost)),
            created_at=time.time(),
        )
        return await patiently(lambda: self._trials.keep(case.caller.tenant, trial.id, self._worker, new))
