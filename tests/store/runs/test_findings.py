import msgspec

from moot.store.database import Database
from moot.store.runs.findings import NOTICE_KEY_PREFIX, load_results_and_notices
from moot.types.events import Agreed, AnalysisResult, BallotCast, Notice
from tests.store.debating import Pen, debating, first_debate
from tests.store.running import claim, start

AGREED = Agreed(basis="x", agree=True, reason="Both say so.", seq=3, saved=0.5)
BALLOT = BallotCast(basis="y", participant="alpha", order=(("beta", "gamma"),), cost=None, seq=4)


def named(*found: AnalysisResult) -> dict[str, str]:
    return {one.basis: msgspec.json.encode(one).decode() for one in found}


async def test_what_was_found_comes_back_as_it_was(database: Database) -> None:
    run, held = await first_debate(database)
    assert await load_results_and_notices(database, [run.id]) == []
    await Pen(database, held).keep(analysis_results=named(AGREED, BALLOT))
    assert sorted(await load_results_and_notices(database, [run.id]), key=lambda one: one.seq) == [
        AGREED,
        BALLOT,
    ]


async def test_what_rests_on_the_same_is_there_once_and_the_first_counts(database: Database) -> None:
    run, held = await first_debate(database)
    pen = Pen(database, held)
    await pen.keep(analysis_results=named(AGREED))
    await pen.keep(analysis_results=named(msgspec.structs.replace(AGREED, reason="No.", seq=9)))
    assert await load_results_and_notices(database, [run.id]) == [AGREED]


async def test_each_run_has_its_own(database: Database) -> None:
    run, held = await first_debate(database)
    other = await start(database, await debating(database))
    await Pen(database, held).keep(analysis_results=named(AGREED))
    await Pen(database, await claim(database, other.id)).keep(analysis_results=named(BALLOT))
    assert await load_results_and_notices(database, [run.id]) == [AGREED]
    assert await load_results_and_notices(database, [other.id]) == [BALLOT]
    both = await load_results_and_notices(database, [run.id, other.id])
    assert sorted(both, key=lambda one: one.seq) == [AGREED, BALLOT]


async def test_what_was_told_comes_with_what_was_found_in_the_order_of_their_numbers(
    database: Database,
) -> None:
    run, held = await first_debate(database)
    cap = Notice(kind="cap", message="The debate is left out.", seq=1)
    waiting = Notice(kind="waiting", message="Busy.", participant="alpha", seq=12)
    notices = {f"{NOTICE_KEY_PREFIX}{one.seq}": msgspec.json.encode(one).decode() for one in (waiting, cap)}
    await Pen(database, held).keep(analysis_results={**notices, **named(AGREED)})
    assert await load_results_and_notices(database, [run.id]) == [cap, AGREED, waiting]
    assert await load_results_and_notices(database, [run.id], Agreed) == [AGREED]
    assert await load_results_and_notices(database, [run.id], Notice, BallotCast) == [cap, waiting]
    assert await load_results_and_notices(database, [run.id], BallotCast) == []
