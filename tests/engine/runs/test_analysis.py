"""What is found out about a debate: asked once for the same, kept with what it cost, and never fatal."""

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
from moot.types.events import Agreed, AnalysisResult, BallotCast, LedgerMade, Notice, SummaryMade
from moot.types.participants import make_participants
from tests.api import debating
from tests.engine.tables import QUESTION, Recorded, Stage
from tests.engine.turns.test_runner import spoken

SAID = [
    QUESTION,
    spoken("alpha", debating.YES, "initial"),
    spoken("beta", debating.NO, "initial"),
    spoken("gamma", debating.PERHAPS, "initial"),
    spoken("gamma", debating.CONVINCED, "debate"),
]
TABLE = make_participants(("yes",) * 3)
ASKS: dict[CallPurpose, BuildTask] = {
    "gate": agreement_task,
    "summary": partial(debate_summary_task, participants=TABLE),
    "ledger": claims_task,
    "ranking": partial(vote_task, voter="alpha"),
}


class Priced(Recorded):
    """Every token costs a cent."""

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        return (usage.input + usage.output) / 100


def stage(script: Script | None = None, **more: object) -> Stage:
    provider = Priced({"yes": script or debating.TABLE["yes"]})
    return Stage("debate", "yes", "yes", "yes", said=SAID, provider=provider, **more)  # type: ignore[arg-type]


async def find(table: Stage, purpose: CallPurpose) -> AnalysisResult | None:
    return await table.table.run_analysis(purpose, table.table.plan.participants[0], ASKS[purpose])


@pytest.mark.parametrize(
    ("purpose", "kind"),
    [("gate", Agreed), ("summary", SummaryMade), ("ledger", LedgerMade), ("ranking", BallotCast)],
)
async def test_what_was_found_is_kept_with_its_price(purpose: CallPurpose, kind: type) -> None:
    table = stage()
    told = await find(table, purpose)
    (found,) = table.transcript.analysis_results
    assert told == found
    (charge,) = table.transcript.charges
    assert isinstance(found, kind)
    assert (charge.purpose, charge.participant, charge.model) == (purpose, "alpha", "yes")
    assert (found.model, found.usage, found.cost) == ("yes", charge.usage, charge.cost)
    assert charge.cost
    assert table.transcript.events == [found]
    assert table.steps == [f"find/{purpose}/0/alpha"]


@pytest.mark.parametrize("purpose", ASKS)
async def test_the_same_is_not_asked_twice(purpose: CallPurpose) -> None:
    table = stage()
    first = await find(table, purpose)
    assert first is not None
    assert await find(table, purpose) == first
    assert len(table.provider.asked) == len(table.transcript.charges) == len(table.transcript.events) == 1


async def test_when_more_was_said_it_is_asked_anew() -> None:
    table = stage()
    await find(table, "summary")
    table.transcript.messages.append(spoken("alpha", debating.STILL_YES, "debate"))
    await find(table, "summary")
    assert len(table.provider.asked) == 2
    assert len({found.basis for found in table.transcript.analysis_results}) == 2


async def test_what_cannot_be_used_is_asked_for_again_with_the_reason_and_then_told_of() -> None:
    table = stage(Script(answer="I would rather not."))
    assert await find(table, "summary") is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.kind == "missing"
    assert notice.message.startswith("There is no summary from yes. yes was asked twice and")
    assert table.transcript.analysis_results == []
    first, second = table.asked
    assert second[:-2] == first
    assert second[-2] == ("assistant", "I would rather not.")
    (charge,) = table.transcript.charges
    assert charge.usage.output == 2 * -(-len("I would rather not.") // 4), "both are paid"


@pytest.mark.parametrize(
    ("purpose", "words"), [("gate", "word on whether the answers agree"), ("ranking", "ballot")]
)
async def test_what_is_missing_is_named_in_plain_words(purpose: CallPurpose, words: str) -> None:
    table = stage(Script(answer="I would rather not."))
    assert await find(table, purpose) is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.message.startswith(f"There is no {words} from yes. ")


async def test_a_form_in_which_somebody_is_missing_is_asked_for_again() -> None:
    answers = {name: value for name, value in debating.SUMMARY.items() if name != "p3"}
    table = stage(Script(answer=json.dumps(answers), when={"cannot be used": json.dumps(debating.SUMMARY)}))
    assert await find(table, "summary") is not None
    assert len(table.provider.asked) == 2
    assert "missing required field `p3`" in table.asked[1][-1][-1]


async def test_a_call_that_fails_is_told_of_and_charged() -> None:
    table = stage(Script(answer="I would rather not.", fault="reset", chunk=2))
    assert await find(table, "ledger") is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.message.startswith("There is no ledger from yes. ")
    (charge,) = table.transcript.charges
    assert (charge.purpose, charge.usage.output > 0) == ("ledger", True)


async def test_without_a_key_nobody_is_asked_and_nothing_is_paid() -> None:
    table = stage(refused={"alpha": MissingKey("No key: store one.")})
    assert await find(table, "summary") is None
    (notice,) = table.transcript.events
    assert isinstance(notice, Notice)
    assert notice.message == "There is no summary from yes. No key: store one."
    assert (table.asked, table.transcript.charges) == ([], [])


async def test_nothing_is_asked_when_the_run_is_to_end() -> None:
    table = stage()
    table.stop.request_stop()
    assert await find(table, "summary") is None
    assert table.asked == []
    assert table.transcript.analysis_results == []
