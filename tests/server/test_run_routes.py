from collections.abc import AsyncIterator

import msgspec
import pytest

from moot.model.discussions import Run
from moot.server.bookmarks import resync
from moot.server.sse import HEARTBEAT
from moot.store.database import Database
from moot.store.events import Events, Standing
from tests.server.talking import Talking, talking


@pytest.fixture
async def table(database: Database) -> AsyncIterator[Talking]:
    async with talking(database) as table:
        yield table


async def spoken(table: Talking) -> str:
    """A run of five events that is over."""
    run: str = (await table.open())["run"]["id"]
    await table.answer(run, "A ", "meeting ", "of minds.")
    return run


def numbers(text: str) -> list[int]:
    return [int(line.removeprefix("id: ")) for line in text.split("\n") if line.startswith("id: ")]


async def test_a_run_says_how_it_stands(table: Talking) -> None:
    opened = await table.open()
    path = f"/api/runs/{opened['run']['id']}"
    found = await table.ok("GET", path)
    assert opened["run"].items() <= found.items()
    assert (found["lanes"], found["summary"], found["cost"]) == ([], None, 0)
    await table.answer(opened["run"]["id"], "A meeting.")
    over = msgspec.convert(await table.ok("GET", path), Run)
    assert over.status == "completed"
    assert over.ended_at is not None


async def test_events_come_with_their_numbers_and_go_on_after_any(table: Talking) -> None:
    path = f"/api/runs/{await spoken(table)}/events"
    everything = await table.call("GET", path)
    assert everything.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert everything.headers["Cache-Control"] == "no-store"
    assert everything.content.startswith(HEARTBEAT + b"id: 1\ndata: {")
    assert numbers(everything.text) == [1, 2, 3, 4, 5]
    for number in range(5):
        later = list(range(number + 1, 6))
        assert numbers((await table.call("GET", f"{path}?after={number}")).text) == later
        assert numbers((await table.call("GET", path, **{"Last-Event-ID": str(number)})).text) == later
    assert (await table.call("GET", f"{path}?after=5")).status_code == 204


async def test_the_header_counts_where_both_say_something(table: Talking) -> None:
    path = f"/api/runs/{await spoken(table)}/events?after=1"
    assert numbers((await table.call("GET", path, **{"Last-Event-ID": "4"})).text) == [5]


@pytest.mark.parametrize("number", ["6", "abc", "", "-1", "+1", " 1x", "1" * 16, "\u0663"])
async def test_a_number_that_never_was_means_to_start_again(table: Talking, number: str) -> None:
    run = await spoken(table)
    path = f"/api/runs/{run}/events"
    headers = {b"Last-Event-ID": number.encode()}
    reply = await table.client.get(path, headers=list(headers.items()))
    assert reply.content.startswith(resync(run))
    assert numbers(reply.text) == [1, 2, 3, 4, 5]


async def test_a_query_of_a_number_that_never_was_is_answered_as_the_header_is(table: Talking) -> None:
    run = await spoken(table)
    for number in ("6", "9" * 15):
        reply = await table.call("GET", f"/api/runs/{run}/events?after={number}")
        assert reply.content.startswith(resync(run)), number
        assert numbers(reply.text) == [1, 2, 3, 4, 5]


async def test_a_run_that_ends_while_somebody_comes_back_is_told_to_its_end(
    table: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = (await table.open())["run"]["id"]
    await table.answer(run, "A ", status=None)
    standing = Events.standing

    async def ending_meanwhile(events: Events, tenant: str, id: str) -> Standing:
        monkeypatch.undo()
        found = await standing(events, tenant, id)
        await table.answer(run, "meeting.")
        return found

    monkeypatch.setattr(Events, "standing", ending_meanwhile)
    reply = await table.call("GET", f"/api/runs/{run}/events?after=2")
    assert numbers(reply.text) == [3, 4, 5]


async def test_a_stop_is_a_wish_and_a_run_that_is_over_stays_as_it_is(table: Talking) -> None:
    run = (await table.open())["run"]["id"]
    for body in ({"participant": "beta"}, {"participant": "alpha"}, {"participant": "beta"}):
        assert (await table.ok("POST", f"/api/runs/{run}/stop", body))["status"] == "waiting"
    assert (await table.house.runs.wishes(run)).stopped == ("beta", "alpha")
    assert (await table.house.runs.wishes(run)).stop is None
    await table.ok("POST", f"/api/runs/{run}/stop")
    assert (await table.house.runs.wishes(run)).stop == "stopped_by_user"
    nobody = await table.call("POST", f"/api/runs/{run}/stop", {"participant": "omega"})
    assert nobody.status_code == 404

    await table.answer(run, "A meeting.")
    assert (await table.ok("POST", f"/api/runs/{run}/stop"))["status"] == "completed"
    nobody = await table.call("POST", f"/api/runs/{run}/stop", {"participant": "omega"})
    assert nobody.status_code == 404


async def test_activity_is_what_goes_on_now(table: Talking) -> None:
    assert await table.ok("GET", "/api/activity") == []
    one, two = await table.open(), await table.open()
    more = await table.ok("POST", f"/api/discussions/{two['discussion']['id']}/messages", {"message": "And?"})
    ids = [opened["discussion"]["id"] for opened in (one, two)]
    told = await table.ok("GET", "/api/activity")
    assert told == [{"discussion": ids[0], "runs": 1}, {"discussion": ids[1], "runs": 2}]
    await table.answer(one["run"]["id"], "A meeting.")
    await table.answer(more["run"]["id"], "A meeting.")
    assert await table.ok("GET", "/api/activity") == [{"discussion": ids[1], "runs": 1}]
