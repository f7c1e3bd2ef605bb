"""Analyses of a discussion, such as a ranking or an agreement check, made by a model with structured output.

Results are cached by key and committed with their charge. A failed analysis is a notice, never an error of the run.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.runner import ResolveParticipantModel, RunTranscript
from moot.engine.turns.structured_output import StructuredResult, complete_analysis
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.prompts.tasks.task import BuildTask
from moot.streaming.cancellation import StopSignal
from moot.types.billing import CallPurpose, Charge
from moot.types.errors import UsageError
from moot.types.events import Notice
from moot.types.participants import Participant

PURPOSE_LABELS: Mapping[CallPurpose, str] = {
    "agreement": "agreement check",
    "claims": "list of claims",
    "director": "decision",
}


class AnalysisRunner:
    def __init__(
        self,
        run: str,
        transcript: RunTranscript,
        resolve_model: ResolveParticipantModel,
        model_caller: ModelCaller,
        stop: StopSignal,
    ) -> None:
        self._run = run
        self._transcript = transcript
        self._resolve_model = resolve_model
        self._model_caller = model_caller
        self._stop = stop

    async def run_analysis(self, purpose: CallPurpose, participant: Participant, build_task: BuildTask) -> str:
        """Return the cache key of the result, or an empty string after a failure, which is committed as a notice."""
        try:
            chain = await self._resolve_model(participant)
        except UsageError as error:
            return await self._commit_missing(purpose, participant, str(error))
        task = build_task(self._transcript.messages, self._run, await asyncio.to_thread(max_prompt_chars, chain))
        if any(known.cache_key == task.cache_key for known in self._transcript.analysis_results):
            return task.cache_key
        answer = await complete_analysis(self._model_caller, chain, task, self._stop)
        charge = _analysis_charge(purpose, participant, answer)
        if answer.value is None:
            return await self._commit_missing(
                purpose, participant, answer.fault.message if answer.fault else "", charge
            )
        result = task.to_result(answer.value)
        result = replace(result, model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd)
        await self._transcript.commit_event(result, charges=[charge])
        return task.cache_key

    async def _commit_missing(
        self, purpose: CallPurpose, participant: Participant, why: str, charge: Charge | None = None
    ) -> str:
        why = "The run was stopped." if self._stop.reason is not None else why
        instead = " The rules decide instead." if purpose == "director" else ""
        if purpose == "ranking":
            failure = f"{participant.model}'s vote could not be read."
        else:
            failure = f"The {PURPOSE_LABELS.get(purpose, purpose)} of {participant.model} failed."
        message = f"{failure} {why}".strip() + instead
        charges = [charge] if charge else []
        await self._transcript.commit_event(Notice(kind="missing", message=message, charge=charge), charges=charges)
        return ""


def _analysis_charge(purpose: CallPurpose, participant: Participant, answer: StructuredResult[Any]) -> Charge:
    return Charge(
        purpose=purpose, model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd, participant=participant.id
    )
