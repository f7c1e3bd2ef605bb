"""LLM judge: evaluates whether an answer passes the user's assertions."""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from moot.engine.model_resolution import ResolveModel
from moot.engine.turns.structured_output import StructuredResult
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.prompts.tasks.evaluation import Judgement, judge_request, require_one_verdict_each, sort_verdicts
from moot.services.model_tasks import ModelTasks
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound
from moot.types.evaluations import Evaluation
from moot.types.primitives import new_id


class EvaluationResult(Struct, frozen=True, kw_only=True):
    """A new evaluation, and the cost of its model request."""

    evaluation: Evaluation
    usage: Usage
    cost_usd: float | None  # US dollars; None if the price is unknown


class EvaluatedAnswer(Struct, frozen=True, kw_only=True):
    message: Message
    question: str  # empty if the run had no user message


class Judge:
    def __init__(self, stores: Stores, resolve_model: ResolveModel, model_tasks: ModelTasks) -> None:
        self._discussions = stores.discussions
        self._runs = stores.runs
        self._evaluations = stores.evaluations
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks

    async def evaluate_answer(
        self, caller: Caller, message: str, assertions: tuple[str, ...], judge_model: str | None = None
    ) -> EvaluationResult:
        """Evaluate an answer and store the result.

        The default judge is the task model of the discussion, or else the model of the answer.
        """
        answer = await self.find_answer(caller.tenant, message)
        discussion = await self._discussions.get_discussion(caller.tenant, answer.message.discussion)
        model = judge_model or discussion.task_model or answer.message.model
        if model is None:
            raise Conflict("judge: the model of this answer is unknown. Name a judge.")
        judgement = await self.judge_assertions(caller, answer, answer.message.content, assertions, model)
        evaluation = Evaluation(
            id=new_id("evaluation"),
            message=answer.message.id,
            judge=model,
            assertions=assertions,
            verdicts=sort_verdicts(judgement.unwrap()),
            rounds=(),
            applied_improvement=None,
            created_at=time.time(),
            applied_at=None,
        )
        await self._evaluations.add_evaluation(caller.tenant, evaluation)
        return EvaluationResult(evaluation=evaluation, usage=judgement.usage, cost_usd=judgement.cost_usd)

    async def find_answer(self, tenant: str, message: str) -> EvaluatedAnswer:
        """Raises Conflict if the message is not an answer of a participant, or is empty."""
        found = await self._discussions.find_message(tenant, message)
        if found.participant is None or not found.content.strip():
            raise Conflict("This message is not an answer of a participant. Choose one that is.")
        return EvaluatedAnswer(message=found, question=await self._find_question(tenant, found))

    async def judge_assertions(
        self,
        caller: Caller,
        evaluated_answer: EvaluatedAnswer,
        answer: str,
        assertions: Sequence[str],
        judge_model: str,
    ) -> StructuredResult[Judgement]:
        """Return one verdict per assertion. A judgement with missing or extra verdicts is retried."""
        chain = await self._resolve_model(caller.tenant, judge_model)
        request = judge_request(
            evaluated_answer.question, answer, assertions, await asyncio.to_thread(max_prompt_chars, chain)
        )
        payer = Payer(tenant=caller.tenant, account=caller.account, discussion=evaluated_answer.message.discussion)
        async with self._model_tasks.within_budget(caller.account):
            return await self._model_tasks.run_structured_task(
                payer, "assertion", chain, request, Judgement, require_one_verdict_each(len(assertions))
            )

    async def _find_question(self, tenant: str, answer: Message) -> str:
        if answer.run is None:
            return ""
        question = (await self._runs.get_run(tenant, answer.run)).message
        try:
            return (await self._discussions.find_message(tenant, question)).content if question else ""
        except NotFound:
            return ""
