"""Tools in a server process: calls, approvals, stops, reloads, and calls that a kill must not repeat."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.databases import SLOW_ON_POSTGRES, DatabaseKind, migrated_database_url
from tests.support.moot_server import MootServer, run_moot_server
from tests.support.tool_servers import TOOL_CALLING_SCRIPTS, TOOL_SERVER_COMMAND

SCRIPTS = (
    TOOL_CALLING_SCRIPTS
    + """
[hanger]
answer = "I note it."
answer_after_tool = "Done: {result}"
[hanger.tool]
name = "notes__write_and_hang"
arguments = '{"text": "one"}'
"""
)
TOOLS_TIMEOUT_SECONDS = 120.0

pytestmark = pytest.mark.asyncio(loop_scope="module")


class ToolSetup:
    """A server with a tool server, and the notes that this one writes."""

    def __init__(self, server: MootServer, notes: Path) -> None:
        self.server = server
        self._notes = notes

    @property
    def notes(self) -> list[str]:
        return self._notes.read_text("utf-8").splitlines() if self._notes.exists() else []

    def clear_notes(self) -> None:
        self._notes.unlink(missing_ok=True)

    async def open_discussion(self, *scripts: str, **more: Any) -> Any:
        participants = [{"model": f"scripted/{one}", "tools": ["notes"]} for one in scripts]
        body = {"message": "What is a moot?", "participants": participants, "language": "en", **more}
        reply = await self.server.post("/api/discussions", body)
        assert reply.status == 201, reply.text
        return reply.body

    async def read_until(self, run: str, condition: Callable[[Any], bool]) -> list[Any]:
        """Read a run from its start, to the first event that fulfils the condition."""
        seen: list[Any] = []
        async with (
            asyncio.timeout(TOOLS_TIMEOUT_SECONDS),
            aclosing(self.server.events(f"/api/runs/{run}/events")) as frames,
        ):
            async for frame in frames:
                seen.append(frame.data)
                if condition(frame.data):
                    break
        return seen

    async def wait_for_event(self, run: str, type_: str) -> Any:
        return (await self.read_until(run, lambda event: event["type"] == type_))[-1]

    async def wait_for_end(self, run: str) -> list[Any]:
        return await self.read_until(run, lambda event: event["type"] == "run_ended")

    async def answer_approval(self, run: str, call: str, answer: str) -> int:
        reply = await self.server.post(f"/api/runs/{run}/approvals/{call}", {"decision": answer})
        return reply.status

    async def last_message(self, discussion: str) -> Any:
        return (await self.server.get(f"/api/discussions/{discussion}")).body["messages"][-1]


@asynccontextmanager
async def run_tool_setup(kind: DatabaseKind, folder: Path, approve: str = "effects") -> AsyncIterator[ToolSetup]:
    (folder / "scripts.toml").write_text(SCRIPTS, "utf-8")
    notes = folder / "notes.txt"
    settings = (
        '[providers.scripted]\nscript = "scripts.toml"\n[tools.notes]\n'
        f'command = {json.dumps(TOOL_SERVER_COMMAND)}\nenv = ["NOTES"]\napprove = "{approve}"\n'
    )
    async with (
        migrated_database_url(kind, folder) as url,
        run_moot_server(folder, url, settings=settings, NOTES=str(notes)) as server,
    ):
        yield ToolSetup(server, notes)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def shared_tool_setup(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ToolSetup]:
    async with run_tool_setup(request.param, tmp_path_factory.mktemp("tools")) as setup:
        yield setup


@pytest.fixture
def tool_setup(shared_tool_setup: ToolSetup) -> ToolSetup:
    """A server with tools, without notes."""
    shared_tool_setup.clear_notes()
    return shared_tool_setup


def event_types(events: list[Any]) -> list[str]:
    return [event["type"] for event in events if not event["type"].endswith("_delta")]


async def test_tool_call_is_streamed_stored_and_in_transcript(tool_setup: ToolSetup) -> None:
    started = await tool_setup.open_discussion("reader")
    events = await tool_setup.wait_for_end(started["run"]["id"])
    assert event_types(events) == [
        "run_started",
        "turn_started",
        "tool_call",
        "tool_result",
        "turn_ended",
        "run_ended",
    ]
    turn = await tool_setup.last_message(started["discussion"]["id"])
    assert turn["content"] == "Let me look.\n\nIt says: moot: a meeting"
    (use,) = turn["tools"]
    assert (use["name"], use["content"], use["text_offset"]) == ("notes/look_up", "moot: a meeting", 12)
    path = f"/api/discussions/{started['discussion']['id']}/transcript"
    for form in ("md", "json", "html"):
        written = (await tool_setup.server.get(f"{path}.{form}")).text.replace("\\", "")
        assert "notes/look_up" in written
        assert written.count("moot: a meeting") > 1


async def test_run_calls_built_in_tool(tool_setup: ToolSetup) -> None:
    participant = {"model": "scripted/librarian", "tools": ["moot/search_knowledge"]}
    started = await tool_setup.open_discussion(participants=[participant])
    events = await tool_setup.wait_for_end(started["run"]["id"])
    (call,) = [event for event in events if event["type"] == "tool_call"]
    (result,) = [event for event in events if event["type"] == "tool_result"]
    assert (call["call_id"], call["name"]) == (result["call_id"], "moot/search_knowledge")
    assert (result["content"].partition(".")[0], result["is_error"]) == ("Nothing was found", False)
    turn = await tool_setup.last_message(started["discussion"]["id"])
    assert turn["content"].endswith(f"This is what is known:\n\n{result['content']}")
    assert [use["name"] for use in turn["tools"]] == ["moot/search_knowledge"]


async def test_pending_approval_does_not_block_other_lane(tool_setup: ToolSetup) -> None:
    run = (await tool_setup.open_discussion("writer", "reader", mode="parallel"))["run"]["id"]
    wanted = await tool_setup.wait_for_event(run, "approval_requested")
    assert (wanted["participant"], wanted["name"]) == ("alpha", "notes/write_down")
    other = await tool_setup.wait_for_event(run, "turn_ended")
    assert (other["participant"], other["status"], tool_setup.notes) == ("beta", "completed", [])
    assert await tool_setup.answer_approval(run, wanted["call_id"], "allow") == 204
    assert (await tool_setup.wait_for_end(run))[-1]["status"] == "completed"
    assert tool_setup.notes == ["one"]
    assert await tool_setup.answer_approval(run, wanted["call_id"], "allow") == 409


async def test_approval_always_lasts_for_discussion_and_refusal_reaches_model(
    tool_setup: ToolSetup,
) -> None:
    started = await tool_setup.open_discussion("writer")
    run, discussion = started["run"]["id"], started["discussion"]["id"]
    await tool_setup.answer_approval(
        run, (await tool_setup.wait_for_event(run, "approval_requested"))["call_id"], "refuse"
    )
    await tool_setup.wait_for_end(run)
    turn = await tool_setup.last_message(discussion)
    assert "Done: The person refused this call." in turn["content"]
    assert (turn["tools"][0]["is_error"], tool_setup.notes) == (True, [])
    for needs_approval in (True, False):
        sent = await tool_setup.server.post(f"/api/discussions/{discussion}/messages", {"message": "Again."})
        run = sent.body["run"]["id"]
        if needs_approval:
            wanted = await tool_setup.wait_for_event(run, "approval_requested")
            await tool_setup.answer_approval(run, wanted["call_id"], "always")
        assert ("approval_requested" in event_types(await tool_setup.wait_for_end(run))) is needs_approval
    assert tool_setup.notes == ["one", "one"]


async def test_stop_cancels_pending_approval_and_running_tool_call(tool_setup: ToolSetup) -> None:
    run = (await tool_setup.open_discussion("writer"))["run"]["id"]
    wanted = await tool_setup.wait_for_event(run, "approval_requested")
    await tool_setup.server.post(f"/api/runs/{run}/stop")
    events = await tool_setup.wait_for_end(run)
    assert [event["outcome"] for event in events if event["type"] == "approval_resolved"] == ["stopped"]
    assert (events[-1]["status"], tool_setup.notes) == ("stopped", [])
    assert await tool_setup.answer_approval(run, wanted["call_id"], "allow") == 409
    run = (await tool_setup.open_discussion("hanger"))["run"]["id"]
    await tool_setup.answer_approval(
        run, (await tool_setup.wait_for_event(run, "approval_requested"))["call_id"], "allow"
    )
    async with asyncio.timeout(TOOLS_TIMEOUT_SECONDS):
        while not tool_setup.notes:
            await asyncio.sleep(0.02)
    await tool_setup.server.post(f"/api/runs/{run}/stop")
    assert (await tool_setup.wait_for_end(run))[-1]["status"] == "stopped"


async def test_kill_during_approval_requests_it_again_and_invalidates_old_request(
    tool_setup: ToolSetup,
) -> None:
    run = (await tool_setup.open_discussion("writer"))["run"]["id"]
    old = await tool_setup.wait_for_event(run, "approval_requested")
    tool_setup.server.kill()
    await tool_setup.server.start()
    new = (
        await tool_setup.read_until(
            run, lambda event: event["type"] == "approval_requested" and event["seq"] > old["seq"]
        )
    )[-1]
    assert (new["call_id"] != old["call_id"], new["repeated"]) == (True, False)
    assert await tool_setup.answer_approval(run, old["call_id"], "allow") == 409
    assert await tool_setup.answer_approval(run, new["call_id"], "allow") == 204
    assert (await tool_setup.wait_for_end(run))[-1]["status"] == "completed"
    assert tool_setup.notes == ["one"]


@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_tool_call_started_before_kill_is_repeated_only_after_approval(
    kind: DatabaseKind, tmp_path: Path
) -> None:
    async with run_tool_setup(kind, tmp_path, approve="never") as setup:
        run = (await setup.open_discussion("hanger"))["run"]["id"]
        async with asyncio.timeout(TOOLS_TIMEOUT_SECONDS):
            while not setup.notes:
                await asyncio.sleep(0.02)
        setup.server.kill()
        await setup.server.start()
        wanted = await setup.wait_for_event(run, "approval_requested")
        assert wanted["repeated"]
        assert await setup.answer_approval(run, wanted["call_id"], "refuse") == 204
        assert (await setup.wait_for_end(run))[-1]["status"] == "completed"
        assert setup.notes == ["one"]
