import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from moot.server.event_cursors import resync_frame
from moot.server.routes.events import MAX_RUN_CURSORS
from moot.store.database import Database
from tests.databases import ON_BOTH_DATABASES
from tests.server.talking import Talking, talking
from tests.server.visiting import Visitor, asking_for

pytestmark = ON_BOTH_DATABASES


@pytest.fixture
async def table(database: Database) -> AsyncIterator[Talking]:
    async with talking(database) as table:
        if not database.is_postgres:
            database.subscribe("moot_changes", table.house.changes.on_notify)
        yield table


@asynccontextmanager
async def watching(table: Talking, query: str = "") -> AsyncIterator[Visitor]:
    """Read the stream until the block ends; then nothing of it is left."""
    visitor = Visitor()
    stream = asyncio.create_task(table.app(asking_for("/api/events", query), visitor.receive, visitor.send))
    try:
        await visitor.has(b'"activity"')
        yield visitor
    finally:
        visitor.leaves.set()
        await stream
    assert len(table.house.readers) == 0
    assert table.house.feeds._streams == {}
    assert table.house.changes._watchers == {}


def told(visitor: Visitor) -> list[Any]:
    lines = b"".join(visitor.came).decode().split("\n")
    return [msgspec.json.decode(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def numbers(visitor: Visitor, run: str) -> list[int]:
    return [one["seq"] for one in told(visitor) if "seq" in one and one["run"] == run]


async def test_changes_begin_with_what_goes_on(table: Talking) -> None:
    opened = await table.open()
    async with watching(table) as visitor:
        table.house.changes.on_notify(f"local {opened['discussion']['id']}")
        table.house.changes.on_notify(f"somebody {opened['discussion']['id']}")
        table.house.changes.on_notify("local dis_gone")
        await visitor.has(b"dis_gone")
    first, changed, gone = told(visitor)
    assert [one["type"] for one in (first, changed, gone)] == [
        "activity",
        "discussion_changed",
        "discussion_deleted",
    ]
    assert first["runs"] == changed["runs"] == [opened["run"]]
    assert changed["discussion"]["id"] == opened["discussion"]["id"]


async def test_with_a_discussion_its_live_runs_come_as_their_own_streams_would_send_them(
    table: Talking,
) -> None:
    opened = await table.open()
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    other = (await table.open())["run"]["id"]
    await table.answer(other, "Elsewhere.", status=None)
    async with watching(table, f"discussion={discussion}") as visitor:
        await table.answer(run, "A ", "meeting ", "of minds.")
        await visitor.has(b'"run_ended"')
    assert (numbers(visitor, run), numbers(visitor, other)) == ([1, 2, 3, 4, 5], [])
    alone = (await table.call("GET", f"/api/runs/{run}/events")).content.partition(b"\n\n")[2]
    assert alone in b"".join(visitor.came)


async def test_each_run_goes_on_after_the_number_that_is_named(table: Talking) -> None:
    opened = await table.open()
    discussion, over = opened["discussion"]["id"], opened["run"]["id"]
    await table.answer(over, "A ", "meeting.")
    said = await table.ok("POST", f"/api/discussions/{discussion}/messages", {"message": "And?"})
    live = said["run"]["id"]
    await table.answer(live, "A ", "table.", status=None)
    query = f"discussion={discussion}&after={over}:2&after={live}:1"
    async with watching(table, query) as visitor:
        await visitor.has(b'"run_ended"')
        await visitor.has(b"table.")
    assert (numbers(visitor, over), numbers(visitor, live)) == ([3, 4], [2, 3])
    async with watching(table, f"discussion={discussion}&after={over}:4") as visitor:
        await visitor.has(b"table.")
    assert (numbers(visitor, over), numbers(visitor, live)) == ([], [1, 2, 3])


@pytest.mark.parametrize("number", ["5", "9" * 40])
async def test_a_number_that_never_was_means_all_of_that_run(table: Talking, number: str) -> None:
    opened = await table.open()
    run = opened["run"]["id"]
    await table.answer(run, "A ", "meeting.")
    query = f"discussion={opened['discussion']['id']}&after={run}:{number}"
    async with watching(table, query) as visitor:
        await visitor.has(b'"run_ended"')
    assert visitor.came[0] == resync_frame(run)
    assert numbers(visitor, run) == [1, 2, 3, 4]


async def test_what_is_not_there_is_not_told_of(table: Talking) -> None:
    opened, other = await table.open(), await table.open()
    mine = f"discussion={opened['discussion']['id']}"
    for query, word in (
        ("discussion=dis_nothing", "dis_nothing"),
        (f"{mine}&after=run_nothing:1", "run_nothing"),
        (f"{mine}&after={other['run']['id']}:0", "in this discussion"),
        (f"{mine}&after={opened['run']['id']}:0&after={other['run']['id']}:0", "in this discussion"),
    ):
        reply = await table.call("GET", f"/api/events?{query}")
        assert (reply.status_code, reply.headers["Content-Type"]) == (404, "application/problem+json")
        assert word in reply.json()["detail"]


async def test_what_is_no_mark_is_refused_with_words(table: Talking) -> None:
    mine = f"discussion={(await table.open())['discussion']['id']}"
    for query, word in (
        ("after=run_x:1", "discussion"),
        (f"{mine}&after=run_x", "run_x:57"),
        (f"{mine}&after=run_x:", "run_x:57"),
        (f"{mine}&after=run_x:-1", "run_x:57"),
        (f"{mine}&after={'x' * 100}:1", "100 characters"),
        (f"{mine}{'&after=run_x:1' * (MAX_RUN_CURSORS + 1)}", "20 entries"),
    ):
        reply = await table.call("GET", f"/api/events?{query}")
        assert reply.status_code == 400, query
        assert reply.json()["errors"][0]["field"] == "after"
        assert word in reply.json()["detail"]


async def test_as_many_runs_as_may_be_named_are_looked_at(table: Talking) -> None:
    opened = await table.open()
    run = opened["run"]["id"]
    marks = f"&after={run}:0" * MAX_RUN_CURSORS
    async with watching(table, f"discussion={opened['discussion']['id']}{marks}") as visitor:
        await table.answer(run, "A meeting.")
        await visitor.has(b'"run_ended"')
