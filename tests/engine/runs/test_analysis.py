"""Analyses of a debate: requested once, stored with their cost, and never fatal."""

import json
from functools import partial

import pytest

from moot.prompts.tasks.claims import claims_task
from moot.prompts.tasks.debate_summary import agreement_task, debate_summary_task
from moot.prompts.tasks.ranking import vote_task
from moot.prompts.tasks.task import BuildTask
from moot.providers.scripted.scripts import Script
from moot.types.billing import CallPurpose
from moot.types.chunks import Usage
from moot.types.errors import MissingKey
from moot.types.events import AgreementChecked, AnalysisResult, ClaimsExtracted, Notice, SummaryMade, VoteCast
from moot.types.participants import make_participants
from tests.engine.turns.test_runner import stored_turn
from tests.support import debate_scripts
from tests.support.table_harness import QUESTION, RecordingProvider, TableHarness

MESSAGES = [
    QUESTION,
    stored_turn("alpha", debate_scripts.YES, "initial"),
    stored_turn("beta", debate_scripts.NO, "initial"),
    stored_turn("gamma", debate_scripts.PERHAPS, "initial"),
    stored_turn("gamma", debate_scripts.CHANGED_TO_YES, "debate"),
]
PARTICIPANTS = make_participants(("yes",) * 3)
TASK_BUILDERS: dict[CallPurpose, BuildTask] = {
    "agreement": agreement_task,
    "summary": partial(debate_summary_task, participants=PARTICIPANTS),
    "claims": claims_task,
    "ranking": partial(vote_task, voter="alpha"),
}


class PricedProvider(RecordingProvider):
    """Every token costs a cent."""

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        return (usage.input + usage.output) / 100


def create_debate(script: Script | None = None, **more: object) -> TableHarness:
    provider = PricedProvider({"yes": script or debate_scripts.DEBATER_SCRIPTS["yes"]})
    return TableHarness("debate", "yes", "yes", "yes", messages=MESSAGES, provider=provider, **more)  # type: ignore[arg-type]


async def run_analysis(harness: TableHarness, purpose: CallPurpose) -> AnalysisResult | None:
    return await harness.table.run_analysis(purpose, harness.table.plan.participants[0], TASK_BUILDERS[purpose])


@pytest.mark.parametrize(
    ("purpose", "kind", "step"),
    [
        ("agreement", AgreementChecked, "gate"),
        ("summary", SummaryMade, "summary"),
        ("claims", ClaimsExtracted, "ledger"),
        ("ranking", VoteCast, "ranking"),
    ],
)
async def test_analysis_result_is_stored_with_its_cost(purpose: CallPurpose, kind: type, step: str) -> None:
    table = create_debate()
    result = await run_analysis(table, purpose)
    (stored,) = table.transcript.analysis_results
    assert result == stored
    (charge,) = table.transcript.charges
    assert isinstance(stored, kind)
    assert (charge.purpose, charge.participant, charge.model) == (purpose, "alpha", "yes")
    assert (stored.model, stored.usage, stored.cost_usd) == ("yes", charge.usage, charge.cost_usd)
    assert charge.cost_usd
    assert table.transcript.events == [stored]
    assert table.steps == [f"find/{step}/0/alpha"], "stored steps keep their names"


@pytest.mark.parametrize("purpose", TASK_BUILDERS)
async def test_analysis_of_same_messages_is_not_requested_twice(purpose: CallPurpose) -> None:
    table = create_debate()
    first = await run_analysis(table, purpose)
    assert first is not None
    assert await run_analysis(table, purpose) == first
    assert len(table.provider.requests) == len(table.transcript.charges) == len(table.transcript.events) == 1


async def test_analysis_is_requested_again_when_messages_were_added() -> None:
    table = create_debate()
    await run_analysis(table, "summary")
    table.transcript.messages.append(stored_turn("alpha", debate_scripts.STILL_YES, "debate"))
    await run_analysis(table, "summary")
    assert len(table.provider.requests) == 2
    assert len({found.cache_key for found in table.transcript.analysis_results}) == 2


async def test_unusable_answer_is_requested_again_with_reason_then_reported() -> None:
    table = create_debate(Script(answer="I would rather not."))
    assert await run_analysis(table, "summary") is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.kind == "missing"
    assert notice.message.startswith("The summary of yes failed. yes was asked twice and")
    assert table.transcript.analysis_results == []
    first, second = table.sent_messages
    assert second[:-2] == first
    assert second[-2] == ("assistant", "I would rather not.")
    (charge,) = table.transcript.charges
    assert charge.usage.output == 2 * -(-len("I would rather not.") // 4), "both are paid"


@pytest.mark.parametrize(
    ("purpose", "words"),
    [
        ("agreement", "The agreement check of yes failed. "),
        ("claims", "The list of claims of yes failed. "),
        ("ranking", "yes's vote could not be read. "),
    ],
)
async def test_missing_analysis_is_named_in_notice(purpose: CallPurpose, words: str) -> None:
    table = create_debate(Script(answer="I would rather not."))
    assert await run_analysis(table, purpose) is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.message.startswith(words)


async def test_answer_with_missing_participant_is_requested_again() -> None:
    answers = {name: value for name, value in debate_scripts.SUMMARY.items() if name != "p3"}
    table = create_debate(
        Script(answer=json.dumps(answers), answer_if_contains={"cannot be used": json.dumps(debate_scripts.SUMMARY)})
    )
    assert await run_analysis(table, "summary") is not None
    assert len(table.provider.requests) == 2
    assert "missing required field `p3`" in table.sent_messages[1][-1][-1]


async def test_failed_analysis_call_is_reported_and_charged() -> None:
    table = create_debate(Script(answer="I would rather not.", fault="reset", chunk_chars=2))
    assert await run_analysis(table, "claims") is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.message.startswith("The list of claims of yes failed. ")
    (charge,) = table.transcript.charges
    assert (charge.purpose, charge.usage.output > 0) == ("claims", True)


async def test_analysis_without_key_makes_no_call_and_no_charge() -> None:
    table = create_debate(model_errors={"alpha": MissingKey("No key: store one.")})
    assert await run_analysis(table, "summary") is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.message == "The summary of yes failed. No key: store one."
    assert (table.sent_messages, table.transcript.charges) == ([], [])


async def test_analysis_makes_no_call_when_run_is_stopped() -> None:
    table = create_debate()
    table.stop.request_stop()
    assert await run_analysis(table, "summary") is None
    assert table.sent_messages == []
    assert table.transcript.analysis_results == []
