"""The routes of lanes: what they answer, in which words, and what is wished then."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from moot.server.event_cursors import resync_frame
from moot.server.sse import HEARTBEAT
from moot.store.database import Database
from moot.store.runs.event_log import EventLog, RunProgress
from moot.types.discussions import Run
from tests.server.talking import Talking, talking
from tests.store.debating import Pen, lane, turn

DEBATE = {"participants": ["scripted/echo", "scripted/echo"], "mode": "debate"}


class Lanes:
    """A debate of two in which Beta failed, that nobody executes."""

    def __init__(self, table: Talking, run: str, message: str, pen: Pen) -> None:
        self.table = table
        self.run = run
        self.message = message
        self.pen = pen
        self.taken_up: list[tuple[str, int]] = []
        table.house.retrying._start = lambda run, revision: self.taken_up.append((run, revision))

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        response = await self.table.call(method, f"/api/runs/{self.run}/{path}", body)
        return response.status_code, response.json()


@pytest.fixture
async def lanes(database: Database) -> AsyncIterator[Lanes]:
    async with talking(database) as table:
        opened = await table.open(**DEBATE)
        run = opened["run"]["id"]
        held = await table.house.runs.acquire_lease(run, table.house.worker_id)
        assert held is not None
        pen = Pen(database, held)
        await pen.keep(
            [turn(held, "alpha"), turn(held, "beta", status="failed")],
            [lane("alpha", "debate"), lane("beta", error="Key rejected.")],
        )
        yield Lanes(table, run, opened["message"]["id"], pen)


async def test_a_thread_is_read_with_how_its_lane_stands(lanes: Lanes) -> None:
    status, thread = await lanes.call("GET", "lanes/beta/messages")
    assert status == 200
    assert thread["lane"] == {
        "participant": "beta",
        "status": "error",
        "error": "Key rejected.",
        "late": False,
        "name": "Beta",
        "model": "scripted/echo",
        "anchors": {"initial": lanes.message},
    }
    assert [(m["role"], m["status"]) for m in thread["messages"]] == [
        ("user", "completed"),
        ("assistant", "failed"),
    ]


async def test_nobody_has_no_thread(lanes: Lanes) -> None:
    status, problem = await lanes.call("GET", "lanes/omega/messages")
    assert (status, problem["detail"]) == (404, "Nobody called 'omega' has a lane in this run.")


async def test_a_stop_of_one_is_a_wish(lanes: Lanes) -> None:
    status, run = await lanes.call("POST", "lanes/alpha/stop")
    assert (status, run["id"], run["status"]) == (200, lanes.run, "running")
    wishes = await lanes.table.house.runs.pending_commands(lanes.run)
    assert (wishes.stop_reason, wishes.stopped_participants) == (None, ("alpha",))
    status, _ = await lanes.call("POST", "lanes/omega/stop")
    assert status == 404


async def test_a_retry_while_the_run_goes_on_is_heard_by_whoever_has_it(lanes: Lanes) -> None:
    status, run = await lanes.call("POST", "lanes/beta/retry")
    assert (status, run["status"], run["revision"]) == (202, "running", 1)
    assert lanes.taken_up == []
    again = (await lanes.table.house.runs.pending_commands(lanes.run)).retry
    assert again is not None
    assert again.retries == {"beta": 1}


@pytest.mark.parametrize("path", ["lanes/beta/retry", "retry-failed"])
async def test_a_retry_after_the_end_takes_the_run_up_again(lanes: Lanes, path: str) -> None:
    await lanes.pen.end()
    status, run = await lanes.call("POST", path)
    assert (status, run["status"], run["revision"], run["ended_at"]) == (202, "waiting", 1, None)
    assert lanes.taken_up == [(lanes.run, 1)]


@pytest.mark.parametrize("body", [None, {}, {"model": None}])
async def test_a_retry_without_a_model_keeps_it(lanes: Lanes, body: object) -> None:
    await lanes.call("POST", "lanes/beta/retry", body)
    plan = await lanes.table.house.runs.get_plan(lanes.run)
    assert plan.find_participant("beta").model == "scripted/echo"


async def test_a_retry_may_bring_another_model(lanes: Lanes) -> None:
    status, _ = await lanes.call("POST", "lanes/beta/retry", {"model": "scripted/steady"})
    assert status == 202
    plan = await lanes.table.house.runs.get_plan(lanes.run)
    assert [who.model for who in plan.participants] == ["scripted/echo", "scripted/steady"]


async def test_a_model_that_nobody_offers_is_refused_before_anything_changes(lanes: Lanes) -> None:
    status, problem = await lanes.call("POST", "lanes/beta/retry", {"model": "nobody/at-all"})
    assert (status, problem["errors"][0]["field"]) == (400, "model")
    report = await lanes.table.ok("GET", f"/api/runs/{lanes.run}")
    assert (report["revision"], report["lanes"][1]["status"]) == (0, "error")


@pytest.mark.parametrize("body", [{"models": "scripted/echo"}, {"model": 3}, []])
async def test_a_body_that_says_something_else_is_refused(lanes: Lanes, body: object) -> None:
    status, _ = await lanes.call("POST", "lanes/beta/retry", body)
    assert status == 400


async def test_what_has_not_failed_is_not_tried_again(lanes: Lanes) -> None:
    status, problem = await lanes.call("POST", "lanes/alpha/retry")
    assert (status, problem["detail"]) == (409, "Alpha has not failed: there is nothing to try again.")
    await lanes.call("POST", "retry-failed")
    status, problem = await lanes.call("POST", "retry-failed")
    assert status == 409
    assert problem["detail"] == "Nobody has failed in this run: there is nothing to try again."


async def test_a_run_that_is_being_stopped_is_waited_for(lanes: Lanes) -> None:
    await lanes.call("POST", "stop")
    for path in ("lanes/beta/retry", "retry-failed"):
        status, problem = await lanes.call("POST", path)
        assert (status, problem["detail"]) == (
            409,
            "This run is being stopped: wait for its end, then try again.",
        )


async def test_nobody_who_takes_no_part_is_tried_again(lanes: Lanes) -> None:
    status, problem = await lanes.call("POST", "lanes/omega/retry")
    assert (status, problem["detail"]) == (404, "Nobody called 'omega' takes part in this run.")


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
    assert reply.content.startswith(resync_frame(run))
    assert numbers(reply.text) == [1, 2, 3, 4, 5]


async def test_a_query_of_a_number_that_never_was_is_answered_as_the_header_is(table: Talking) -> None:
    run = await spoken(table)
    for number in ("6", "9" * 15):
        reply = await table.call("GET", f"/api/runs/{run}/events?after={number}")
        assert reply.content.startswith(resync_frame(run)), number
        assert numbers(reply.text) == [1, 2, 3, 4, 5]


async def test_a_run_that_ends_while_somebody_comes_back_is_told_to_its_end(
    table: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = (await table.open())["run"]["id"]
    await table.answer(run, "A ", status=None)
    standing = EventLog.run_progress

    async def ending_meanwhile(events: EventLog, tenant: str, id: str) -> RunProgress:
        monkeypatch.undo()
        found = await standing(events, tenant, id)
        await table.answer(run, "meeting.")
        return found

    monkeypatch.setattr(EventLog, "run_progress", ending_meanwhile)
    reply = await table.call("GET", f"/api/runs/{run}/events?after=2")
    assert numbers(reply.text) == [3, 4, 5]


async def test_a_stop_is_a_wish_and_a_run_that_is_over_stays_as_it_is(table: Talking) -> None:
    run = (await table.open())["run"]["id"]
    for body in ({"participant": "beta"}, {"participant": "alpha"}, {"participant": "beta"}):
        assert (await table.ok("POST", f"/api/runs/{run}/stop", body))["status"] == "waiting"
    assert (await table.house.runs.pending_commands(run)).stopped_participants == ("beta", "alpha")
    assert (await table.house.runs.pending_commands(run)).stop_reason is None
    await table.ok("POST", f"/api/runs/{run}/stop")
    assert (await table.house.runs.pending_commands(run)).stop_reason == "stopped_by_user"
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
