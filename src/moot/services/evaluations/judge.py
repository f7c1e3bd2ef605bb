"""Trials: a judge says of every assertion whether an answer passes it, and why."""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from moot.engine.model_resolution import Chains
from moot.engine.turns.structured_output import Shaped
from moot.engine.turns.token_estimates import room
from moot.prompts.tasks.evaluation import Judgement, judging, one_each, verdicts
from moot.services.model_tasks import Errands
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import Trials
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound
from moot.types.evaluations import Trial
from moot.types.primitives import new_id


class Judged(Struct, frozen=True, kw_only=True):
    """A trial as it was first judged, and what that took; `cost` is None where nobody knows."""

    trial: Trial
    usage: Usage
    cost: float | None


class Answered(Struct, frozen=True, kw_only=True):
    """An answer, and the question that it answers; that is empty where the table went on by itself."""

    message: Message
    question: str


class Court:
    def __init__(self, database: Database, chains: Chains, errands: Errands) -> None:
        self._discussions = Discussions(database)
        self._runs = Runs(database)
        self._trials = Trials(database)
        self._chains = chains
        self._errands = errands

    async def judge(
        self, caller: Caller, message: str, assertions: tuple[str, ...], judge: str | None = None
    ) -> Judged:
        """Let an answer be judged by what somebody asserts of it: by the judge named, the clerk, or its own model."""
        answered = await self.answered(caller.tenant, message)
        discussion = await self._discussions.get(caller.tenant, answered.message.discussion)
        model = judge or discussion.clerk or answered.message.model
        if model is None:
            raise Conflict("judge: it is not known which model gave this answer: name a judge.")
        told = await self.verdicts(caller, answered, answered.message.content, assertions, model)
        trial = Trial(
            id=new_id("trial"),
            message=answered.message.id,
            judge=model,
            assertions=assertions,
            verdicts=verdicts(told.needed()),
            rounds=(),
            acceptance=None,
            created_at=time.time(),
            accepted_at=None,
        )
        await self._trials.add(caller.tenant, trial)
        return Judged(trial=trial, usage=told.usage, cost=told.cost)

    async def answered(self, tenant: str, message: str) -> Answered:
        """Find an answer and its question, or say that it is none."""
        found = await self._discussions.find_message(tenant, message)
        if found.participant is None or not found.content.strip():
            raise Conflict(
                "This is no answer of a participant: choose a message in which one says something."
            )
        return Answered(message=found, question=await self._question(tenant, found))

    async def verdicts(
        self, caller: Caller, answered: Answered, answer: str, assertions: Sequence[str], judge: str
    ) -> Shaped[Judgement]:
        """Let a judge decide on each assertion; exactly one verdict on each, or it is asked again."""
        chain = await self._chains(caller.tenant, judge)
        asking = judging(answered.question, answer, assertions, await asyncio.to_thread(room, chain))
        payer = Payer(tenant=caller.tenant, account=caller.account, discussion=answered.message.discussion)
        async with self._errands.within_budget(caller.account):
            return await self._errands.ask(
                payer, "assertion", chain, asking, Judgement, one_each(len(assertions))
            )

    async def _question(self, tenant: str, answer: Message) -> str:
        if answer.run is None:
            return ""
        asked = (await self._runs.get(tenant, answer.run)).message
        try:
            return (await self._discussions.find_message(tenant, asked)).content if asked else ""
        except NotFound:
            return ""
