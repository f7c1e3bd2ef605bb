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
from moot.engine.events.hub import DiscussionSubscription, EventHub
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, notify_discussion_change
from moot.store.runs import event_log as stored
from moot.store.runs.approvals import Approvals
from moot.store.runs.event_log import EventLog, EventLogEntry, RunEnding, RunProgress, decode_signal
from moot.store.schema.runs import run
from moot.types.discussions import Discussion, Run
from moot.types.errors import NotFound
from moot.types.participants import make_participants
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.runs import WORKER, create_run, lease_run, register_workers
from tests.support.waiting import listen_for_notifications, wait_until

DELTA = '{"type":"text_delta","run":"%s","seq":%d}'
END = '{"type":"run_ended","run":"%s","seq":%d}'
DISCUSSION = Discussion(
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


class SubscriptionReader:
    """Reads a subscription and records its frames, and the event numbers of each run in order."""

    def __init__(self, subscription: DiscussionSubscription) -> None:
        self.event_types: list[str] = []
        self.received_seqs: defaultdict[str, list[int]] = defaultdict(list)
        self.frames: list[bytes] = []
        self.task = asyncio.create_task(self._read(subscription))

    async def _read(self, subscription: DiscussionSubscription) -> None:
        async with aclosing(subscription.stream_frames()) as frames:
            async for some in frames:
                self.frames += some
                for frame in some:
                    event = msgspec.json.decode(frame.partition(b"data: ")[2])
                    self.event_types.append(event["type"])
                    if "seq" in event:
                        assert frame.startswith(b"id: %d\n" % event["seq"])
                        self.received_seqs[event["run"]].append(event["seq"])

    def has_received(self, **ranges: tuple[int, int]) -> bool:
        """Check that each run's events arrived, after the first number up to the second."""
        assert not self.task.done(), self.task
        return self.received_seqs == {id: list(range(after + 1, last + 1)) for id, (after, last) in ranges.items()}

    async def close_subscription(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class MemoryEventLog(EventLog):
    """A slow event log in memory. It returns the state that existed when the call began."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[str]] = {}
        self.live_runs: set[str] = set()
        self.delay_steps = 0

    async def _delay(self) -> None:
        for _ in range(self.delay_steps):
            await asyncio.sleep(0)

    async def read_events(self, id: str, after: int) -> list[tuple[int, str]]:
        page = list(enumerate(self.bodies[id], 1))[after : after + stored.EVENTS_PER_PAGE]
        await self._delay()
        return page

    async def newest_seqs(self, runs: Sequence[str]) -> dict[str, int]:
        return {id: len(self.bodies[id]) for id in runs}

    def read_signal(self, signal: str) -> Iterator[tuple[str, int]]:
        return decode_signal("we", signal)

    def current_progress(self) -> dict[str, RunProgress]:
        return {id: RunProgress(id in self.live_runs, len(bodies)) for id, bodies in self.bodies.items()}

    async def discussion_progress(self, tenant: str, discussion: str) -> dict[str, RunProgress]:
        assert (tenant, discussion) == (ANNA, DISCUSSION.id)
        found = self.current_progress()
        await self._delay()
        return found


class SingleDiscussionStore(Discussions):
    """A store with one discussion. The event log knows which of its runs are live."""

    def __init__(self) -> None:
        self.exists = True

    async def get_discussion(self, tenant: str, id: str) -> Discussion:
        if not self.exists or id != DISCUSSION.id:
            raise NotFound("gone")
        return DISCUSSION

    async def live_runs(self, tenant: str, discussion_id: str | None = None) -> tuple[Run, ...]:
        return ()


class NoPendingApprovals(Approvals):
    def __init__(self) -> None: ...

    async def runs_awaiting_approval(self, runs: Collection[str]) -> tuple[str, ...]:
        return ()


class MemoryDiscussion:
    """A discussion in memory whose runs start, write events, end and are retried, with readers."""

    def __init__(self, delay_steps: int = 0) -> None:
        self.event_log = MemoryEventLog()
        self.event_log.delay_steps = delay_steps
        self.event_hub = EventHub(self.event_log)
        self.discussions = SingleDiscussionStore()
        self.changes = DiscussionChanges(self.discussions, NoPendingApprovals())

    def start_run(self) -> str:
        id = f"run_{len(self.event_log.bodies)}"
        self.event_log.bodies[id] = []
        self.retry_run(id)
        return id

    def retry_run(self, id: str) -> None:
        self.event_log.live_runs.add(id)
        self.notify_change()

    def notify_change(self) -> None:
        self.changes.on_notify(f"{ANNA} {DISCUSSION.id}")

    def add_events(self, id: str, count: int = 1, source: str = "here", body: str = DELTA) -> None:
        first = len(self.event_log.bodies[id]) + 1
        new = [body % (id, number) for number in range(first, first + count)]
        self.event_log.bodies[id] += new
        if source == "here":
            self.event_hub.publish(id, first, new)
        else:
            self.event_hub.on_notify(f"them,{id}:{first + count - 1}")

    def end_run(self, id: str, source: str = "here") -> None:
        self.add_events(id, 1, source, END)
        self.event_log.live_runs.discard(id)
        self.notify_change()

    def open_reader(self, progress: Mapping[str, RunProgress], after: Mapping[str, int] = {}) -> SubscriptionReader:
        subscription = DiscussionSubscription(
            self.changes,
            self.event_log,
            self.event_hub,
            tenant=ANNA,
            discussion=DISCUSSION.id,
            progress=progress,
            after=after,
        )
        return SubscriptionReader(subscription)

    @asynccontextmanager
    async def subscribed_reader(self, **after: int) -> AsyncIterator[SubscriptionReader]:
        """Open a reader and wait until it has the activity."""
        reader = self.open_reader(self.event_log.current_progress(), after)
        try:
            await wait_until(lambda: "activity" in reader.event_types)
            yield reader
        finally:
            await reader.close_subscription()


async def test_subscription_sends_activity_first_and_live_runs_from_start() -> None:
    memory_discussion = MemoryDiscussion()
    over, live = memory_discussion.start_run(), memory_discussion.start_run()
    memory_discussion.add_events(over, 3)
    memory_discussion.end_run(over)
    memory_discussion.add_events(live, 2)
    async with memory_discussion.subscribed_reader() as reader:
        await wait_until(lambda: reader.has_received(run_1=(0, 2)))
        assert reader.event_types[0] == "activity"
        memory_discussion.add_events(live)
        await wait_until(lambda: reader.has_received(run_1=(0, 3)))


async def test_subscription_resumes_after_given_cursors_and_completes_ended_runs() -> None:
    memory_discussion = MemoryDiscussion()
    for _ in range(3):
        memory_discussion.add_events(memory_discussion.start_run(), 5)
    memory_discussion.end_run("run_0")
    memory_discussion.end_run("run_1")
    async with memory_discussion.subscribed_reader(run_0=2, run_1=6, run_2=4) as reader:
        await wait_until(lambda: reader.has_received(run_0=(2, 6), run_2=(4, 5)))


async def test_subscription_adds_runs_that_start_later() -> None:
    memory_discussion = MemoryDiscussion()
    async with memory_discussion.subscribed_reader() as reader:
        one, other = memory_discussion.start_run(), memory_discussion.start_run()
        for number in range(1, 4):
            memory_discussion.add_events(one)
            memory_discussion.add_events(other)
            await wait_until(lambda: reader.has_received(run_0=(0, number), run_1=(0, number)))  # noqa: B023 - at once
        memory_discussion.end_run(one)
        memory_discussion.add_events(other)
        await wait_until(lambda: reader.has_received(run_0=(0, 4), run_1=(0, 4)))
        await wait_until(lambda: list(memory_discussion.event_hub._streams) == [other])


async def test_subscription_includes_run_that_started_and_ended_before_first_check() -> None:
    memory_discussion = MemoryDiscussion()
    memory_discussion.start_run()
    memory_discussion.end_run("run_0")
    found = memory_discussion.event_log.current_progress()
    for _ in range(2):
        memory_discussion.add_events(memory_discussion.start_run(), 4)
    memory_discussion.end_run("run_1")
    memory_discussion.end_run("run_2")
    reader = memory_discussion.open_reader(found)
    await wait_until(lambda: reader.has_received(run_1=(0, 5), run_2=(0, 5)))
    await reader.close_subscription()


async def test_subscription_continues_retried_run_after_last_sent_event() -> None:
    memory_discussion = MemoryDiscussion()
    id = memory_discussion.start_run()
    async with memory_discussion.subscribed_reader() as reader:
        for last in (3, 6, 9):
            memory_discussion.add_events(id, 2)
            memory_discussion.end_run(id)
            await wait_until(lambda: reader.has_received(run_0=(0, last)))  # noqa: B023 - at once
            await wait_until(lambda: not memory_discussion.event_hub._streams)
            memory_discussion.retry_run(id)


async def test_subscription_continues_run_retried_before_its_end_was_sent() -> None:
    memory_discussion = MemoryDiscussion()
    id = memory_discussion.start_run()
    async with memory_discussion.subscribed_reader() as reader:
        await wait_until(lambda: id in memory_discussion.event_hub._streams)
        await asyncio.sleep(0.01)
        memory_discussion.add_events(id, 2)
        memory_discussion.end_run(id)
        memory_discussion.retry_run(id)
        await wait_until(lambda: reader.has_received(run_0=(0, 3)))
        memory_discussion.add_events(id, 2)
        await wait_until(lambda: reader.has_received(run_0=(0, 5)))


async def test_subscription_sends_finished_run_from_start_when_retried() -> None:
    memory_discussion = MemoryDiscussion()
    id = memory_discussion.start_run()
    memory_discussion.add_events(id, 2)
    memory_discussion.end_run(id)
    async with memory_discussion.subscribed_reader() as reader, memory_discussion.subscribed_reader(run_0=3) as knowing:
        assert reader.has_received()
        memory_discussion.retry_run(id)
        memory_discussion.add_events(id, 2)
        await wait_until(lambda: reader.has_received(run_0=(0, 5)) and knowing.has_received(run_0=(3, 5)))


@pytest.mark.parametrize("after", [{}, {"run_0": 1}, {"run_0": 3}])
async def test_subscription_ignores_earlier_end_before_retry_continues(after: dict[str, int]) -> None:
    memory_discussion = MemoryDiscussion()
    id = memory_discussion.start_run()
    memory_discussion.add_events(id, 2)
    memory_discussion.end_run(id)
    memory_discussion.retry_run(id)
    first = after.get(id, 0)
    async with memory_discussion.subscribed_reader(**after) as reader:
        await wait_until(lambda: first == 3 or reader.has_received(run_0=(first, 3)))
        memory_discussion.add_events(id, 2)
        await wait_until(lambda: reader.has_received(run_0=(first, 5)))
        memory_discussion.end_run(id)
        await wait_until(lambda: reader.has_received(run_0=(first, 6)) and not memory_discussion.event_hub._streams)


async def test_subscription_recovers_missed_changes_after_gap() -> None:
    memory_discussion = MemoryDiscussion()
    async with memory_discussion.subscribed_reader() as reader:
        memory_discussion.event_log.bodies["run_0"] = []
        memory_discussion.add_events("run_0", 4)
        memory_discussion.changes.on_gap()
        await wait_until(lambda: reader.has_received(run_0=(0, 4)))


async def test_subscription_reports_deleted_discussion_and_waits_for_no_run() -> None:
    memory_discussion = MemoryDiscussion()
    id = memory_discussion.start_run()
    async with memory_discussion.subscribed_reader() as reader:
        memory_discussion.end_run(id)
        await wait_until(lambda: reader.has_received(run_0=(0, 1)))
        memory_discussion.event_log.bodies.clear()
        memory_discussion.discussions.exists = False
        memory_discussion.notify_change()
        await wait_until(lambda: "discussion_deleted" in reader.event_types)
        assert not memory_discussion.event_hub._streams


async def test_subscriptions_of_a_run_share_the_same_frame() -> None:
    memory_discussion = MemoryDiscussion()
    id = memory_discussion.start_run()
    async with memory_discussion.subscribed_reader() as one, memory_discussion.subscribed_reader() as other:
        await wait_until(
            lambda: id in memory_discussion.event_hub._streams and memory_discussion.event_hub._streams[id].readers == 2
        )
        await asyncio.sleep(0.01)
        memory_discussion.add_events(id)
        await wait_until(lambda: one.has_received(run_0=(0, 1)) and other.has_received(run_0=(0, 1)))
        assert one.frames[-1] is other.frames[-1]


async def test_closed_subscription_leaves_no_tasks_streams_or_watchers() -> None:
    before, memory_discussion = asyncio.all_tasks(), MemoryDiscussion()
    memory_discussion.start_run()
    memory_discussion.start_run()
    async with memory_discussion.subscribed_reader() as reader:
        memory_discussion.add_events("run_0")
        await wait_until(lambda: reader.has_received(run_0=(0, 1)) and len(memory_discussion.event_hub._streams) == 2)
    assert asyncio.all_tasks() == before
    assert memory_discussion.event_hub._streams == {}
    assert memory_discussion.changes._watchers == {}


JoinedReader = tuple[SubscriptionReader, dict[str, RunProgress], dict[str, int]]
STEP_NAMES = ["begin", "join", "look", "rest", "here", "elsewhere", "end", "again"]
Step = st.tuples(st.sampled_from(STEP_NAMES), st.integers(0, 9), st.integers(0, 9))


@given(steps=st.lists(Step, max_size=40), slowness=st.integers(0, 5))
async def test_subscription_sends_every_changed_run_once_and_in_order(
    steps: list[tuple[str, int, int]], slowness: int
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(feeding, "MAX_BUFFERED_FRAMES", 5)
        monkeypatch.setattr(stored, "EVENTS_PER_PAGE", 3)
        before, memory_discussion = asyncio.all_tasks(), MemoryDiscussion(slowness)
        readers: list[JoinedReader] = []
        for step, which, count in steps:
            await perform_step(memory_discussion, readers, step, which, count)
        for id in sorted(memory_discussion.event_log.live_runs):
            memory_discussion.end_run(id)
        progress = memory_discussion.event_log.current_progress()
        for reader, found, after in readers:
            expected = {
                id: (after.get(id, 0), now.last_seq)
                for id, now in progress.items()
                if (id in after or found.get(id) != now) and now.last_seq > after.get(id, 0)
            }
            await wait_until(lambda: reader.has_received(**expected))  # noqa: B023 - at once
        await wait_until(lambda: not memory_discussion.event_hub._streams)
        for reader, *_ in readers:
            await reader.close_subscription()
        assert asyncio.all_tasks() == before
        assert memory_discussion.changes._watchers == {}


async def perform_step(
    discussion: MemoryDiscussion, readers: list[JoinedReader], step: str, index: int, count: int
) -> None:
    live, over = (
        sorted(discussion.event_log.live_runs),
        sorted(discussion.event_log.bodies.keys() - discussion.event_log.live_runs),
    )
    match step:
        case "begin":
            discussion.start_run()
        case "here" | "elsewhere" if live:
            discussion.add_events(live[index % len(live)], count + 1, step)
        case "end" if live:
            discussion.end_run(live[index % len(live)], "elsewhere" if count % 2 else "here")
        case "again" if over:
            discussion.retry_run(over[index % len(over)])
        case "look":
            await discussion.event_hub.poll()
        case "rest":
            for _ in range(count):
                await asyncio.sleep(0)
        case "join":
            found = discussion.event_log.current_progress()
            after = {id: count % (found[id].last_seq + 1) for id in sorted(found)[:index]}
            readers.append((discussion.open_reader(found, after), found, after))
        case _:
            pass


class DatabaseHarness:
    """The same on a real database, which sends the notifications."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.events = EventLog(database)
        self.event_hub = EventHub(self.events)
        self.changes = DiscussionChanges(Discussions(database), Approvals(database))
        database.subscribe("moot_changes", self.changes.on_notify)
        database.subscribe("moot_events", self.event_hub.on_notify)

    async def open_reader(self, discussion: str, **after: int) -> SubscriptionReader:
        subscription = DiscussionSubscription(
            self.changes,
            self.events,
            self.event_hub,
            tenant=ANNA,
            discussion=discussion,
            progress=await self.events.discussion_progress(ANNA, discussion),
            after=after,
        )
        return SubscriptionReader(subscription)


class RemoteWorker:
    """Executes runs as another process would. On SQLite there is only one process."""

    def __init__(self, database: Database, event_hub: EventHub) -> None:
        self.database = database
        self.events = EventLog(database)
        self.event_hub = event_hub

    async def write_events(self, id: str, count: int, *, end: bool = False) -> None:
        owned = await lease_run(self.database, id)
        first = owned.seq + 1
        bodies = [DELTA % (id, number) for number in range(first, first + count)]
        if end:
            bodies[-1] = END % (id, bodies and first + count - 1)
        ending = RunEnding("completed", time.time()) if end else None
        await self.events.write_entries([EventLogEntry(owned, first, bodies, None, ending)])
        if not self.database.is_postgres:
            self.event_hub.publish(id, first, bodies)

    async def retry_run(self, id: str, discussion: str) -> None:
        async with self.database.write() as connection:
            await connection.execute(update(run).where(run.c.id == id).values(status="waiting"))
            await notify_discussion_change(self.database, connection, ANNA, discussion)

    async def start_run(self, discussion: Discussion) -> str:
        id = (await create_run(self.database, discussion)).id
        async with self.database.write() as connection:
            await notify_discussion_change(self.database, connection, ANNA, discussion.id)
        return id


@ON_BOTH_DATABASES
async def test_subscription_on_database_receives_events_of_other_process(database: Database) -> None:
    await create_accounts(database)
    await register_workers(database, WORKER)
    discussion, another = await create_discussion(database), await create_discussion(database)
    harness = DatabaseHarness(database)
    async with AsyncExitStack() as stack:
        remote_database = await stack.enter_async_context(Database(database.url)) if database.is_postgres else database
        await stack.enter_async_context(listen_for_notifications(database))
        remote_worker = RemoteWorker(remote_database, harness.event_hub)
        live = (await create_run(database, discussion)).id
        await create_run(database, another)
        await create_run(database, await create_discussion(database, BERT), owner=BERT)
        await remote_worker.write_events(live, 3)
        reader = await harness.open_reader(discussion.id, **{live: 1})
        await wait_until(lambda: reader.has_received(**{live: (1, 3)}))
        later = await remote_worker.start_run(discussion)
        await remote_worker.write_events(live, 3, end=True)
        await remote_worker.write_events(later, 2, end=True)
        await wait_until(lambda: reader.has_received(**{live: (1, 6), later: (0, 2)}))
        await remote_worker.retry_run(live, discussion.id)
        await remote_worker.write_events(live, 2, end=True)
        await wait_until(lambda: reader.has_received(**{live: (1, 8), later: (0, 2)}))
        await reader.close_subscription()
        assert harness.event_hub._streams == {}
        assert harness.changes._watchers == {}
