import msgspec
import pytest
from msgspec.structs import replace

from moot.services.run_reports import RunReports
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import NOTICE_KEY_PREFIX
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.debate import Claim, DebateClaims, DebateSummary, RankedAnswer, Ranking, TableSummary
from moot.types.errors import NotFound
from moot.types.events import AgreementChecked, AnalysisResult, ClaimsExtracted, Notice, RankingMade, SummaryMade
from tests.support.accounts import ANNA, BERT, create_discussion
from tests.support.debates import (
    RunWriter,
    create_debate,
    make_instructions,
    make_lane,
    make_turn,
    prepare_leased_debate,
)
from tests.support.runs import create_run, lease_run
from tests.support.stores import make_stores


def make_summary_event(overview: str, seq: int) -> SummaryMade:
    cross = TableSummary(agreements=(), disagreements=(), convergence_summary="")
    made = DebateSummary(original_prompt="Why?", overview=overview, cross_model=cross, per_model=())
    return SummaryMade(cache_key=overview, summary=made, seq=seq)


def encode_by_cache_key(*results: AnalysisResult) -> dict[str, str]:
    return {one.cache_key: msgspec.json.encode(one).decode() for one in results}


async def test_report_of_new_debate_has_initial_lanes(database: Database) -> None:
    run, _ = await prepare_leased_debate(database)
    report = await RunReports(make_stores(database)).get_report(ANNA, run.id)
    assert (report.id, report.message, report.status, report.revision) == (run.id, run.message, "running", 0)
    assert [(one.participant, one.name, one.status, one.model) for one in report.lanes] == [
        ("alpha", "Alpha", "initial", "scripted/echo"),
        ("beta", "Beta", "initial", "scripted/echo"),
        ("gamma", "Gamma", "initial", "scripted/echo"),
    ]
    assert all(one.anchors == {"initial": run.message} for one in report.lanes)
    assert (report.summary, report.ranking, report.agreement) == (None, None, None)
    assert (report.claims, report.position_changes, report.usage, report.cost_usd, report.unpriced_calls) == (
        (),
        (),
        Usage(),
        0.0,
        0,
    )


async def test_report_contains_only_notices_of_whole_run(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    missing = Notice(kind="missing", message="The list of claims of a/b failed.", seq=1)
    hers = Notice(kind="fallback", message="Another model is asked.", participant="beta", seq=2)
    notices = {f"{NOTICE_KEY_PREFIX}{one.seq}": msgspec.json.encode(one).decode() for one in (missing, hers)}
    await RunWriter(database, lease).write_records(analysis_results=notices)
    assert (await RunReports(make_stores(database)).get_report(ANNA, run.id)).notices == (missing,)


async def test_report_of_other_modes_has_no_lanes(database: Database) -> None:
    await prepare_leased_debate(database)
    run = await create_run(database, await create_discussion(database), question="Why?")
    assert (await RunReports(make_stores(database)).get_report(ANNA, run.id)).lanes == ()


async def test_lane_anchors_name_first_message_of_each_stage(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    mine, hers = (
        make_instructions(lease, "alpha", "debate", "alpha"),
        make_instructions(lease, "beta", "debate", "beta"),
    )
    await RunWriter(database, lease).write_records([mine, hers, make_instructions(lease, "alpha", "synthesis", None)])
    report = await RunReports(make_stores(database)).get_report(ANNA, run.id)
    alpha, beta, gamma = report.lanes
    assert alpha.anchors == {"initial": run.message, "debate": mine.id}
    assert beta.anchors == {"initial": run.message, "debate": hers.id}
    assert gamma.anchors == {"initial": run.message}


async def test_lane_report_contains_its_error(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    await RunWriter(database, lease).write_records(lanes=[make_lane("beta", error="Too slow.", late=True)])
    beta = (await RunReports(make_stores(database)).get_report(ANNA, run.id)).lanes[1]
    assert (beta.status, beta.error, beta.late) == ("error", "Too slow.", True)


async def test_report_uses_newest_analysis_results(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    claims = (Claim(claim="So.", supporters=()),)
    ranked = Ranking(answers=(RankedAnswer(participant="alpha", points=1.0, votes=1),), votes={})
    found: list[AnalysisResult] = [
        make_summary_event("newer", seq=9),
        make_summary_event("older", seq=2),
        ClaimsExtracted(
            cache_key="l", claims=DebateClaims(claims=claims, position_changes=(), dropped_quotes=3), seq=3
        ),
        RankingMade(cache_key="r", ranking=ranked, seq=4),
        AgreementChecked(cache_key="a", agree=False, reason="No.", seq=5),
    ]
    await RunWriter(database, lease).write_records(analysis_results=encode_by_cache_key(*found))
    report = await RunReports(make_stores(database)).get_report(ANNA, run.id)
    assert report.summary is not None
    assert report.summary.overview == "newer"
    assert (report.claims, report.position_changes, report.ranking) == (claims, (), ranked)
    assert report.agreement is not None
    assert report.agreement.reason == "No."


async def test_report_sums_cost_and_counts_unpriced_calls(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    other = await create_run(database, await create_debate(database))
    priced = Charge(purpose="answer", model="a/b", usage=Usage(3, 4), cost_usd=0.25)
    more = Charge(purpose="summary", model="a/b", usage=Usage(1, 1), cost_usd=None)
    await RunWriter(database, lease).write_records(charges=[priced, more, replace(priced, id="charge_again")])
    await RunWriter(database, await lease_run(database, other.id)).write_records(
        charges=[replace(priced, id="charge_other")]
    )
    report = await RunReports(make_stores(database)).get_report(ANNA, run.id)
    assert (report.usage, report.cost_usd, report.unpriced_calls) == (Usage(7, 9), 0.5, 1)


async def test_lane_thread_contains_question_instructions_and_own_answers(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    instructions = make_instructions(lease, "alpha", "debate", "alpha")
    await RunWriter(database, lease).write_records(
        [
            make_turn(lease, "alpha"),
            make_turn(lease, "beta"),
            instructions,
            make_turn(lease, "alpha", "debate"),
            make_instructions(lease, "alpha", "synthesis", None),
            replace(make_turn(lease, "alpha", "synthesis"), thread=None),
        ]
    )
    thread = await RunReports(make_stores(database)).lane_thread(ANNA, run.id, "alpha")
    assert thread.lane.participant == "alpha"
    assert [(m.role, m.content) for m in thread.messages] == [
        ("user", "Why?"),
        ("assistant", "alpha in initial"),
        ("user", "For alpha"),
        ("assistant", "alpha in debate"),
    ]
    shown = await Discussions(database).list_messages(run.discussion, include_hidden=False)
    assert "For alpha" not in [message.content for message in shown]


async def test_reports_of_two_debates_in_one_discussion_are_separate(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    discussion = await Discussions(database).get_discussion(ANNA, run.discussion)
    again = await create_run(database, discussion, question="And now?")
    other = await lease_run(database, again.id)
    await RunWriter(database, lease).write_records(
        [make_turn(lease, "alpha")],
        [make_lane("alpha", error="x")],
        analysis_results=encode_by_cache_key(make_summary_event("one", 1)),
    )
    await RunWriter(database, other).write_records([make_turn(other, "alpha")], [make_lane("alpha", "debate")])
    first, second = [await RunReports(make_stores(database)).get_report(ANNA, id) for id in (run.id, again.id)]
    assert [one.lanes[0].status for one in (first, second)] == ["error", "debate"]
    assert (first.summary is None, second.summary is None) == (False, True)
    threads = [await RunReports(make_stores(database)).lane_thread(ANNA, id, "alpha") for id in (run.id, again.id)]
    assert [[m.content for m in one.messages] for one in threads] == [
        ["Why?", "alpha in initial"],
        ["And now?", "alpha in initial"],
    ]
    assert {m.run for m in threads[1].messages} == {again.id}


async def test_report_rejects_other_tenant_and_unknown_lane(database: Database) -> None:
    run, _ = await prepare_leased_debate(database)
    reports = RunReports(make_stores(database))
    for tenant, id in ((BERT, run.id), (ANNA, "run_none")):
        with pytest.raises(NotFound, match=id):
            await reports.get_report(tenant, id)
        with pytest.raises(NotFound, match=id):
            await reports.lane_thread(tenant, id, "alpha")
    with pytest.raises(NotFound, match="no lane 'omega'"):
        await reports.lane_thread(ANNA, run.id, "omega")
