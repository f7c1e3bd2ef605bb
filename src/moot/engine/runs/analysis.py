"""Analyses of a discussion, such as a ranking or an agreement check, made by a model with structured output.

Results are cached by key and committed with their charge. A failed analysis is a notice, never an error of the run.
"""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from moot.engine.turns.runner import RunContext
from moot.engine.turns.structured_output import complete_analysis
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.prompts.tasks.task import BuildTask
from moot.types.billing import CallPurpose, Charge
from moot.types.errors import UsageError
from moot.types.events import Notice
from moot.types.participants import Participant

PURPOSE_LABELS: Mapping[CallPurpose, str] = {
    "agreement": "agreement check",
    "claims": "list of claims",
    "director": "decision",
}


async def run_analysis(
    context: RunContext, purpose: CallPurpose, participant: Participant, build_task: BuildTask
) -> str:
    """Return the cache key of the result, or an empty string after a failure, which is committed as a notice."""
    transcript = context.transcript
    try:
        chain = await context.resolve_model(participant)
    except UsageError as error:
        return await _commit_missing(context, purpose, participant, str(error))
    task = build_task(transcript.messages, context.run, await asyncio.to_thread(max_prompt_chars, chain))
    if any(known.cache_key == task.cache_key for known in transcript.analysis_results):
        return task.cache_key
    answer = await complete_analysis(context.model_caller, chain, task, context.stop)
    charge = Charge(
        purpose=purpose, model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd, participant=participant.id
    )
    if answer.value is None:
        why = answer.fault.message if answer.fault else ""
        return await _commit_missing(context, purpose, participant, why, charge)
    result = task.to_result(answer.value)
    result = replace(result, model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd)
    await transcript.commit_event(result, charge=charge)
    return task.cache_key


async def _commit_missing(
    context: RunContext, purpose: CallPurpose, participant: Participant, why: str, charge: Charge | None = None
) -> str:
    why = "The run was stopped." if context.stop.reason is not None else why
    instead = " The rules decide instead." if purpose == "director" else ""
    if purpose == "ranking":
        failure = f"{participant.model}'s vote could not be read."
    else:
        failure = f"The {PURPOSE_LABELS.get(purpose, purpose)} of {participant.model} failed."
    message = f"{failure} {why}".strip() + instead
    await context.transcript.commit_event(Notice(kind="missing", message=message, charge=charge), charge=charge)
    return ""
