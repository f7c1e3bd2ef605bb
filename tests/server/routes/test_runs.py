"""The routes of lanes and runs: replies, errors and stored commands."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from moot.server.sse import HEARTBEAT_FRAME, resync_frame
from moot.store.database import Database
from moot.store.runs.event_log import EventLog, RunProgress
from moot.types.discussions import Run
from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.debates import RunWriter, make_lane, make_turn

DEBATE_BODY = {"participants": ["scripted/echo", "scripted/echo"], "mode": "debate"}


class DebateLanes:
    """A debate of two participants in which Beta failed. No worker executes it."""

    def __init__(self, local_app: LocalApp, run: str, message: str, run_writer: RunWriter) -> None:
        self.local_app = local_app
        self.run = run
        self.message = message
        self.run_writer = run_writer
        self.restarted_runs: list[tuple[str, int]] = []
        local_app.services.retries._start = lambda run, revision: self.restarted_runs.append((run, revision))

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        response = await self.local_app.call(method, f"/api/runs/{self.run}/{path}", body)
        return response.status_code, response.json()


@pytest.fixture
async def debate_lanes(database: Database) -> AsyncIterator[DebateLanes]:
    async with create_local_app(database) as app:
        opened = await app.create_discussion(**DEBATE_BODY)
        run = opened["run"]["id"]
        lease = await app.services.runs.acquire_lease(run, app.worker.id)
        assert lease is not None
        writer = RunWriter(database, lease)
        await writer.write_records(
            [make_turn(lease, "alpha"), make_turn(lease, "beta", status="failed")],
            [make_lane("alpha", "debate"), make_lane("beta", error="Key rejected.")],
        )
        yield DebateLanes(app, run, opened["message"]["id"], writer)


async def test_lane_messages_contain_lane_status(debate_lanes: DebateLanes) -> None:
    status, thread = await debate_lanes.call("GET", "lanes/beta/messages")
    assert status == 200
    assert thread["lane"] == {
        "participant": "beta",
        "status": "error",
        "error": "Key rejected.",
        "late": False,
        "name": "Beta",
        "model": "scripted/echo",
        "anchors": {"initial": debate_lanes.message},
    }
    assert [(m["role"], m["status"]) for m in thread["messages"]] == [
        ("user", "completed"),
        ("assistant", "failed"),
    ]


async def test_lane_messages_of_unknown_participant_return_404(debate_lanes: DebateLanes) -> None:
    status, problem = await debate_lanes.call("GET", "lanes/omega/messages")
    assert (status, problem["detail"]) == (404, "There is no lane 'omega' in this run.")


async def test_stop_lane_stores_stop_request(debate_lanes: DebateLanes) -> None:
    status, run = await debate_lanes.call("POST", "lanes/alpha/stop")
    assert (status, run["id"], run["status"]) == (200, debate_lanes.run, "running")
    commands = await debate_lanes.local_app.services.runs.pending_commands(debate_lanes.run)
    assert (commands.stop_reason, commands.stopped_participants) == (None, ("alpha",))
    status, _ = await debate_lanes.call("POST", "lanes/omega/stop")
    assert status == 404


async def test_retry_of_active_run_is_left_to_its_worker(debate_lanes: DebateLanes) -> None:
    status, run = await debate_lanes.call("POST", "lanes/beta/retry")
    assert (status, run["status"], run["revision"]) == (202, "running", 1)
    assert debate_lanes.restarted_runs == []
    again = (await debate_lanes.local_app.services.runs.pending_commands(debate_lanes.run)).retry
    assert again is not None
    assert again.retries == {"beta": 1}


@pytest.mark.parametrize("path", ["lanes/beta/retry", "retry-failed"])
async def test_retry_of_ended_run_restarts_it(debate_lanes: DebateLanes, path: str) -> None:
    await debate_lanes.run_writer.end_run()
    status, run = await debate_lanes.call("POST", path)
    assert (status, run["status"], run["revision"], run["ended_at"]) == (202, "waiting", 1, None)
    assert debate_lanes.restarted_runs == [(debate_lanes.run, 1)]


@pytest.mark.parametrize("body", [None, {}, {"model": None}])
async def test_retry_without_model_keeps_model(debate_lanes: DebateLanes, body: object) -> None:
    await debate_lanes.call("POST", "lanes/beta/retry", body)
    plan = await debate_lanes.local_app.services.runs.get_plan(debate_lanes.run)
    assert plan.find_participant("beta").model == "scripted/echo"


async def test_retry_with_model_changes_plan(debate_lanes: DebateLanes) -> None:
    status, _ = await debate_lanes.call("POST", "lanes/beta/retry", {"model": "scripted/steady"})
    assert status == 202
    plan = await debate_lanes.local_app.services.runs.get_plan(debate_lanes.run)
    assert [who.model for who in plan.participants] == ["scripted/echo", "scripted/steady"]


async def test_retry_with_unknown_model_changes_nothing(
    debate_lanes: DebateLanes,
) -> None:
    status, problem = await debate_lanes.call("POST", "lanes/beta/retry", {"model": "nobody/at-all"})
    assert (status, problem["errors"][0]["field"]) == (400, "model")
    report = await debate_lanes.local_app.call_ok("GET", f"/api/runs/{debate_lanes.run}")
    assert (report["revision"], report["lanes"][1]["status"]) == (0, "error")


@pytest.mark.parametrize("body", [{"models": "scripted/echo"}, {"model": 3}, []])
async def test_retry_rejects_invalid_body(debate_lanes: DebateLanes, body: object) -> None:
    status, _ = await debate_lanes.call("POST", "lanes/beta/retry", body)
    assert status == 400


async def test_retry_conflicts_when_nothing_failed(debate_lanes: DebateLanes) -> None:
    status, problem = await debate_lanes.call("POST", "lanes/alpha/retry")
    assert (status, problem["detail"]) == (409, "Alpha has not failed. There is nothing to retry.")
    await debate_lanes.call("POST", "retry-failed")
    status, problem = await debate_lanes.call("POST", "retry-failed")
    assert status == 409
    assert problem["detail"] == "No participant has failed in this run. There is nothing to retry."


async def test_retry_conflicts_while_run_is_stopping(debate_lanes: DebateLanes) -> None:
    await debate_lanes.call("POST", "stop")
    for path in ("lanes/beta/retry", "retry-failed"):
        status, problem = await debate_lanes.call("POST", path)
        assert (status, problem["detail"]) == (
            409,
            "This run is being stopped. Wait until it ends, then retry.",
        )


async def test_retry_of_unknown_participant_returns_404(debate_lanes: DebateLanes) -> None:
    status, problem = await debate_lanes.call("POST", "lanes/omega/retry")
    assert (status, problem["detail"]) == (404, "This run has no participant 'omega'.")


@pytest.fixture
async def local_app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        yield app


async def create_ended_run(local_app: LocalApp) -> str:
    """Create a completed run with five events."""
    run: str = (await local_app.create_discussion())["run"]["id"]
    await local_app.record_answer(run, "A ", "meeting ", "of minds.")
    return run


def event_ids(text: str) -> list[int]:
    return [int(line.removeprefix("id: ")) for line in text.split("\n") if line.startswith("id: ")]


async def test_get_run_returns_status_and_report(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    path = f"/api/runs/{opened['run']['id']}"
    found = await local_app.call_ok("GET", path)
    assert opened["run"].items() <= found.items()
    assert (found["lanes"], found["summary"], found["cost_usd"]) == ([], None, 0)
    await local_app.record_answer(opened["run"]["id"], "A meeting.")
    over = msgspec.convert(await local_app.call_ok("GET", path), Run)
    assert over.status == "completed"
    assert over.ended_at is not None


async def test_run_events_have_ids_and_resume_after_any_id(local_app: LocalApp) -> None:
    path = f"/api/runs/{await create_ended_run(local_app)}/events"
    everything = await local_app.call("GET", path)
    assert everything.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert everything.headers["Cache-Control"] == "no-store"
    assert everything.content.startswith(HEARTBEAT_FRAME + b"id: 1\ndata: {")
    assert event_ids(everything.text) == [1, 2, 3, 4, 5]
    for number in range(5):
        later = list(range(number + 1, 6))
        assert event_ids((await local_app.call("GET", f"{path}?after={number}")).text) == later
        assert event_ids((await local_app.call("GET", path, **{"Last-Event-ID": str(number)})).text) == later
    assert (await local_app.call("GET", f"{path}?after=5")).status_code == 204


async def test_last_event_id_header_overrides_after_query(local_app: LocalApp) -> None:
    path = f"/api/runs/{await create_ended_run(local_app)}/events?after=1"
    assert event_ids((await local_app.call("GET", path, **{"Last-Event-ID": "4"})).text) == [5]


@pytest.mark.parametrize("number", ["6", "abc", "", "-1", "+1", " 1x", "1" * 16, "\u0663"])
async def test_invalid_last_event_id_resyncs_from_start(local_app: LocalApp, number: str) -> None:
    run = await create_ended_run(local_app)
    path = f"/api/runs/{run}/events"
    headers = {b"Last-Event-ID": number.encode()}
    reply = await local_app.client.get(path, headers=list(headers.items()))
    assert reply.content.startswith(resync_frame(run))
    assert event_ids(reply.text) == [1, 2, 3, 4, 5]


async def test_after_query_beyond_last_event_resyncs_from_start(local_app: LocalApp) -> None:
    run = await create_ended_run(local_app)
    for number in ("6", "9" * 15):
        reply = await local_app.call("GET", f"/api/runs/{run}/events?after={number}")
        assert reply.content.startswith(resync_frame(run)), number
        assert event_ids(reply.text) == [1, 2, 3, 4, 5]


async def test_run_ending_during_resume_is_streamed_to_its_end(
    local_app: LocalApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = (await local_app.create_discussion())["run"]["id"]
    await local_app.record_answer(run, "A ", status=None)
    read_progress = EventLog.run_progress

    async def ending_meanwhile(events: EventLog, tenant: str, id: str) -> RunProgress:
        monkeypatch.undo()
        found = await read_progress(events, tenant, id)
        await local_app.record_answer(run, "meeting.")
        return found

    monkeypatch.setattr(EventLog, "run_progress", ending_meanwhile)
    reply = await local_app.call("GET", f"/api/runs/{run}/events?after=2")
    assert event_ids(reply.text) == [3, 4, 5]


async def test_stop_run_stores_request_and_leaves_ended_run_unchanged(local_app: LocalApp) -> None:
    run = (await local_app.create_discussion())["run"]["id"]
    for body in ({"participant": "beta"}, {"participant": "alpha"}, {"participant": "beta"}):
        assert (await local_app.call_ok("POST", f"/api/runs/{run}/stop", body))["status"] == "waiting"
    assert (await local_app.services.runs.pending_commands(run)).stopped_participants == ("beta", "alpha")
    assert (await local_app.services.runs.pending_commands(run)).stop_reason is None
    await local_app.call_ok("POST", f"/api/runs/{run}/stop")
    assert (await local_app.services.runs.pending_commands(run)).stop_reason == "stopped_by_user"
    reply = await local_app.call("POST", f"/api/runs/{run}/stop", {"participant": "omega"})
    assert reply.status_code == 404

    await local_app.record_answer(run, "A meeting.")
    assert (await local_app.call_ok("POST", f"/api/runs/{run}/stop"))["status"] == "completed"
    reply = await local_app.call("POST", f"/api/runs/{run}/stop", {"participant": "omega"})
    assert reply.status_code == 404


async def test_activity_counts_active_runs_per_discussion(local_app: LocalApp) -> None:
    assert await local_app.call_ok("GET", "/api/activity") == []
    one, two = await local_app.create_discussion(), await local_app.create_discussion()
    more = await local_app.call_ok("POST", f"/api/discussions/{two['discussion']['id']}/messages", {"message": "And?"})
    ids = [opened["discussion"]["id"] for opened in (one, two)]
    activity = await local_app.call_ok("GET", "/api/activity")
    assert activity == [{"discussion": ids[0], "runs": 1}, {"discussion": ids[1], "runs": 2}]
    await local_app.record_answer(one["run"]["id"], "A meeting.")
    await local_app.record_answer(more["run"]["id"], "A meeting.")
    assert await local_app.call_ok("GET", "/api/activity") == [{"discussion": ids[1], "runs": 1}]
