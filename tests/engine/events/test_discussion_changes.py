import asyncio
from contextlib import aclosing

import msgspec
import pytest
from msgspec.structs import replace

from moot.engine.events import discussion_changes as module
from moot.engine.events.discussion_changes import MAX_PENDING_IDS, DiscussionChanges
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.approvals import Approvals
from moot.types.accounts import Caller
from moot.types.discussions import Activity, DiscussionChanged, DiscussionDeleted, DiscussionEvent
from moot.types.streams import BatchStream
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.runs import WORKER, create_run, make_requested_call, register_workers
from tests.support.waiting import WAIT_TIMEOUT_SECONDS, listen_for_notifications

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")


@pytest.fixture
async def discussions(database: Database) -> Discussions:
    await create_accounts(database)
    await register_workers(database, WORKER)
    return Discussions(database)


@pytest.fixture
def changes(database: Database, discussions: Discussions) -> DiscussionChanges:
    return DiscussionChanges(discussions, Approvals(database))


async def next_changes(stream: BatchStream[bytes]) -> list[DiscussionEvent]:
    """Wait for the next frames and decode them as the page does."""
    frames = await asyncio.wait_for(anext(stream), WAIT_TIMEOUT_SECONDS)
    assert all(frame.startswith(b"data: ") and frame.endswith(b"\n\n") for frame in frames)
    assert all(frame.count(b"\n") == 2 for frame in frames)
    return [msgspec.json.decode(frame[6:], type=DiscussionEvent) for frame in frames]


async def test_stream_frames_starts_with_current_activity(database: Database, changes: DiscussionChanges) -> None:
    run = await create_run(database, await create_discussion(database))
    await create_run(database, await create_discussion(database, BERT), owner=BERT)
    async with aclosing(changes.stream_frames(ANNA)) as stream:
        assert await next_changes(stream) == [Activity((run,))]


@ON_BOTH_DATABASES
async def test_stream_frames_sends_each_changed_discussion(database: Database, changes: DiscussionChanges) -> None:
    first, second = await create_discussion(database), await create_discussion(database)
    run = await create_run(database, second)
    async with aclosing(changes.stream_frames(ANNA)) as stream:
        await next_changes(stream)
        changes.on_notify(f"{ANNA} {second.id}")
        assert await next_changes(stream) == [DiscussionChanged(second, (run,))]
        changes.on_notify(f"{ANNA} {second.id}")
        changes.on_notify(f"{ANNA} {first.id}")
        assert await next_changes(stream) == [
            DiscussionChanged(second, (run,)),
            DiscussionChanged(first, ()),
        ]


@ON_BOTH_DATABASES
async def test_stream_frames_reports_runs_waiting_for_approval_until_resolved_or_withdrawn(
    database: Database, changes: DiscussionChanges
) -> None:
    permissions = Approvals(database)
    known = await create_discussion(database)
    run = await create_run(database, known)
    call = make_requested_call(run)
    database.subscribe("moot_changes", changes.on_notify)
    async with listen_for_notifications(database), aclosing(changes.stream_frames(ANNA)) as stream:
        assert await next_changes(stream) == [Activity((run,))]
        await permissions.request_approval(call)
        assert await next_changes(stream) == [DiscussionChanged(known, (run,), (run.id,))]
        async with aclosing(changes.stream_frames(ANNA)) as later:
            assert await next_changes(later) == [Activity((run,), (run.id,))]
        await permissions.resolve_approval(CALLER, run.id, "call_1", "allow")
        assert await next_changes(stream) == [DiscussionChanged(known, (run,))]
        await permissions.request_approval(replace(call, id="call_2"))
        assert await next_changes(stream) == [DiscussionChanged(known, (run,), (run.id,))]
        await permissions.withdraw_run_requests(run.id)
        assert await next_changes(stream) == [DiscussionChanged(known, (run,))]


@ON_BOTH_DATABASES
async def test_stream_frames_sends_updates_and_deletion_of_a_discussion(
    database: Database, discussions: Discussions, changes: DiscussionChanges
) -> None:
    database.subscribe("moot_changes", changes.on_notify)
    known = await create_discussion(database)
    async with listen_for_notifications(database), aclosing(changes.stream_frames(ANNA)) as stream:
        assert await next_changes(stream) == [Activity(())]
        renamed = await discussions.update_discussion(ANNA, known.id, {"title": "Chairs"})
        assert await next_changes(stream) == [DiscussionChanged(renamed, ())]
        await discussions.delete_discussion(ANNA, known.id)
        assert await next_changes(stream) == [DiscussionDeleted(known.id)]


async def test_stream_frames_sends_id_of_deleted_discussion(changes: DiscussionChanges) -> None:
    async with aclosing(changes.stream_frames(ANNA)) as stream:
        await next_changes(stream)
        changes.on_notify(f"{ANNA} dis_gone")
        assert await next_changes(stream) == [DiscussionDeleted("dis_gone")]


@ON_BOTH_DATABASES
async def test_stream_frames_hides_changes_of_other_tenants(database: Database, changes: DiscussionChanges) -> None:
    mine, theirs = await create_discussion(database, ANNA), await create_discussion(database, BERT)
    async with aclosing(changes.stream_frames(ANNA)) as anna, aclosing(changes.stream_frames(BERT)) as bert:
        await next_changes(anna)
        await next_changes(bert)
        changes.on_notify(f"{BERT} {theirs.id}")
        changes.on_notify(f"{ANNA} {mine.id}")
        assert await next_changes(anna) == [DiscussionChanged(mine, ())]
        assert await next_changes(bert) == [DiscussionChanged(theirs, ())]


async def test_stream_frames_sends_a_change_to_every_watcher_of_the_tenant(
    database: Database, changes: DiscussionChanges
) -> None:
    known = await create_discussion(database)
    async with aclosing(changes.stream_frames(ANNA)) as one, aclosing(changes.stream_frames(ANNA)) as other:
        await next_changes(one)
        await next_changes(other)
        changes.on_notify(f"{ANNA} {known.id}")
        assert await next_changes(one) == await next_changes(other) == [DiscussionChanged(known, ())]


async def test_stream_frames_coalesces_changes_of_one_discussion_into_its_latest_state(
    database: Database, discussions: Discussions, changes: DiscussionChanges
) -> None:
    known = await create_discussion(database)
    async with aclosing(changes.stream_frames(ANNA)) as stream:
        await next_changes(stream)
        for number in range(3):
            now = await discussions.update_discussion(ANNA, known.id, {"title": f"Title {number}"})
            changes.on_notify(f"{ANNA} {known.id}")
        assert await next_changes(stream) == [DiscussionChanged(now, ())]


async def test_stream_frames_sends_all_changes_up_to_max_pending_ids(changes: DiscussionChanges) -> None:
    async with aclosing(changes.stream_frames(ANNA)) as stream:
        await next_changes(stream)
        for number in range(MAX_PENDING_IDS):
            changes.on_notify(f"{ANNA} dis_{number}")
        assert await next_changes(stream) == [DiscussionDeleted(f"dis_{number}") for number in range(MAX_PENDING_IDS)]


async def test_stream_frames_restarts_from_current_activity_when_watcher_falls_behind(
    database: Database, changes: DiscussionChanges
) -> None:
    known = await create_discussion(database)
    async with aclosing(changes.stream_frames(ANNA)) as stream:
        await next_changes(stream)
        run = await create_run(database, known)
        for number in range(MAX_PENDING_IDS + 1):
            changes.on_notify(f"{ANNA} dis_{number}")
        changes.on_notify(f"{ANNA} {known.id}")
        assert await next_changes(stream) == [Activity((run,))]
        changes.on_notify(f"{ANNA} {known.id}")
        assert await next_changes(stream) == [DiscussionChanged(known, (run,))]


@ON_BOTH_DATABASES
async def test_on_gap_restarts_all_watchers_from_current_activity(
    database: Database, changes: DiscussionChanges
) -> None:
    async with aclosing(changes.stream_frames(ANNA)) as anna, aclosing(changes.stream_frames(BERT)) as bert:
        await next_changes(anna)
        await next_changes(bert)
        run = await create_run(database, await create_discussion(database))
        changes.on_notify(f"{BERT} dis_gone")
        changes.on_gap()
        assert await next_changes(anna) == [Activity((run,))]
        assert await next_changes(bert) == [Activity(())]


async def test_stream_frames_sends_heartbeat_while_nothing_changes(
    changes: DiscussionChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.0)
    async with aclosing(changes.stream_frames(ANNA)) as stream:
        await next_changes(stream)
        assert [await next_changes(stream), await next_changes(stream)] == [[], []]
        changes.on_notify(f"{ANNA} dis_gone")
        assert await next_changes(stream) == [DiscussionDeleted("dis_gone")]


async def test_closed_watcher_is_removed(changes: DiscussionChanges) -> None:
    staying, leaving = changes.stream_frames(ANNA), changes.stream_frames(ANNA)
    await next_changes(staying)
    await next_changes(leaving)
    await leaving.aclose()
    changes.on_notify(f"{ANNA} dis_gone")
    assert await next_changes(staying) == [DiscussionDeleted("dis_gone")]
    await staying.aclose()
    assert changes._watchers == {}
    changes.on_notify(f"{ANNA} dis_gone")
    changes.on_gap()
    assert changes._watchers == {}


async def test_watcher_cancelled_while_waiting_is_removed(changes: DiscussionChanges) -> None:
    stream = changes.stream_frames(ANNA)
    await next_changes(stream)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert changes._watchers == {}
