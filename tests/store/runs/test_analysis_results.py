import msgspec

from moot.store.database import Database
from moot.store.runs.event_log import NOTICE_KEY_PREFIX, load_results_and_notices
from moot.types.events import AgreementChecked, AnalysisResult, Notice, VoteCast
from tests.support.debates import RunWriter, create_debate, prepare_leased_debate
from tests.support.runs import create_run, lease_run

AGREEMENT = AgreementChecked(cache_key="x", agree=True, reason="Both say so.", seq=3, saved_usd=0.5)
VOTE = VoteCast(cache_key="y", participant="alpha", ranking=(("beta", "gamma"),), cost_usd=None, seq=4)


def encode_by_cache_key(*results: AnalysisResult) -> dict[str, str]:
    return {one.cache_key: msgspec.json.encode(one).decode() for one in results}


async def test_analysis_results_round_trip(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    assert await load_results_and_notices(database, [run.id]) == []
    await RunWriter(database, lease).write_records(analysis_results=encode_by_cache_key(AGREEMENT, VOTE))
    assert sorted(await load_results_and_notices(database, [run.id]), key=lambda one: one.seq) == [
        AGREEMENT,
        VOTE,
    ]


async def test_result_with_same_cache_key_is_stored_once(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    writer = RunWriter(database, lease)
    await writer.write_records(analysis_results=encode_by_cache_key(AGREEMENT))
    await writer.write_records(
        analysis_results=encode_by_cache_key(msgspec.structs.replace(AGREEMENT, reason="No.", seq=9))
    )
    assert await load_results_and_notices(database, [run.id]) == [AGREEMENT]


async def test_analysis_results_belong_to_their_run(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    other = await create_run(database, await create_debate(database))
    await RunWriter(database, lease).write_records(analysis_results=encode_by_cache_key(AGREEMENT))
    await RunWriter(database, await lease_run(database, other.id)).write_records(
        analysis_results=encode_by_cache_key(VOTE)
    )
    assert await load_results_and_notices(database, [run.id]) == [AGREEMENT]
    assert await load_results_and_notices(database, [other.id]) == [VOTE]
    both = await load_results_and_notices(database, [run.id, other.id])
    assert sorted(both, key=lambda one: one.seq) == [AGREEMENT, VOTE]


async def test_results_and_notices_are_ordered_by_seq_and_filtered_by_type(
    database: Database,
) -> None:
    run, lease = await prepare_leased_debate(database)
    max_cost = Notice(kind="max_cost", message="The debate is left out.", seq=1)
    waiting = Notice(kind="waiting", message="Busy.", participant="alpha", seq=12)
    notices = {f"{NOTICE_KEY_PREFIX}{one.seq}": msgspec.json.encode(one).decode() for one in (waiting, max_cost)}
    await RunWriter(database, lease).write_records(analysis_results={**notices, **encode_by_cache_key(AGREEMENT)})
    assert await load_results_and_notices(database, [run.id]) == [max_cost, AGREEMENT, waiting]
    assert await load_results_and_notices(database, [run.id], AgreementChecked) == [AGREEMENT]
    assert await load_results_and_notices(database, [run.id], Notice, VoteCast) == [max_cost, waiting]
    assert await load_results_and_notices(database, [run.id], VoteCast) == []
