import msgspec

from moot.model.events import Agreed, BallotCast, Event, Finding, Notice, Recapped, TextDelta
from moot.store.appending import Entry
from moot.store.database import Database
from moot.store.events import Events
from moot.store.findings import findings_in, findings_of, notices_of, told_in
from tests.store.debating import Pen, debating, first_debate
from tests.store.running import claim, start

AGREED = Agreed(basis="x", agree=True, reason="Both say so.", seq=3, saved=0.5)
BALLOT = BallotCast(basis="y", participant="alpha", order=(("beta", "gamma"),), cost=None, seq=4)


def named(*found: Finding) -> dict[str, str]:
    return {one.basis: msgspec.json.encode(one).decode() for one in found}


async def test_what_was_found_comes_back_as_it_was(database: Database) -> None:
    run, held = await first_debate(database)
    assert await findings_of(database, run.id) == []
    await Pen(database, held).keep(findings=named(AGREED, BALLOT))
    assert sorted(await findings_of(database, run.id), key=lambda one: one.seq) == [AGREED, BALLOT]


async def test_what_rests_on_the_same_is_there_once_and_the_first_counts(database: Database) -> None:
    run, held = await first_debate(database)
    pen = Pen(database, held)
    await pen.keep(findings=named(AGREED))
    await pen.keep(findings=named(msgspec.structs.replace(AGREED, reason="No.", seq=9)))
    assert await findings_of(database, run.id) == [AGREED]


async def test_each_run_has_its_own(database: Database) -> None:
    run, held = await first_debate(database)
    other = await start(database, await debating(database))
    await Pen(database, held).keep(findings=named(AGREED))
    await Pen(database, await claim(database, other.id)).keep(findings=named(BALLOT))
    assert await findings_of(database, run.id) == [AGREED]
    assert await findings_of(database, other.id) == [BALLOT]
    both = await findings_in(database, [run.id, other.id])
    assert sorted(both, key=lambda one: one.seq) == [AGREED, BALLOT]


async def test_what_the_table_was_told_of_itself_is_found_among_all_that_was_said(database: Database) -> None:
    run, held = await first_debate(database)
    cap = Notice(kind="cap", message="The debate is left out.", seq=1)
    waiting = Notice(kind="waiting", message="Busy.", participant="alpha", seq=2)
    quoting = TextDelta(participant="alpha", stage="initial", round=0, text='{"type":"notice",', seq=3)
    missing = Notice(kind="missing", message="There is no ledger.", seq=4)
    events: list[Event] = [cap, waiting, quoting, missing]
    bodies = [msgspec.json.encode(one).decode() for one in events]
    await Events(database).write([Entry(held, 1, bodies)])
    assert await notices_of(database, run.id) == [cap, missing]
    recap = Recapped(
        basis="z", message="msg_1", title="Chairs", discussion="dis_1", recap="rec_1", cost=None, seq=5
    )
    await Pen(database, held).keep(findings=named(AGREED, recap))
    assert await told_in(database, [run.id]) == [cap, waiting, missing, recap]
