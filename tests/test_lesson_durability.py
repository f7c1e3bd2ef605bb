"""A lesson goes on wherever its server was killed: finished turns stay, and so do decisions and what was drawn."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web

from moot.types.events import Event
from moot.whiteboard.state import board_actions, replay_actions
from tests.api import lessons
from tests.chaos import Call, Ledger, Reader, Site, _delta, manned
from tests.databases import SLOW_ON_POSTGRES
from tests.store.hearing import SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

numbers = count(1)
TURNS = ["alpha", "beta", "gamma", "alpha"]
REST = 20  # characters of an answer that never come: its action is complete, and its speech is not


def is_decision(call: Call) -> bool:
    return lessons.DIRECTOR in call.prompt


class Class(Ledger):
    """Agents that each draw a note in every turn. One call can be cut off in the middle: the rest never comes."""

    def __init__(self) -> None:
        super().__init__()
        self.holds: list[Callable[[Call], bool]] = []
        self.held: list[Call] = []

    async def _speak(self, request: web.Request, call: Call) -> web.StreamResponse:
        name = call.model.partition("-")[0]
        answer = lessons.array(
            lessons.note(f"#{call.number}", f"{name}-{call.number}"), "This is it, is it not?"
        )
        if is_decision(call):
            turn = int(call.prompt.rpartition("Turn ")[2].split()[0])
            answer = lessons.chooses((TURNS[turn - 1 :] or ["END"])[0])
        cut = next((hold for hold in self.holds if hold(call)), None)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(_delta(answer if cut is None else answer[:-REST]))
        if cut is not None:
            self.holds.remove(cut)
            self.held.append(call)
            await asyncio.Event().wait()
        await response.write(_delta("", "stop") + b"data: [DONE]\n\n")
        await response.write_eof()
        call.finished = True
        return response

    async def are_held(self) -> None:
        async with asyncio.timeout(SECONDS):
            while not self.held:
                await asyncio.sleep(0.005)


class School(Site):
    """A server, and agents of lessons behind it."""

    @property
    def models(self) -> Class:
        assert isinstance(self.ledger, Class)
        return self.ledger

    async def lesson(self) -> tuple[Reader, list[str]]:
        """Open a lesson of three that nobody else has."""
        names = [f"{name}-{next(numbers)}" for name in ("alpha", "beta", "gamma")]
        self.models.held.clear()
        return await self.open("directed", *names, directed={"turns": len(TURNS)}), names

    def asked(self, names: list[str]) -> Counter[tuple[str, str]]:
        return Counter(
            (call.model.partition("-")[0], "decision" if is_decision(call) else "turn")
            for call in self.models.calls
            if call.model in names
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def school(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[School]:
    async with manned(School, Class(), request.param, tmp_path_factory.mktemp("school")) as school:
        yield school


def calls_to(name: str, *, decision: bool) -> Callable[[Call], bool]:
    return lambda call: call.model.startswith(f"{name}-") and is_decision(call) == decision


ONCE = Counter(
    {("alpha", "turn"): 2, ("beta", "turn"): 1, ("gamma", "turn"): 1, ("alpha", "decision"): len(TURNS) - 1}
)


@pytest.mark.parametrize(
    ("who", "decision"),
    [
        pytest.param("alpha", False, marks=pytest.mark.slow),
        ("beta", False),
        pytest.param("gamma", False, marks=pytest.mark.slow),
        ("alpha", True),
    ],
)
async def test_a_lesson_goes_on_wherever_it_was_killed(school: School, who: str, decision: bool) -> None:
    school.models.holds.append(calls_to(who, decision=decision))
    reader, names = await school.lesson()
    await school.models.are_held()
    if not decision:
        await reader.until(lambda events: is_drawing(events, who))
    await school.killed()
    assert await reader.ended() == "completed"
    events = reader.events
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [e["kind"] for e in events if e["type"] == "notice"] == ["resumed"]
    assert [e["next"] for e in events if e["type"] == "decision"] == [*TURNS, "END"], "each is told once"
    assert [e["participant"] for e in events if e["type"] == "turn_ended"] == TURNS
    cut = (who, "decision" if decision else "turn")
    assert school.asked(names) == ONCE + Counter({cut: 1}), "only what was cut off is asked again"
    await is_whole(school, reader)


def is_drawing(events: list[Any], who: str) -> bool:
    return any(e["type"] == "action" and e["participant"] == who for e in events)


async def is_whole(school: School, reader: Reader) -> None:
    """See that the board is what the log leads to, with one note for every turn."""
    log = [msgspec.convert(event, type=Event) for event in reader.events]
    notes = [element.id for element in replay_actions(board_actions(log)).elements]
    assert [note.partition("-")[0] for note in notes] == TURNS
    for query in ("", f"?run={reader.run}"):
        board = await school.get(f"/api/discussions/{reader.discussion}/board{query}")
        assert [element["id"] for element in board["elements"]] == notes


async def test_a_lesson_that_is_stopped_while_its_server_is_down_keeps_what_was_seen(school: School) -> None:
    school.models.holds += [calls_to("beta", decision=False)] * 2
    reader, _ = await school.lesson()
    await reader.until(lambda events: is_drawing(events, "beta"))
    await school.ask(f"/api/runs/{reader.run}/stop", {})
    await school.killed()
    assert await reader.ended() == "stopped"
    school.models.holds.clear()
    *_, last = [e for e in reader.events if e["type"] == "turn_ended"]
    assert (last["participant"], last["status"]) == ("beta", "stopped")
    seen = [e for e in reader.events if e["type"] == "action" and e["participant"] == "beta"]
    assert seen[-1]["action"]["elementId"] in last["message"]["script"]
    board = await school.get(f"/api/discussions/{reader.discussion}/board")
    assert board["elements"][-1]["id"] == seen[-1]["action"]["elementId"]
