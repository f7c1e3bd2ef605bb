"""A lesson resumes after a kill at any point: finished turns, decisions and drawings stay."""

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
from moot.types.run_state import fold_events
from moot.whiteboard.state import replay_actions
from tests.support import lesson_scripts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.server_cluster import (
    FakeModelServer,
    ModelCall,
    RunReader,
    ServerCluster,
    completion_chunk,
    start_cluster_with_models,
)
from tests.support.waiting import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

model_numbers = count(1)
SPEAKER_ORDER = ["alpha", "beta", "gamma", "alpha"]
WITHHELD_CHARACTERS = 20  # characters of an answer that never come: its action is complete, and its speech is not


def is_director_call(call: ModelCall) -> bool:
    return lesson_scripts.DIRECTOR_PROMPT in call.prompt


class LessonModels(FakeModelServer):
    """Agents that each draw a note in every turn. One call can be cut off in the middle: the rest never comes."""

    def __init__(self) -> None:
        super().__init__()
        self.hold_rules: list[Callable[[ModelCall], bool]] = []
        self.held_calls: list[ModelCall] = []

    async def _stream_answer(self, request: web.Request, call: ModelCall) -> web.StreamResponse:
        name = call.model.partition("-")[0]
        answer = lesson_scripts.lesson_answer(
            lesson_scripts.draw_text_action(f"#{call.number}", f"{name}-{call.number}"),
            "This is it, is it not?",
        )
        if is_director_call(call):
            turn = int(call.prompt.rpartition("Turn ")[2].split()[0])
            answer = lesson_scripts.director_choice((SPEAKER_ORDER[turn - 1 :] or ["END"])[0])
        cut = next((hold for hold in self.hold_rules if hold(call)), None)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(completion_chunk(answer if cut is None else answer[:-WITHHELD_CHARACTERS]))
        if cut is not None:
            self.hold_rules.remove(cut)
            self.held_calls.append(call)
            await asyncio.Event().wait()
        await response.write(completion_chunk("", "stop") + b"data: [DONE]\n\n")
        await response.write_eof()
        call.finished = True
        return response

    async def wait_for_held_call(self) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not self.held_calls:
                await asyncio.sleep(0.005)


class LessonCluster(ServerCluster):
    """A server whose models take part in lessons."""

    @property
    def models(self) -> LessonModels:
        assert isinstance(self.model_server, LessonModels)
        return self.model_server

    async def open_lesson(self) -> tuple[RunReader, list[str]]:
        """Start a lesson of three models that no other lesson uses."""
        names = [f"{name}-{next(model_numbers)}" for name in ("alpha", "beta", "gamma")]
        self.models.held_calls.clear()
        return await self.open_discussion("directed", *names, directed={"turns": len(SPEAKER_ORDER)}), names

    def call_counts(self, names: list[str]) -> Counter[tuple[str, str]]:
        return Counter(
            (call.model.partition("-")[0], "decision" if is_director_call(call) else "turn")
            for call in self.models.calls
            if call.model in names
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LessonCluster]:
    async with start_cluster_with_models(
        LessonCluster, LessonModels(), request.param, tmp_path_factory.mktemp("lessons")
    ) as lesson_cluster:
        yield lesson_cluster


def call_matcher(name: str, *, decision: bool) -> Callable[[ModelCall], bool]:
    return lambda call: call.model.startswith(f"{name}-") and is_director_call(call) == decision


CALLS_WITHOUT_KILL = Counter(
    {
        ("alpha", "turn"): 2,
        ("beta", "turn"): 1,
        ("gamma", "turn"): 1,
        ("alpha", "decision"): len(SPEAKER_ORDER) - 1,
    }
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
async def test_lesson_resumes_after_kill_in_turn_or_decision(cluster: LessonCluster, who: str, decision: bool) -> None:
    cluster.models.hold_rules.append(call_matcher(who, decision=decision))
    reader, names = await cluster.open_lesson()
    await cluster.models.wait_for_held_call()
    if not decision:
        await reader.wait_until(lambda events: has_board_action(events, who))
    await cluster.kill_and_restart()
    assert await reader.wait_for_end() == "completed"
    events = reader.events
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [e["kind"] for e in events if e["type"] == "notice"] == ["resumed"]
    assert [e["next"] for e in events if e["type"] == "speaker_selected"] == [*SPEAKER_ORDER, "END"], (
        "each selection has one event"
    )
    assert [e["participant"] for e in events if e["type"] == "turn_ended"] == SPEAKER_ORDER
    cut = (who, "decision" if decision else "turn")
    assert cluster.call_counts(names) == CALLS_WITHOUT_KILL + Counter({cut: 1}), "only the interrupted call is repeated"
    await assert_lesson_complete(cluster, reader)


def has_board_action(events: list[Any], participant: str) -> bool:
    return any(e["type"] == "action" and e["participant"] == participant for e in events)


async def assert_lesson_complete(cluster: LessonCluster, reader: RunReader) -> None:
    """See that the board is what the log leads to, with one note for every turn."""
    log = [msgspec.convert(event, type=Event) for event in reader.events]
    notes = [element.id for element in replay_actions(fold_events(log).actions).elements]
    assert [note.partition("-")[0] for note in notes] == SPEAKER_ORDER
    for query in ("", f"?run={reader.run}"):
        board = await cluster.get_json(f"/api/discussions/{reader.discussion}/whiteboard{query}")
        assert [element["id"] for element in board["elements"]] == notes


async def test_lesson_stopped_before_kill_keeps_streamed_actions(
    cluster: LessonCluster,
) -> None:
    cluster.models.hold_rules += [call_matcher("beta", decision=False)] * 2
    reader, _ = await cluster.open_lesson()
    await reader.wait_until(lambda events: has_board_action(events, "beta"))
    await cluster.post_until_accepted(f"/api/runs/{reader.run}/stop", {})
    await cluster.kill_and_restart()
    assert await reader.wait_for_end() == "stopped"
    cluster.models.hold_rules.clear()
    *_, last = [e for e in reader.events if e["type"] == "turn_ended"]
    assert (last["participant"], last["status"]) == ("beta", "stopped")
    seen = [e for e in reader.events if e["type"] == "action" and e["participant"] == "beta"]
    assert seen[-1]["action"]["elementId"] in last["message"]["lesson_items"]
    board = await cluster.get_json(f"/api/discussions/{reader.discussion}/whiteboard")
    assert board["elements"][-1]["id"] == seen[-1]["action"]["elementId"]
