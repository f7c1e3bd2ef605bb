"""Improving the part that gave an answer, round by round: rewritten, answered again, judged again, and kept at once.

Whoever reads the rounds is waited for: when they leave, it stops, and the same call goes on later.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.model_resolution import ResolveModel
from moot.engine.turns.structured_output import StructuredResult
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.engine.waits import retry_while_unavailable
from moot.prompts.tasks.evaluation import (
    RewriteAnswer,
    RewriteTarget,
    require_small_change,
    rewrite_request,
    sort_verdicts,
)
from moot.services.evaluations.judge import EvaluatedAnswer, Judge
from moot.services.model_tasks import ModelTasks
from moot.services.prompt_replay import PromptReplay, ReplayedPrompt
from moot.store.database import Database
from moot.store.library.evaluations import BEING_IMPROVED, Evaluations, reject_if_applied
from moot.store.library.personas import Personas
from moot.streaming.lesson_turn import extract_speech
from moot.types.accounts import Caller
from moot.types.billing import Payer, sum_costs
from moot.types.errors import Conflict, MootError, NotFound, ProviderError
from moot.types.evaluations import (
    Evaluation,
    ImprovementOutcome,
    ImprovementRound,
    best_round,
    improvement_outcome,
)
from moot.types.events import Answer, TurnEnded
from moot.types.faults import make_fault

PERSONA_CHANGED_MESSAGE = "The persona was changed or deleted since this answer was given: ask again, and make assertions about the new answer."


class ImprovementStarted(Struct, frozen=True, kw_only=True, tag_field="type", tag="improving"):
    """It begins, or goes on, with the rounds that there are."""

    trial: Evaluation


class PersonaRewritten(Struct, frozen=True, kw_only=True, tag_field="type", tag="rewritten"):
    """The description of a round is there; it is answered with next."""

    round: int
    change: str
    description: str


class RoundAnswered(Struct, frozen=True, kw_only=True, tag_field="type", tag="answered"):
    round: int
    answer: str


class RoundEnded(Struct, frozen=True, kw_only=True, tag_field="type", tag="round_ended"):
    """A round was judged and is kept; `number` counts from 1."""

    number: int
    round: ImprovementRound


class ImprovementEnded(Struct, frozen=True, kw_only=True, tag_field="type", tag="done"):
    """It is over: all assertions pass, all rounds are used, or it failed, and `message` says what to do."""

    outcome: ImprovementOutcome
    trial: Evaluation
    message: str = ""


ImprovementEvent = ImprovementStarted | PersonaRewritten | RoundAnswered | RoundEnded | ImprovementEnded


class ImprovementCase(Struct, frozen=True, kw_only=True):
    """What is improved, for whom, and what an answer to the same needs."""

    caller: Caller
    evaluated_answer: EvaluatedAnswer
    replayed_prompt: ReplayedPrompt
    role: RewriteTarget

    @property
    def payer(self) -> Payer:
        return Payer(
            tenant=self.caller.tenant,
            account=self.caller.account,
            discussion=self.evaluated_answer.message.discussion,
        )


class PersonaImprover:
    def __init__(
        self,
        database: Database,
        worker: str,
        judge: Judge,
        personas: Personas,
        resolve_model: ResolveModel,
        model_tasks: ModelTasks,
    ) -> None:
        self._worker = worker
        self._judge = judge
        self._personas = personas
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks
        self._evaluations = Evaluations(database)
        self._prompt_replay = PromptReplay(database)
        self._running: set[str] = set()

    async def improve_persona(self, caller: Caller, id: str) -> AsyncGenerator[ImprovementEvent, None]:
        """Go on with a trial until all of it passes or its rounds are used; whatever refuses it is raised at first."""
        trial = await self._evaluations.get_evaluation(caller.tenant, id)
        reject_if_applied(trial)
        case = await self.build_case(caller, trial)
        for model in {trial.judge, case.replayed_prompt.participant.model}:
            await self._resolve_model(
                caller.tenant, model
            )  # a key that is missing is told before anything is paid
        async with self._model_tasks.within_budget(caller.account):
            pass
        with self._run_exclusively(id):
            trial = await self._evaluations.acquire_evaluation(caller.tenant, id, self._worker)
            try:
                yield ImprovementStarted(trial=trial)
                async with aclosing(self._run_rounds(case, trial)) as rounds:
                    async for event in rounds:
                        yield event
            finally:
                await retry_while_unavailable(
                    lambda: self._evaluations.release_evaluation(caller.tenant, id, self._worker)
                )

    async def build_case(self, caller: Caller, evaluation: Evaluation) -> ImprovementCase:
        """Put together what a trial is about; its persona must be as it was when it answered."""
        answered = await self._judge.find_answer(caller.tenant, evaluation.message)
        told = await self._prompt_replay.replay_prompt(caller.tenant, answered.message)
        role = await self._find_role(caller.tenant, told)
        return ImprovementCase(caller=caller, evaluated_answer=answered, replayed_prompt=told, role=role)

    async def _find_role(self, tenant: str, replayed_prompt: ReplayedPrompt) -> RewriteTarget:
        as_told = replayed_prompt.plan.personas.get(replayed_prompt.participant.id, "")
        if replayed_prompt.participant.persona is None or not as_told:
            return RewriteTarget(participant=replayed_prompt.participant)
        try:
            role = RewriteTarget(
                participant=replayed_prompt.participant,
                persona=await self._personas.get_persona(tenant, replayed_prompt.participant.persona),
            )
        except NotFound:
            raise Conflict(PERSONA_CHANGED_MESSAGE) from None
        if role.render_prompt(role.text) != as_told:
            raise Conflict(PERSONA_CHANGED_MESSAGE)
        return role

    def reject_if_running(self, id: str) -> None:
        """Refuse what cannot be done while this process improves a trial."""
        if id in self._running:
            raise Conflict(BEING_IMPROVED)

    @contextmanager
    def _run_exclusively(self, id: str) -> Iterator[None]:
        self.reject_if_running(id)
        self._running.add(id)
        try:
            yield
        finally:
            self._running.discard(id)

    async def _run_rounds(
        self, case: ImprovementCase, evaluation: Evaluation
    ) -> AsyncGenerator[ImprovementEvent, None]:
        try:
            while (over := improvement_outcome(evaluation)) is None:
                number = len(evaluation.rounds) + 1
                rewritten = await self._rewrite_persona(case, evaluation)
                new = rewritten.unwrap()
                yield PersonaRewritten(round=number, change=new.change, description=new.description)
                answer = await self._regenerate_answer(case, new.description)
                yield RoundAnswered(round=number, answer=answer.message.text)
                evaluation = await self._judge_round(case, evaluation, rewritten, answer)
                yield RoundEnded(number=number, round=evaluation.rounds[-1])
            yield ImprovementEnded(outcome=over, trial=evaluation)
        except MootError as error:  # such as a model that fails, or a budget that is spent meanwhile
            yield ImprovementEnded(outcome="failed", trial=evaluation, message=str(error))

    async def _rewrite_persona(
        self, case: ImprovementCase, evaluation: Evaluation
    ) -> StructuredResult[RewriteAnswer]:
        found = best_round(evaluation.rounds)
        text = found.description if found else case.role.text
        chain = await self._resolve_model(case.caller.tenant, evaluation.judge)
        place = await asyncio.to_thread(max_prompt_chars, chain)
        asking = rewrite_request(
            case.role,
            evaluation,
            case.evaluated_answer.question,
            case.evaluated_answer.message.content,
            place,
        )
        async with self._model_tasks.within_budget(case.caller.account):
            return await self._model_tasks.run_structured_task(
                case.payer, "improvement", chain, asking, RewriteAnswer, require_small_change(case.role, text)
            )

    async def _regenerate_answer(self, case: ImprovementCase, description: str) -> TurnEnded:
        """Answer the very same again, in the part as it was rewritten."""
        chain = await self._resolve_model(case.caller.tenant, case.replayed_prompt.participant.model)
        asking = case.replayed_prompt.build_request(case.role.render_prompt(description))
        async with self._model_tasks.within_budget(case.caller.account):
            ended = await self._model_tasks.stream_text_task(case.payer, "improvement", chain, asking)
        if ended.status != "completed":
            raise ProviderError(
                ended.fault or make_fault("bad_response", f"{ended.model} gave no whole answer.")
            )
        if case.evaluated_answer.message.script is None:
            return ended
        return replace(ended, message=Answer(text=extract_speech(ended.message.text)))

    async def _judge_round(
        self,
        case: ImprovementCase,
        evaluation: Evaluation,
        rewrite: StructuredResult[RewriteAnswer],
        answer: TurnEnded,
    ) -> Evaluation:
        words = answer.message.text
        told = await self._judge.judge_assertions(
            case.caller, case.evaluated_answer, words, evaluation.assertions, evaluation.judge
        )
        new = ImprovementRound(
            description=rewrite.unwrap().description,
            change=rewrite.unwrap().change,
            answer=words,
            verdicts=sort_verdicts(told.unwrap()),
            cost=sum_costs((rewrite.cost, answer.cost, told.cost)),
            created_at=time.time(),
        )
        return await retry_while_unavailable(
            lambda: self._evaluations.add_round(case.caller.tenant, evaluation.id, self._worker, new)
        )
