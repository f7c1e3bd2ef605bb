import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from moot.server.routes.events import MAX_RUN_CURSORS
from moot.server.sse import resync_frame
from moot.store.database import Database
from tests.server.asgi_client import AsgiClient, http_scope
from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.databases import ON_BOTH_DATABASES

pytestmark = ON_BOTH_DATABASES


@pytest.fixture
async def local_app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        if not database.is_postgres:
            database.subscribe("moot_changes", app.services.discussion_changes.on_notify)
        yield app


@asynccontextmanager
async def open_event_stream(local_app: LocalApp, query: str = "") -> AsyncIterator[AsgiClient]:
    """Read the stream until the block ends, then check that the server has released it."""
    client = AsgiClient()
    stream = asyncio.create_task(local_app.app(http_scope("/api/events", query), client.receive, client.send))
    try:
        await client.wait_for(b'"activity"')
        yield client
    finally:
        client.disconnected.set()
        await stream
    assert len(local_app.services.sse_connections) == 0
    assert local_app.services.event_hub._streams == {}
    assert local_app.services.discussion_changes._watchers == {}


def received_events(client: AsgiClient) -> list[Any]:
    lines = b"".join(client.received_bodies).decode().split("\n")
    return [msgspec.json.decode(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def event_seqs(client: AsgiClient, run: str) -> list[int]:
    return [one["seq"] for one in received_events(client) if "seq" in one and one["run"] == run]


async def test_event_stream_starts_with_activity(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    async with open_event_stream(local_app) as client:
        local_app.services.discussion_changes.on_notify(f"local {opened['discussion']['id']}")
        local_app.services.discussion_changes.on_notify(f"somebody {opened['discussion']['id']}")
        local_app.services.discussion_changes.on_notify("local dis_gone")
        await client.wait_for(b"dis_gone")
    first, changed, gone = received_events(client)
    assert [one["type"] for one in (first, changed, gone)] == [
        "activity",
        "discussion_changed",
        "discussion_deleted",
    ]
    assert first["runs"] == changed["runs"] == [opened["run"]]
    assert changed["discussion"]["id"] == opened["discussion"]["id"]


async def test_event_stream_of_discussion_contains_active_run_frames(
    local_app: LocalApp,
) -> None:
    opened = await local_app.create_discussion()
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    other = (await local_app.create_discussion())["run"]["id"]
    await local_app.record_answer(other, "Elsewhere.", status=None)
    async with open_event_stream(local_app, f"discussion={discussion}") as client:
        await local_app.record_answer(run, "A ", "meeting ", "of minds.")
        await client.wait_for(b'"run_ended"')
    assert (event_seqs(client, run), event_seqs(client, other)) == ([1, 2, 3, 4, 5], [])
    alone = (await local_app.call("GET", f"/api/runs/{run}/events")).content.partition(b"\n\n")[2]
    assert alone in b"".join(client.received_bodies)


async def test_event_stream_resumes_each_run_after_its_cursor(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    discussion, over = opened["discussion"]["id"], opened["run"]["id"]
    await local_app.record_answer(over, "A ", "meeting.")
    reply = await local_app.call_ok("POST", f"/api/discussions/{discussion}/messages", {"message": "And?"})
    live = reply["run"]["id"]
    await local_app.record_answer(live, "A ", "table.", status=None)
    query = f"discussion={discussion}&after={over}:2&after={live}:1"
    async with open_event_stream(local_app, query) as client:
        await client.wait_for(b'"run_ended"')
        await client.wait_for(b"table.")
    assert (event_seqs(client, over), event_seqs(client, live)) == ([3, 4], [2, 3])
    async with open_event_stream(local_app, f"discussion={discussion}&after={over}:4") as client:
        await client.wait_for(b"table.")
    assert (event_seqs(client, over), event_seqs(client, live)) == ([], [1, 2, 3])


@pytest.mark.parametrize("number", ["5", "9" * 40])
async def test_unknown_event_seq_resyncs_whole_run(local_app: LocalApp, number: str) -> None:
    opened = await local_app.create_discussion()
    run = opened["run"]["id"]
    await local_app.record_answer(run, "A ", "meeting.")
    query = f"discussion={opened['discussion']['id']}&after={run}:{number}"
    async with open_event_stream(local_app, query) as client:
        await client.wait_for(b'"run_ended"')
    assert client.received_bodies[0] == resync_frame(run)
    assert event_seqs(client, run) == [1, 2, 3, 4]


async def test_event_stream_of_unknown_discussion_or_run_returns_404(local_app: LocalApp) -> None:
    opened, other = await local_app.create_discussion(), await local_app.create_discussion()
    mine = f"discussion={opened['discussion']['id']}"
    for query, word in (
        ("discussion=dis_nothing", "dis_nothing"),
        (f"{mine}&after=run_nothing:1", "run_nothing"),
        (f"{mine}&after={other['run']['id']}:0", "in this discussion"),
        (f"{mine}&after={opened['run']['id']}:0&after={other['run']['id']}:0", "in this discussion"),
    ):
        reply = await local_app.call("GET", f"/api/events?{query}")
        assert (reply.status_code, reply.headers["Content-Type"]) == (404, "application/problem+json")
        assert word in reply.json()["detail"]


async def test_event_stream_rejects_invalid_cursor(local_app: LocalApp) -> None:
    mine = f"discussion={(await local_app.create_discussion())['discussion']['id']}"
    for query, word in (
        ("after=run_x:1", "discussion"),
        (f"{mine}&after=run_x", "run_x:57"),
        (f"{mine}&after=run_x:", "run_x:57"),
        (f"{mine}&after=run_x:-1", "run_x:57"),
        (f"{mine}&after={'x' * 100}:1", "length <= 100"),
        (f"{mine}{'&after=run_x:1' * (MAX_RUN_CURSORS + 1)}", "length <= 20"),
    ):
        reply = await local_app.call("GET", f"/api/events?{query}")
        assert reply.status_code == 400, query
        assert reply.json()["errors"][0]["field"] == "after"
        assert word in reply.json()["detail"]


async def test_event_stream_accepts_maximum_number_of_cursors(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    run = opened["run"]["id"]
    marks = f"&after={run}:0" * MAX_RUN_CURSORS
    async with open_event_stream(local_app, f"discussion={opened['discussion']['id']}{marks}") as client:
        await local_app.record_answer(run, "A meeting.")
        await client.wait_for(b'"run_ended"')
