import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from moot.model.errors import StoreUnavailable
from moot.store.database import Database
from tests.server.talking import Talking, talking
from tests.server.visiting import Visitor, asking_for


@pytest.fixture
async def table(database: Database) -> AsyncIterator[Talking]:
    async with talking(database) as table:
        yield table


async def test_a_server_says_that_it_lives_and_that_it_serves(table: Talking) -> None:
    for path in ("/healthz", "/readyz"):
        reply = await table.call("GET", path)
        assert (reply.status_code, reply.text) == (200, "ok")


async def test_without_a_database_it_lives_and_does_not_serve(
    table: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: Database) -> None:
        raise StoreUnavailable("The database cannot be reached; try again in a moment.")

    monkeypatch.setattr(Database, "ping", away)
    assert (await table.call("GET", "/healthz")).status_code == 200
    reply = await table.call("GET", "/readyz")
    assert (reply.status_code, reply.headers["Content-Type"]) == (503, "application/problem+json")


async def test_metrics_are_what_prometheus_reads(table: Talking) -> None:
    reply = await table.call("GET", "/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain; version=")
    assert "# TYPE moot_" in reply.text


async def test_changes_begin_with_what_goes_on(table: Talking) -> None:
    opened = await table.open()
    visitor = Visitor()
    watching = asyncio.create_task(table.app(asking_for("/api/events"), visitor.receive, visitor.send))
    await visitor.has(b'"activity"')
    table.house.changes.told(f"local {opened['discussion']['id']}")
    table.house.changes.told(f"somebody {opened['discussion']['id']}")
    table.house.changes.told("local dis_gone")
    await visitor.has(b"dis_gone")
    visitor.leaves.set()
    await watching
    lines = b"".join(visitor.came).decode().split("\n")
    told = [msgspec.json.decode(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [one["type"] for one in told] == ["activity", "discussion_changed", "discussion_deleted"]
    assert told[0]["runs"] == told[1]["runs"] == [opened["run"]]
    assert told[1]["discussion"]["id"] == opened["discussion"]["id"]
