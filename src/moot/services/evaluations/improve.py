"""Persona improver: rewrites a persona, answers again and evaluates the answer, in rounds. Applies the best round.

Every completed round is stored. If the client disconnects, a new request continues with the stored rounds.
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
from moot.prompts.tasks.evaluation import (
    RewriteAnswer,
    RewriteTarget,
    require_small_change,
    rewrite_request,
    sort_verdicts,
)
from moot.prompts.tokens import truncate_text
from moot.services.evaluations.judge import EvaluatedAnswer, Judge
from moot.services.model_tasks import ModelTasks
from moot.services.prompt_replay import PromptReplay, ReplayedPrompt
from moot.store.library.evaluations import BEING_IMPROVED, reject_if_applied
from moot.store.stores import Stores
from moot.streaming.lesson_turn import extract_speech
from moot.types.accounts import Caller
from moot.types.billing import Payer, sum_costs
from moot.types.errors import Conflict, MootError, NotFound, ProviderError
from moot.types.evaluations import (
    AppliedImprovement,
    Evaluation,
    ImprovementOutcome,
    ImprovementRound,
    best_round,
    improvement_outcome,
)
from moot.types.events import Answer, TurnEnded
from moot.types.faults import make_fault
from moot.types.personas import PersonaDraft

MAX_NAME_CHARS = 60
PERSONA_CHANGED_MESSAGE = "The persona was changed or deleted after this answer. Evaluate a new answer."


class ImprovementStarted(Struct, frozen=True, kw_only=True, tag_field="type", tag="improving"):
    """First event of the stream, with the stored rounds."""

    evaluation: Evaluation


class PersonaRewritten(Struct, frozen=True, kw_only=True, tag_field="type", tag="rewritten"):
    """The model wrote a new persona text; the answer to it follows."""

    round: int
    change: str
    description: str


class RoundAnswered(Struct, frozen=True, kw_only=True, tag_field="type", tag="answered"):
    round: int
    answer: str


class RoundEnded(Struct, frozen=True, kw_only=True, tag_field="type", tag="round_ended"):
    """A round is evaluated and stored."""

    number: int  # from 1
    round: ImprovementRound


class ImprovementEnded(Struct, frozen=True, kw_only=True, tag_field="type", tag="done"):
    """Last event of the stream."""

    outcome: ImprovementOutcome
    evaluation: Evaluation
    message: str = ""  # the error, if the outcome is `failed`


ImprovementEvent = ImprovementStarted | PersonaRewritten | RoundAnswered | RoundEnded | ImprovementEnded


class ImprovementCase(Struct, frozen=True, kw_only=True):
    """Input of an improvement. It does not change between rounds."""

    caller: Caller
    evaluated_answer: EvaluatedAnswer  # the original answer
    replayed_prompt: ReplayedPrompt  # the request that led to it
    role: RewriteTarget  # the persona text to rewrite

    @property
    def payer(self) -> Payer:
        return Payer(
            tenant=self.caller.tenant, account=self.caller.account, discussion=self.evaluated_answer.message.discussion
        )


class PersonaImprover:
    def __init__(self, stores: Stores, judge: Judge, resolve_model: ResolveModel, model_tasks: ModelTasks) -> None:
        self._worker = stores.worker_id
        self._judge = judge
        self._personas = stores.personas
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks
        self._evaluations = stores.evaluations
        self._discussions = stores.discussions
        self._applied_improvements = stores.applied_improvements
        self._prompt_replay = PromptReplay(stores)
        self._running: set[str] = set()  # ids of evaluations that this process improves

    async def improve_persona(self, caller: Caller, id: str) -> AsyncGenerator[ImprovementEvent, None]:
        """Run rounds until all assertions pass or no rounds are left.

        Errors that reject the request are raised before the first event. Later ones are in the last event.
        """
        evaluation = await self._evaluations.get_evaluation(caller.tenant, id)
        reject_if_applied(evaluation)
        case = await self._build_case(caller, evaluation)
        # Reject a missing key and a spent budget before the first paid request.
        for model in {evaluation.judge, case.replayed_prompt.participant.model}:
            await self._resolve_model(caller.tenant, model)
        async with self._model_tasks.within_budget(caller.account):
            pass
        # The database lock is per worker. The local lock also excludes a second request to this process.
        with self._run_exclusively(id):
            evaluation = await self._evaluations.acquire_evaluation(caller.tenant, id, self._worker)
            try:
                yield ImprovementStarted(evaluation=evaluation)
                async with aclosing(self._run_rounds(case, evaluation)) as rounds:
                    async for event in rounds:
                        yield event
            finally:
                await self._evaluations.release_evaluation(caller.tenant, id, self._worker)

    async def apply_improvement(self, caller: Caller, id: str) -> Evaluation:
        """Apply the best round. Idempotent. Raises Conflict if no round is better than the original answer."""
        evaluation = await self._evaluations.get_evaluation(caller.tenant, id)
        if evaluation.applied_improvement is not None:
            return evaluation
        self._reject_if_running(id)
        found = best_round(evaluation.rounds)
        if found is None:
            raise Conflict("No round of this evaluation is better than the original answer. Improve it first.")
        case = await self._build_case(caller, evaluation)
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

        `previous_persona` stays None for a participant that uses the default persona of the discussion.
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

    async def _build_case(self, caller: Caller, evaluation: Evaluation) -> ImprovementCase:
        """Raises Conflict if the persona was changed after the answer."""
        answer = await self._judge.find_answer(caller.tenant, evaluation.message)
        prompt = await self._prompt_replay.replay_prompt(caller.tenant, answer.message)
        role = await self._find_role(caller.tenant, prompt)
        return ImprovementCase(caller=caller, evaluated_answer=answer, replayed_prompt=prompt, role=role)

    async def _find_role(self, tenant: str, replayed_prompt: ReplayedPrompt) -> RewriteTarget:
        original_prompt = replayed_prompt.plan.personas.get(replayed_prompt.participant.id, "")
        if replayed_prompt.participant.persona is None or not original_prompt:
            return RewriteTarget(participant=replayed_prompt.participant)
        try:
            role = RewriteTarget(
                participant=replayed_prompt.participant,
                persona=await self._personas.get_persona(tenant, replayed_prompt.participant.persona),
            )
        except NotFound:
            raise Conflict(PERSONA_CHANGED_MESSAGE) from None
        if role.render_prompt(role.text) != original_prompt:
            raise Conflict(PERSONA_CHANGED_MESSAGE)
        return role

    def _reject_if_running(self, id: str) -> None:
        """Raise Conflict while this process improves the evaluation."""
        if id in self._running:
            raise Conflict(BEING_IMPROVED)

    @contextmanager
    def _run_exclusively(self, id: str) -> Iterator[None]:
        self._reject_if_running(id)
        self._running.add(id)
        try:
            yield
        finally:
            self._running.discard(id)

    async def _run_rounds(
        self, case: ImprovementCase, evaluation: Evaluation
    ) -> AsyncGenerator[ImprovementEvent, None]:
        try:
            while (outcome := improvement_outcome(evaluation)) is None:
                number = len(evaluation.rounds) + 1
                rewrite = await self._rewrite_persona(case, evaluation)
                new = rewrite.unwrap()
                yield PersonaRewritten(round=number, change=new.change, description=new.description)
                answer = await self._regenerate_answer(case, new.description)
                yield RoundAnswered(round=number, answer=answer.message.text)
                evaluation = await self._judge_round(case, evaluation, rewrite, answer)
                yield RoundEnded(number=number, round=evaluation.rounds[-1])
            yield ImprovementEnded(outcome=outcome, evaluation=evaluation)
        except MootError as error:  # e.g. the model failed, or the budget is spent
            yield ImprovementEnded(outcome="failed", evaluation=evaluation, message=str(error))

    async def _rewrite_persona(self, case: ImprovementCase, evaluation: Evaluation) -> StructuredResult[RewriteAnswer]:
        found = best_round(evaluation.rounds)
        text = found.description if found else case.role.text
        chain = await self._resolve_model(case.caller.tenant, evaluation.judge)
        max_chars = await asyncio.to_thread(max_prompt_chars, chain)
        request = rewrite_request(
            case.role,
            evaluation,
            case.evaluated_answer.question,
            case.evaluated_answer.message.content,
            max_chars,
        )
        async with self._model_tasks.within_budget(case.caller.account):
            return await self._model_tasks.run_structured_task(
                case.payer, "improvement", chain, request, RewriteAnswer, require_small_change(case.role, text)
            )

    async def _regenerate_answer(self, case: ImprovementCase, description: str) -> TurnEnded:
        """Answer the original request with the rewritten persona. Raises ProviderError on an incomplete answer."""
        chain = await self._resolve_model(case.caller.tenant, case.replayed_prompt.participant.model)
        request = case.replayed_prompt.build_request(case.role.render_prompt(description))
        async with self._model_tasks.within_budget(case.caller.account):
            ended = await self._model_tasks.stream_text_task(case.payer, "improvement", chain, request)
        if ended.status != "completed":
            raise ProviderError(
                ended.fault or make_fault("bad_response", f"The answer of {ended.model} is incomplete.")
            )
        if case.evaluated_answer.message.lesson_items is None:
            return ended
        # A lesson turn is JSON; assertions are about the spoken text.
        return replace(ended, message=Answer(text=extract_speech(ended.message.text)))

    async def _judge_round(
        self, case: ImprovementCase, evaluation: Evaluation, rewrite: StructuredResult[RewriteAnswer], answer: TurnEnded
    ) -> Evaluation:
        text = answer.message.text
        judgement = await self._judge.judge_assertions(
            case.caller, case.evaluated_answer, text, evaluation.assertions, evaluation.judge
        )
        new = ImprovementRound(
            description=rewrite.unwrap().description,
            change=rewrite.unwrap().change,
            answer=text,
            verdicts=sort_verdicts(judgement.unwrap()),
            cost_usd=sum_costs((rewrite.cost_usd, answer.cost_usd, judgement.cost_usd)),
            created_at=time.time(),
        )
        return await self._evaluations.add_round(case.caller.tenant, evaluation.id, self._worker, new)


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
