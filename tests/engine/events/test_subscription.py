import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from moot.engine.events import hub as feeding
from moot.engine.events.discussion_changes import DiscussionChanges
from moot.engine.events.hub import EventHub
from moot.engine.events.subscription import DiscussionSubscription
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, notify_discussion_change
from moot.store.runs import event_log as stored
from moot.store.runs.approvals import Approvals
from moot.store.runs.event_insert import EventLogEntry, RunEnding, decode_signal
from moot.store.runs.event_log import EventLog, RunProgress
from moot.store.schema import run
from moot.types.discussions import Discussion, Run
from moot.types.errors import NotFound
from moot.types.participants import make_participants
from tests.databases import ON_BOTH_DATABASES
from tests.store.hearing import eventually, listening
from tests.store.people import ANNA, BERT, discuss, settle
from tests.store.running import WORKER, claim, employ, start

DELTA = '{"type":"text_delta","run":"%s","seq":%d}'
END = '{"type":"run_ended","run":"%s","seq":%d}'
TABLE = Discussion(
    id="dis_1",
    title="A table",
    status="active",
    mode="single",
    participants=make_participants(("scripted/echo",)),
    rounds=2,
    persona=None,
    project=None,
    language="en",
    model=None,
    summary=None,
    usefulness=None,
    exported_at=None,
    created_at=0.0,
    updated_at=0.0,
)


class Reader:
    """Reads a discussion, and notes what came, and the numbers of each run's events in their order."""

    def __init__(self, following: DiscussionSubscription) -> None:
        self.types: list[str] = []
        self.got: defaultdict[str, list[int]] = defaultdict(list)
        self.frames: list[bytes] = []
        self.task = asyncio.create_task(self._read(following))

    async def _read(self, following: DiscussionSubscription) -> None:
        async with aclosing(following.stream_frames()) as frames:
            async for some in frames:
                self.frames += some
                for frame in some:
                    told = msgspec.json.decode(frame.partition(b"data: ")[2])
                    self.types.append(told["type"])
                    if "seq" in told:
                        assert frame.startswith(b"id: %d\n" % told["seq"])
                        self.got[told["run"]].append(told["seq"])

    def has(self, **upto: tuple[int, int]) -> bool:
        """Tell whether what came of each run is what lies after one number up to another."""
        assert not self.task.done(), self.task
        return self.got == {id: list(range(after + 1, last + 1)) for id, (after, last) in upto.items()}

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Shelf(EventLog):
    """The logs of a discussion's runs in memory; what is returned is how it was when somebody asked, a while ago."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[str]] = {}
        self.live: set[str] = set()
        self.slowness = 0

    async def _slowly(self) -> None:
        for _ in range(self.slowness):
            await asyncio.sleep(0)

    async def read_events(self, id: str, after: int) -> list[tuple[int, str]]:
        page = list(enumerate(self.bodies[id], 1))[after : after + stored.EVENTS_PER_PAGE]
        await self._slowly()
        return page

    async def newest_seqs(self, runs: Sequence[str]) -> dict[str, int]:
        return {id: len(self.bodies[id]) for id in runs}

    def read_signal(self, signal: str) -> Iterator[tuple[str, int]]:
        return decode_signal("we", signal)

    def stand(self) -> dict[str, RunProgress]:
        return {id: RunProgress(id in self.live, len(bodies)) for id, bodies in self.bodies.items()}

    async def discussion_progress(self, tenant: str, discussion: str) -> dict[str, RunProgress]:
        assert (tenant, discussion) == (ANNA, TABLE.id)
        found = self.stand()
        await self._slowly()
        return found


class OneTable(Discussions):
    """A single discussion; which of its runs are live is asked of the shelf."""

    def __init__(self) -> None:
        self.is_there = True

    async def get_discussion(self, tenant: str, id: str) -> Discussion:
        if not self.is_there or id != TABLE.id:
            raise NotFound("gone")
        return TABLE

    async def live_runs(self, tenant: str, discussion_id: str | None = None) -> tuple[Run, ...]:
        return ()


class Unasked(Approvals):
    def __init__(self) -> None: ...

    async def runs_awaiting_approval(self, runs: Collection[str]) -> tuple[str, ...]:
        return ()


class Room:
    """A discussion in memory in which runs begin, say something, end, and are tried again, with readers around it."""

    def __init__(self, slowness: int = 0) -> None:
        self.shelf = Shelf()
        self.shelf.slowness = slowness
        self.feeds = EventHub(self.shelf)
        self.discussions = OneTable()
        self.changes = DiscussionChanges(self.discussions, Unasked())

    def begin(self) -> str:
        id = f"run_{len(self.shelf.bodies)}"
        self.shelf.bodies[id] = []
        self.again(id)
        return id

    def again(self, id: str) -> None:
        self.shelf.live.add(id)
        self.changed()

    def changed(self) -> None:
        self.changes.on_notify(f"{ANNA} {TABLE.id}")

    def add(self, id: str, count: int = 1, how: str = "here", body: str = DELTA) -> None:
        first = len(self.shelf.bodies[id]) + 1
        new = [body % (id, number) for number in range(first, first + count)]
        self.shelf.bodies[id] += new
        if how == "here":
            self.feeds.publish(id, first, new)
        else:
            self.feeds.on_notify(f"them,{id}:{first + count - 1}")

    def end(self, id: str, how: str = "here") -> None:
        self.add(id, 1, how, END)
        self.shelf.live.discard(id)
        self.changed()

    def reader(self, found: Mapping[str, RunProgress], after: Mapping[str, int] = {}) -> Reader:
        following = DiscussionSubscription(
            self.changes,
            self.shelf,
            self.feeds,
            tenant=ANNA,
            discussion=TABLE.id,
            progress=found,
            after=after,
        )
        return Reader(following)

    @asynccontextmanager
    async def reading(self, **after: int) -> AsyncIterator[Reader]:
        """Let somebody read, from when it was told what goes on."""
        reader = self.reader(self.shelf.stand(), after)
        try:
            await eventually(lambda: "activity" in reader.types)
            yield reader
        finally:
            await reader.leave()


async def test_what_goes_on_is_told_first_and_live_runs_from_their_start() -> None:
    room = Room()
    over, live = room.begin(), room.begin()
    room.add(over, 3)
    room.end(over)
    room.add(live, 2)
    async with room.reading() as reader:
        await eventually(lambda: reader.has(run_1=(0, 2)))
        assert reader.types[0] == "activity"
        room.add(live)
        await eventually(lambda: reader.has(run_1=(0, 3)))


async def test_a_run_goes_on_after_the_number_that_is_named_and_one_that_has_ended_comes_to_its_end() -> None:
    room = Room()
    for _ in range(3):
        room.add(room.begin(), 5)
    room.end("run_0")
    room.end("run_1")
    async with room.reading(run_0=2, run_1=6, run_2=4) as reader:
        await eventually(lambda: reader.has(run_0=(2, 6), run_2=(4, 5)))


async def test_runs_that_begin_later_come_in_the_same_stream_side_by_side() -> None:
    room = Room()
    async with room.reading() as reader:
        one, other = room.begin(), room.begin()
        for number in range(1, 4):
            room.add(one)
            room.add(other)
            await eventually(lambda: reader.has(run_0=(0, number), run_1=(0, number)))  # noqa: B023 - at once
        room.end(one)
        room.add(other)
        await eventually(lambda: reader.has(run_0=(0, 4), run_1=(0, 4)))
        await eventually(lambda: list(room.feeds._streams) == [other])


async def test_a_run_that_begins_and_ends_before_anybody_looks_is_told_too() -> None:
    room = Room()
    room.begin()
    room.end("run_0")
    found = room.shelf.stand()
    for _ in range(2):
        room.add(room.begin(), 4)
    room.end("run_1")
    room.end("run_2")
    reader = room.reader(found)
    await eventually(lambda: reader.has(run_1=(0, 5), run_2=(0, 5)))
    await reader.leave()


async def test_a_run_that_is_tried_again_goes_on_after_what_was_sent() -> None:
    room = Room()
    id = room.begin()
    async with room.reading() as reader:
        for last in (3, 6, 9):
            room.add(id, 2)
            room.end(id)
            await eventually(lambda: reader.has(run_0=(0, last)))  # noqa: B023 - at once
            await eventually(lambda: not room.feeds._streams)
            room.again(id)


async def test_a_run_that_is_tried_again_before_its_end_was_sent_goes_on() -> None:
    room = Room()
    id = room.begin()
    async with room.reading() as reader:
        await eventually(lambda: id in room.feeds._streams)
        await asyncio.sleep(0.01)
        room.add(id, 2)
        room.end(id)
        room.again(id)
        await eventually(lambda: reader.has(run_0=(0, 3)))
        room.add(id, 2)
        await eventually(lambda: reader.has(run_0=(0, 5)))


async def test_a_run_that_was_over_and_is_tried_again_is_told_from_its_start() -> None:
    room = Room()
    id = room.begin()
    room.add(id, 2)
    room.end(id)
    async with room.reading() as reader, room.reading(run_0=3) as knowing:
        assert reader.has()
        room.again(id)
        room.add(id, 2)
        await eventually(lambda: reader.has(run_0=(0, 5)) and knowing.has(run_0=(3, 5)))


@pytest.mark.parametrize("after", [{}, {"run_0": 1}, {"run_0": 3}])
async def test_a_former_end_is_none_for_who_comes_before_the_run_goes_on(after: dict[str, int]) -> None:
    room = Room()
    id = room.begin()
    room.add(id, 2)
    room.end(id)
    room.again(id)
    first = after.get(id, 0)
    async with room.reading(**after) as reader:
        await eventually(lambda: first == 3 or reader.has(run_0=(first, 3)))
        room.add(id, 2)
        await eventually(lambda: reader.has(run_0=(first, 5)))
        room.end(id)
        await eventually(lambda: reader.has(run_0=(first, 6)) and not room.feeds._streams)


async def test_changes_that_may_have_been_missed_are_made_good() -> None:
    room = Room()
    async with room.reading() as reader:
        room.shelf.bodies["run_0"] = []
        room.add("run_0", 4)
        room.changes.on_gap()
        await eventually(lambda: reader.has(run_0=(0, 4)))


async def test_when_the_discussion_is_deleted_that_is_told_and_nothing_waits() -> None:
    room = Room()
    id = room.begin()
    async with room.reading() as reader:
        room.end(id)
        await eventually(lambda: reader.has(run_0=(0, 1)))
        room.shelf.bodies.clear()
        room.discussions.is_there = False
        room.changed()
        await eventually(lambda: "discussion_deleted" in reader.types)
        assert not room.feeds._streams


async def test_a_frame_is_the_one_that_all_readers_of_the_run_are_sent() -> None:
    room = Room()
    id = room.begin()
    async with room.reading() as one, room.reading() as other:
        await eventually(lambda: id in room.feeds._streams and room.feeds._streams[id].readers == 2)
        await asyncio.sleep(0.01)
        room.add(id)
        await eventually(lambda: one.has(run_0=(0, 1)) and other.has(run_0=(0, 1)))
        assert one.frames[-1] is other.frames[-1]


async def test_of_a_reader_that_leaves_nothing_is_kept() -> None:
    before, room = asyncio.all_tasks(), Room()
    room.begin()
    room.begin()
    async with room.reading() as reader:
        room.add("run_0")
        await eventually(lambda: reader.has(run_0=(0, 1)) and len(room.feeds._streams) == 2)
    assert asyncio.all_tasks() == before
    assert room.feeds._streams == {}
    assert room.changes._watchers == {}


Joined = tuple[Reader, dict[str, RunProgress], dict[str, int]]
STEPS = ["begin", "join", "look", "rest", "here", "elsewhere", "end", "again"]
Step = st.tuples(st.sampled_from(STEPS), st.integers(0, 9), st.integers(0, 9))


@given(steps=st.lists(Step, max_size=40), slowness=st.integers(0, 5))
async def test_any_reader_is_told_of_every_run_that_goes_on_once_and_in_order(
    steps: list[tuple[str, int, int]], slowness: int
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(feeding, "MAX_BUFFERED_FRAMES", 5)
        monkeypatch.setattr(stored, "EVENTS_PER_PAGE", 3)
        before, room = asyncio.all_tasks(), Room(slowness)
        readers: list[Joined] = []
        for step, which, count in steps:
            await done(room, readers, step, which, count)
        for id in sorted(room.shelf.live):
            room.end(id)
        stood = room.shelf.stand()
        for reader, found, after in readers:
            wanted = {
                id: (after.get(id, 0), now.last_seq)
                for id, now in stood.items()
                if (id in after or found.get(id) != now) and now.last_seq > after.get(id, 0)
            }
            await eventually(lambda: reader.has(**wanted))  # noqa: B023 - at once
        await eventually(lambda: not room.feeds._streams)
        for reader, *_ in readers:
            await reader.leave()
        assert asyncio.all_tasks() == before
        assert room.changes._watchers == {}


async def done(room: Room, readers: list[Joined], step: str, which: int, count: int) -> None:
    live, over = sorted(room.shelf.live), sorted(room.shelf.bodies.keys() - room.shelf.live)
    match step:
        case "begin":
            room.begin()
        case "here" | "elsewhere" if live:
            room.add(live[which % len(live)], count + 1, step)
        case "end" if live:
            room.end(live[which % len(live)], "elsewhere" if count % 2 else "here")
        case "again" if over:
            room.again(over[which % len(over)])
        case "look":
            await room.feeds.poll()
        case "rest":
            for _ in range(count):
                await asyncio.sleep(0)
        case "join":
            found = room.shelf.stand()
            after = {id: count % (found[id].last_seq + 1) for id in sorted(found)[:which]}
            readers.append((room.reader(found, after), found, after))
        case _:
            pass


class House:
    """The same on a real database, which tells by itself what changes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.events = EventLog(database)
        self.feeds = EventHub(self.events)
        self.changes = DiscussionChanges(Discussions(database), Approvals(database))
        database.subscribe("moot_changes", self.changes.on_notify)
        database.subscribe("moot_events", self.feeds.on_notify)

    async def reader(self, discussion: str, **after: int) -> Reader:
        following = DiscussionSubscription(
            self.changes,
            self.events,
            self.feeds,
            tenant=ANNA,
            discussion=discussion,
            progress=await self.events.discussion_progress(ANNA, discussion),
            after=after,
        )
        return Reader(following)


class Elsewhere:
    """Who executes runs, in another process as far as readers know; on SQLite there is only one."""

    def __init__(self, database: Database, feeds: EventHub) -> None:
        self.database = database
        self.events = EventLog(database)
        self.feeds = feeds

    async def write(self, id: str, count: int, *, end: bool = False) -> None:
        owned = await claim(self.database, id)
        first = owned.seq + 1
        bodies = [DELTA % (id, number) for number in range(first, first + count)]
        if end:
            bodies[-1] = END % (id, bodies and first + count - 1)
        ending = RunEnding("completed", time.time()) if end else None
        await self.events.write_entries([EventLogEntry(owned, first, bodies, None, ending)])
        if not self.database.is_postgres:
            self.feeds.publish(id, first, bodies)

    async def again(self, id: str, discussion: str) -> None:
        async with self.database.write() as connection:
            await connection.execute(update(run).where(run.c.id == id).values(status="waiting"))
            await notify_discussion_change(self.database, connection, ANNA, discussion)

    async def begin(self, discussion: Discussion) -> str:
        id = (await start(self.database, discussion)).id
        async with self.database.write() as connection:
            await notify_discussion_change(self.database, connection, ANNA, discussion.id)
        return id


@ON_BOTH_DATABASES
async def test_on_a_real_database_a_reader_is_told_of_what_is_done_elsewhere(database: Database) -> None:
    await settle(database)
    await employ(database, WORKER)
    discussion, another = await discuss(database), await discuss(database)
    house = House(database)
    async with AsyncExitStack() as stack:
        apart = await stack.enter_async_context(Database(database.url)) if database.is_postgres else database
        await stack.enter_async_context(listening(database))
        there = Elsewhere(apart, house.feeds)
        live = (await start(database, discussion)).id
        await start(database, another)
        await start(database, await discuss(database, BERT), owner=BERT)
        await there.write(live, 3)
        reader = await house.reader(discussion.id, **{live: 1})
        await eventually(lambda: reader.has(**{live: (1, 3)}))
        later = await there.begin(discussion)
        await there.write(live, 3, end=True)
        await there.write(later, 2, end=True)
        await eventually(lambda: reader.has(**{live: (1, 6), later: (0, 2)}))
        await there.again(live, discussion.id)
        await there.write(live, 2, end=True)
        await eventually(lambda: reader.has(**{live: (1, 8), later: (0, 2)}))
        await reader.leave()
        assert house.feeds._streams == {}
        assert house.changes._watchers == {}
