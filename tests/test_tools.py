"""Tools in a server that is a process of its own: calls, questions, stops, reloads, and what a kill must not repeat."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.databases import SLOW_ON_POSTGRES, Kind, migrated_url
from tests.serving import MootServer, serving
from tests.tools.servers import COMMAND, READER_AND_WRITER

SCRIPTS = (
    READER_AND_WRITER
    + """
[hanger]
answer = "I note it."
then = "Done: {result}"
[hanger.tool]
name = "notes__write_and_hang"
arguments = '{"text": "one"}'
"""
)
PATIENCE = 120.0

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Place:
    """A server with a tool server, and the notes that this one writes."""

    def __init__(self, server: MootServer, notes: Path) -> None:
        self.server = server
        self._notes = notes

    @property
    def notes(self) -> list[str]:
        return self._notes.read_text("utf-8").splitlines() if self._notes.exists() else []

    def forget(self) -> None:
        self._notes.unlink(missing_ok=True)

    async def open(self, *scripts: str, **more: Any) -> Any:
        seats = [{"model": f"scripted/{one}", "tools": ["notes"]} for one in scripts]
        body = {"message": "What is a moot?", "participants": seats, "language": "en", **more}
        reply = await self.server.post("/api/discussions", body)
        assert reply.status == 201, reply.text
        return reply.body

    async def heard(self, run: str, until: Callable[[Any], bool]) -> list[Any]:
        """Read a run from its start, to the first event that is waited for."""
        seen: list[Any] = []
        async with (
            asyncio.timeout(PATIENCE),
            aclosing(self.server.events(f"/api/runs/{run}/events")) as frames,
        ):
            async for frame in frames:
                seen.append(frame.data)
                if until(frame.data):
                    break
        return seen

    async def of_type(self, run: str, type_: str) -> Any:
        return (await self.heard(run, lambda event: event["type"] == type_))[-1]

    async def ended(self, run: str) -> list[Any]:
        return await self.heard(run, lambda event: event["type"] == "run_ended")

    async def answer(self, run: str, call: str, answer: str) -> int:
        reply = await self.server.post(f"/api/runs/{run}/approvals/{call}", {"answer": answer})
        return reply.status

    async def turn(self, discussion: str) -> Any:
        return (await self.server.get(f"/api/discussions/{discussion}")).body["messages"][-1]


@asynccontextmanager
async def place(kind: Kind, folder: Path, approve: str = "effects") -> AsyncIterator[Place]:
    (folder / "scripts.toml").write_text(SCRIPTS, "utf-8")
    notes = folder / "notes.txt"
    settings = (
        '[providers.scripted]\nscript = "scripts.toml"\n[tools.notes]\n'
        f'command = {json.dumps(COMMAND)}\nenv = ["NOTES"]\napprove = "{approve}"\n'
    )
    async with (
        migrated_url(kind, folder) as url,
        serving(folder, url, settings=settings, NOTES=str(notes)) as server,
    ):
        yield Place(server, notes)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    async with place(request.param, tmp_path_factory.mktemp("tools")) as here:
        yield here


@pytest.fixture
def here(shared: Place) -> Place:
    """A place in which nothing is noted yet."""
    shared.forget()
    return shared


def types(events: list[Any]) -> list[str]:
    return [event["type"] for event in events if not event["type"].endswith("_delta")]


async def test_a_call_is_streamed_stored_and_told_in_a_transcript(here: Place) -> None:
    started = await here.open("reader")
    events = await here.ended(started["run"]["id"])
    assert types(events) == [
        "run_started",
        "turn_started",
        "tool_call",
        "tool_result",
        "turn_ended",
        "run_ended",
    ]
    turn = await here.turn(started["discussion"]["id"])
    assert turn["content"] == "Let me look.\n\nIt says: moot: a meeting"
    (use,) = turn["tools"]
    assert (use["name"], use["content"], use["said"]) == ("notes/look_up", "moot: a meeting", 12)
    path = f"/api/discussions/{started['discussion']['id']}/transcript"
    for form in ("md", "json", "html"):
        written = (await here.server.get(f"{path}.{form}")).text.replace("\\", "")
        assert "notes/look_up" in written
        assert written.count("moot: a meeting") > 1


async def test_a_run_calls_a_tool_of_moot_s_own(here: Place) -> None:
    seat = {"model": "scripted/librarian", "tools": ["moot/search_knowledge"]}
    started = await here.open(participants=[seat])
    events = await here.ended(started["run"]["id"])
    (call,) = [event for event in events if event["type"] == "tool_call"]
    (result,) = [event for event in events if event["type"] == "tool_result"]
    assert (call["call_id"], call["name"]) == (result["call_id"], "moot/search_knowledge")
    assert (result["content"].partition(".")[0], result["is_error"]) == ("Nothing was found", False)
    turn = await here.turn(started["discussion"]["id"])
    assert turn["content"].endswith(f"This is what is known:\n\n{result['content']}")
    assert [use["name"] for use in turn["tools"]] == ["moot/search_knowledge"]


async def test_somebody_is_asked_and_the_other_lane_goes_on(here: Place) -> None:
    run = (await here.open("writer", "reader", mode="parallel"))["run"]["id"]
    wanted = await here.of_type(run, "approval_wanted")
    assert (wanted["participant"], wanted["name"]) == ("alpha", "notes/write_down")
    other = await here.of_type(run, "turn_ended")
    assert (other["participant"], other["status"], here.notes) == ("beta", "completed", [])
    assert await here.answer(run, wanted["call_id"], "allow") == 204
    assert (await here.ended(run))[-1]["status"] == "completed"
    assert here.notes == ["one"]
    assert await here.answer(run, wanted["call_id"], "allow") == 409


async def test_always_is_for_the_rest_of_the_discussion_and_a_refusal_is_told_to_the_model(
    here: Place,
) -> None:
    started = await here.open("writer")
    run, discussion = started["run"]["id"], started["discussion"]["id"]
    await here.answer(run, (await here.of_type(run, "approval_wanted"))["call_id"], "refuse")
    await here.ended(run)
    turn = await here.turn(discussion)
    assert "Done: The person refused this call." in turn["content"]
    assert (turn["tools"][0]["is_error"], here.notes) == (True, [])
    for asked in (True, False):
        said = await here.server.post(f"/api/discussions/{discussion}/messages", {"message": "Again."})
        run = said.body["run"]["id"]
        if asked:
            wanted = await here.of_type(run, "approval_wanted")
            await here.answer(run, wanted["call_id"], "always")
        assert ("approval_wanted" in types(await here.ended(run))) is asked
    assert here.notes == ["one", "one"]


async def test_a_stop_ends_the_question_and_a_call(here: Place) -> None:
    run = (await here.open("writer"))["run"]["id"]
    wanted = await here.of_type(run, "approval_wanted")
    await here.server.post(f"/api/runs/{run}/stop")
    events = await here.ended(run)
    assert [event["answer"] for event in events if event["type"] == "approval"] == ["stopped"]
    assert (events[-1]["status"], here.notes) == ("stopped", [])
    assert await here.answer(run, wanted["call_id"], "allow") == 409
    run = (await here.open("hanger"))["run"]["id"]
    await here.answer(run, (await here.of_type(run, "approval_wanted"))["call_id"], "allow")
    async with asyncio.timeout(PATIENCE):
        while not here.notes:
            await asyncio.sleep(0.02)
    await here.server.post(f"/api/runs/{run}/stop")
    assert (await here.ended(run))[-1]["status"] == "stopped"


async def test_a_kill_while_somebody_is_asked_asks_anew_and_the_old_question_is_void(here: Place) -> None:
    run = (await here.open("writer"))["run"]["id"]
    old = await here.of_type(run, "approval_wanted")
    here.server.kill()
    await here.server.start()
    new = (
        await here.heard(run, lambda event: event["type"] == "approval_wanted" and event["seq"] > old["seq"])
    )[-1]
    assert (new["call_id"] != old["call_id"], new["again"]) == (True, False)
    assert await here.answer(run, old["call_id"], "allow") == 409
    assert await here.answer(run, new["call_id"], "allow") == 204
    assert (await here.ended(run))[-1]["status"] == "completed"
    assert here.notes == ["one"]


@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_a_call_that_had_begun_is_not_silently_made_again_after_a_kill(
    kind: Kind, tmp_path: Path
) -> None:
    async with place(kind, tmp_path, approve="never") as here:
        run = (await here.open("hanger"))["run"]["id"]
        async with asyncio.timeout(PATIENCE):
            while not here.notes:
                await asyncio.sleep(0.02)
        here.server.kill()
        await here.server.start()
        wanted = await here.of_type(run, "approval_wanted")
        assert wanted["again"]
        assert await here.answer(run, wanted["call_id"], "refuse") == 204
        assert (await here.ended(run))[-1]["status"] == "completed"
        assert here.notes == ["one"]
