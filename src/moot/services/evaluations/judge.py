"""Trials: a judge says of every assertion whether an answer passes it, and why."""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from moot.engine.model_resolution import ResolveModel
from moot.engine.turns.structured_output import StructuredResult
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.prompts.tasks.evaluation import Judgement, judge_request, require_one_verdict_each, sort_verdicts
from moot.services.model_tasks import ModelTasks
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import Evaluations
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound
from moot.types.evaluations import Evaluation
from moot.types.primitives import new_id


class EvaluationResult(Struct, frozen=True, kw_only=True):
    """A trial as it was first judged, and what that took; `cost` is None where nobody knows."""

    trial: Evaluation
    usage: Usage
    cost: float | None


class EvaluatedAnswer(Struct, frozen=True, kw_only=True):
    """An answer, and the question that it answers; that is empty where the table went on by itself."""

    message: Message
    question: str


class Judge:
    def __init__(self, database: Database, resolve_model: ResolveModel, model_tasks: ModelTasks) -> None:
        self._discussions = Discussions(database)
        self._runs = Runs(database)
        self._evaluations = Evaluations(database)
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks

    async def evaluate_answer(
        self, caller: Caller, message: str, assertions: tuple[str, ...], judge_model: str | None = None
    ) -> EvaluationResult:
        """Let an answer be judged by what somebody asserts of it: by the judge named, the clerk, or its own model."""
        answered = await self.find_answer(caller.tenant, message)
        discussion = await self._discussions.get_discussion(caller.tenant, answered.message.discussion)
        model = judge_model or discussion.clerk or answered.message.model
        if model is None:
            raise Conflict("judge: it is not known which model gave this answer: name a judge.")
        told = await self.judge_assertions(caller, answered, answered.message.content, assertions, model)
        trial = Evaluation(
            id=new_id("trial"),
            message=answered.message.id,
            judge=model,
            assertions=assertions,
            verdicts=sort_verdicts(told.unwrap()),
            rounds=(),
            acceptance=None,
            created_at=time.time(),
            accepted_at=None,
        )
        await self._evaluations.add_evaluation(caller.tenant, trial)
        return EvaluationResult(trial=trial, usage=told.usage, cost=told.cost)

    async def find_answer(self, tenant: str, message: str) -> EvaluatedAnswer:
        """Find an answer and its question, or say that it is none."""
        found = await self._discussions.find_message(tenant, message)
        if found.participant is None or not found.content.strip():
            raise Conflict(
                "This is no answer of a participant: choose a message in which one says something."
            )
        return EvaluatedAnswer(message=found, question=await self._find_question(tenant, found))

    async def judge_assertions(
        self,
        caller: Caller,
        evaluated_answer: EvaluatedAnswer,
        answer: str,
        assertions: Sequence[str],
        judge_model: str,
    ) -> StructuredResult[Judgement]:
        """Let a judge decide on each assertion; exactly one verdict on each, or it is asked again."""
        chain = await self._resolve_model(caller.tenant, judge_model)
        asking = judge_request(
            evaluated_answer.question, answer, assertions, await asyncio.to_thread(max_prompt_chars, chain)
        )
        payer = Payer(
            tenant=caller.tenant, account=caller.account, discussion=evaluated_answer.message.discussion
        )
        async with self._model_tasks.within_budget(caller.account):
            return await self._model_tasks.run_structured_task(
                payer, "assertion", chain, asking, Judgement, require_one_verdict_each(len(assertions))
            )

    async def _find_question(self, tenant: str, answer: Message) -> str:
        if answer.run is None:
            return ""
        asked = (await self._runs.get_run(tenant, answer.run)).message
        try:
            return (await self._discussions.find_message(tenant, asked)).content if asked else ""
        except NotFound:
            return ""
