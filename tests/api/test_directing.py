"""Journeys through a lesson: who has the word and why, what is said and drawn, and what becomes of bad answers."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from moot.prompts.templates import load_template
from moot.types.events import Event
from moot.whiteboard.render.png import render_png
from moot.whiteboard.state import board_actions, replay_actions
from tests.api import lessons
from tests.api.journey import Journey, ended

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLE = [
    {"model": "lab/teacher", "role": "teacher"},
    {"model": "lab/assistant", "role": "assistant"},
    {"model": "lab/student", "role": "student"},
    {"model": "lab/classmate", "role": "student"},
]
QUESTION = "Why do the odd numbers add up to squares?"


async def opened(journey: Journey, *models: str | dict[str, str], **more: Any) -> tuple[str, str]:
    """Open a lesson, and return its discussion and its run."""
    body = {"mode": "directed", "message": QUESTION, **more}
    started = await journey.open(*models, **body)  # type: ignore[arg-type]
    return started["discussion"]["id"], started["run"]["id"]


async def picture(journey: Journey, discussion: str, query: str = "") -> bytes:
    url = f"{journey.server.url}/api/discussions/{discussion}/board.png{query}"
    async with journey.server.http.get(url) as response:
        assert response.status == 200, await response.text()
        assert response.headers["Content-Type"] == "image/png"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        return await response.read()


async def elements(journey: Journey, discussion: str, query: str = "") -> list[str]:
    reply = await journey.server.get(f"/api/discussions/{discussion}/board{query}")
    assert reply.status == 200, reply.text
    return [element["id"] for element in reply.body["elements"]]


async def first(journey: Journey, run: str, kind: str) -> Any:
    """Wait for the first event of a kind."""
    async with aclosing(journey.server.events(f"/api/runs/{run}/events")) as frames:
        async for frame in frames:
            if frame.data["type"] == kind:
                return frame.data
    raise AssertionError(f"there was no {kind}")


def decisions(events: list[Any]) -> list[tuple[str, str]]:
    return [(e["next"], e["by"]) for e in events if e["type"] == "decision"]


def turns(events: list[Any]) -> list[tuple[str, str]]:
    return [(e["participant"], e["status"]) for e in events if e["type"] == "turn_ended"]


def typed(events: Sequence[Any]) -> list[Event]:
    return [msgspec.convert(event, type=Event) for event in events]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sample(journey: Journey) -> tuple[str, str, list[Any]]:
    """The sample lesson when it is over: its discussion, its run and its events."""
    discussion, run = await opened(journey, *SAMPLE)
    return discussion, run, await journey.server.heard(run)


async def test_the_sample_lesson_to_its_end(journey: Journey, sample: tuple[str, str, list[Any]]) -> None:
    discussion, _, events = sample
    assert events[-1]["status"] == "completed", events[-3:]
    assert decisions(events) == [
        ("alpha", "rules"),
        ("gamma", "model"),
        ("beta", "model"),
        ("delta", "model"),
        ("beta", "model"),
        ("alpha", "model"),
        ("gamma", "model"),
        ("USER", "model"),
    ]
    assert turns(events) == [(who, "completed") for who, _ in decisions(events)[:-1]]
    assert [e["round"] for e in events if e["type"] == "turn_started"] == list(range(7))
    assert [e["name"] for e in events if e["type"] == "action_dropped"] == ["spotlight"]
    assert not [e for e in events if e["type"] == "notice"]
    kinds = [e["type"] for e in events]
    opening = kinds[: kinds.index("turn_ended")]
    assert opening[:5] == ["run_started", "decision", "stage_started", "prompted", "turn_started"]
    assert [kind for kind, after in pairwise([*opening[5:], ""]) if kind != after] == [
        "action",
        "text_delta",
        "action",
        "text_delta",
    ]
    messages = [m for m in (await journey.read(discussion))["messages"] if m["role"] == "assistant"]
    assert [m["content"] for m in messages][:2] == [
        "One plus three is four, plus five is nine. Could that be more than luck?",
        "Why does it never miss a square?",
    ]


async def test_the_board_now_of_a_run_and_at_every_event_is_what_the_log_leads_to(
    journey: Journey, sample: tuple[str, str, list[Any]]
) -> None:
    discussion, run, events = sample
    last = events[-1]["seq"]
    whole = ["title", "odd-law", "code-odd", "sums", "growing-square", "edge"]
    assert await elements(journey, discussion) == whole
    assert await elements(journey, discussion, f"?run={run}") == whole
    assert await elements(journey, discussion, f"?run={run}&seq=0") == []
    for event in [e for e in events if e["type"] == "action"][:3]:
        then = board_actions(typed(events[: event["seq"]]))
        shown = await elements(journey, discussion, f"?run={run}&seq={event['seq']}")
        assert shown == [element.id for element in replay_actions(then).elements]

    now = await picture(journey, discussion)
    assert now.startswith(b"\x89PNG")
    assert now == render_png(replay_actions(board_actions(typed(events)))), (
        "whoever replays the log draws the same"
    )
    assert now == await picture(journey, discussion, f"?run={run}&seq={last}")
    assert now != await picture(journey, discussion, f"?run={run}&seq=0")
    svg = await journey.server.get(f"/api/discussions/{discussion}/board.svg")
    assert svg.headers["Content-Type"].startswith("image/svg+xml")
    assert "sandbox" in svg.headers["Content-Security-Policy"]
    assert all(f'id="{id}"' in svg.text for id in whole)


async def test_the_board_stays_for_what_is_asked_next(journey: Journey) -> None:
    discussion, first = await opened(journey, "lab/drawer", directed={"turns": 1})
    await journey.server.heard(first)
    second = (await journey.say(discussion, "And then?"))["run"]["id"]
    events = await journey.server.heard(second)
    assert turns(events) == [("alpha", "completed")]
    assert await elements(journey, discussion) == ["one", "two", "one-2", "two-2"]
    assert await elements(journey, discussion, f"?run={first}") == ["one", "two"]
    assert await elements(journey, discussion, f"?run={second}&seq=0") == ["one", "two"]
    assert await picture(journey, discussion) == await picture(journey, discussion, f"?run={second}")
    told = str(journey.lab.bodies[-1]["messages"])
    assert '"elementId":"one"' in told.replace("\\", ""), "its own turn comes back as the array"
    assert "- one: text" in told, "and the board in words"


async def test_a_stop_in_the_middle_keeps_what_was_said_and_drawn(journey: Journey) -> None:
    discussion, run = await opened(journey, "lab/lecturer", "lab/listener")
    await journey.until_speaking(run)
    assert await elements(journey, discussion) == ["one"], "while it goes on"
    await journey.server.post(f"/api/runs/{run}/stop")
    events = await journey.server.heard(run)
    assert (ended(events, "alpha")["status"], events[-1]["status"]) == ("stopped", "stopped")
    assert decisions(events) == [("alpha", "rules")]
    assert (
        await elements(journey, discussion) == await elements(journey, discussion, f"?run={run}") == ["one"]
    )
    second = (await journey.say(discussion, "Go on, Beta."))["run"]["id"]
    assert (await first(journey, second, "decision"))["next"] == "beta"
    await journey.server.post(f"/api/runs/{second}/stop")


async def test_one_who_is_stopped_is_not_asked_again_and_the_others_go_on(journey: Journey) -> None:
    _, run = await opened(journey, "lab/lecturer", "lab/listener", "lab/listener", directed={"turns": 4})
    await journey.until_speaking(run)
    await journey.server.post(f"/api/runs/{run}/stop", {"participant": "alpha"})
    events = await journey.server.heard(run)
    assert events[-1]["status"] == "completed"
    assert [who for who, _ in turns(events)] == ["alpha", "beta", "gamma", "beta"]


@pytest.mark.parametrize("director", ["vain", "lost", "rambling"])
async def test_a_director_that_names_nobody_who_may_speak_is_replaced_by_the_rules(
    journey: Journey, director: str
) -> None:
    _, run = await opened(journey, f"lab/{director}", "lab/listener", "lab/listener", directed={"turns": 5})
    events = await journey.server.heard(run)
    assert events[-1]["status"] == "completed"
    assert {who for who, _ in turns(events)} == {"alpha", "beta", "gamma"}
    assert all(one != after for one, after in pairwise(turns(events))), "nobody twice in a row"
    *_, last = decisions(events)
    assert (last, len(turns(events))) == (("END", "rules"), 5)
    if director != "vain":
        missing = [e["message"] for e in events if e["type"] == "notice"]
        assert len(missing) == 4
        assert all("There is no decision" in words for words in missing)


@pytest.mark.parametrize(("director", "end"), [("polite", "USER"), ("done", "END")])
async def test_a_director_may_give_the_word_back_or_end_it(journey: Journey, director: str, end: str) -> None:
    _, run = await opened(journey, f"lab/{director}", "lab/listener")
    events = await journey.server.heard(run)
    assert decisions(events) == [("alpha", "rules"), (end, "model")]


@pytest.mark.parametrize(
    ("agent", "words", "left_out"),
    [
        ("prose", "I would rather speak without any array.", []),
        ("fenced", "Look here. And there.", []),
        ("dreamer", "I tried to dance.", ["wb_dance"]),
        ("clumsy", "That went wrong.", ["wb_draw_text", "wb_delete"]),
    ],
)
async def test_an_agent_that_does_not_answer_as_it_was_asked_to_is_heard_all_the_same(
    journey: Journey, agent: str, words: str, left_out: list[str]
) -> None:
    discussion, run = await opened(journey, f"lab/{agent}", directed={"turns": 2})
    events = await journey.server.heard(run)
    assert (events[-1]["status"], ended(events, "alpha")["message"]["text"]) == ("completed", words)
    dropped = [e for e in events if e["type"] == "action_dropped"]
    assert [e["name"] for e in dropped] == left_out
    assert all(e["reason"] for e in dropped)
    assert (await journey.answers(discussion))[0]["content"] == words


@pytest.mark.parametrize(
    "agent",
    [
        "mute",
        pytest.param("blank", marks=pytest.mark.slow),
        pytest.param("idler", marks=pytest.mark.slow),
        pytest.param("empty", marks=pytest.mark.slow),
        "unauthorized",
    ],
)
async def test_agents_that_bring_nothing_end_it_after_two_turns_with_their_reasons(
    journey: Journey, agent: str
) -> None:
    _, run = await opened(journey, *[f"lab/{agent}"] * 3)
    events = await journey.server.heard(run)
    assert events[-1]["status"] == "failed"
    assert turns(events) == [("alpha", "failed"), ("beta", "failed")]
    assert all(e["fault"]["message"] for e in events if e["type"] == "turn_ended")
    assert decisions(events)[-1] == ("END", "rules")


async def test_garbage_hangs_nobody_and_leaves_no_empty_screen(journey: Journey) -> None:
    _, run = await opened(journey, "lab/garbage", "lab/listener", directed={"turns": 2})
    events = await journey.server.heard(run)
    assert events[-1]["type"] == "run_ended"
    for turn in [e for e in events if e["type"] == "turn_ended"]:
        assert turn["message"]["text"] or turn["fault"]["message"]


async def test_who_is_to_begin_begins_and_everybody_knows_the_topic(journey: Journey) -> None:
    rules = {"turns": 1, "trigger": "Beta", "topic": "Figurate numbers"}
    discussion, run = await opened(journey, "lab/drawer", "lab/listener", directed=rules)
    events = await journey.server.heard(run)
    assert turns(events) == [("beta", "completed")]
    assert "The topic: Figurate numbers" in str(journey.lab.bodies[-1])
    kept = (await journey.read(discussion))["discussion"]["directed"]
    assert kept == {"turns": 1, "trigger": "beta", "topic": "Figurate numbers"}


async def test_a_new_message_interrupts_a_lesson_and_its_board_is_not_lost(journey: Journey) -> None:
    discussion, run = await opened(journey, "lab/lecturer", "lab/listener")
    await journey.until_speaking(run)
    second = (await journey.say(discussion, "Stop, what does Beta say?"))["run"]["id"]
    events = await journey.server.heard(run)
    assert ended(events, "alpha")["status"] == "interrupted"
    assert (await first(journey, second, "turn_ended"))["participant"] == "beta"
    told = next(b for b in reversed(journey.lab.bodies) if "Stop, what does Beta say?" in str(b))
    assert "Alpha said, and was cut off" in str(told)
    assert "one" in await elements(journey, discussion, f"?run={second}&seq=0")
    await journey.server.post(f"/api/runs/{second}/stop")
    await journey.server.heard(second)


@pytest.mark.parametrize("form", ["board", "board.svg", "board.png"])
async def test_a_board_that_is_not_there_is_not_found(journey: Journey, form: str) -> None:
    one, other = [(await journey.finished("lab/quick"))["run"] for _ in range(2)]
    paths = [
        f"dis_none/{form}",
        f"{one['discussion']}/{form}?run=run_none",
        f"{one['discussion']}/{form}?run={other['id']}",
    ]
    replies = await asyncio.gather(*(journey.server.get(f"/api/discussions/{path}") for path in paths))
    assert [reply.status for reply in replies] == [404, 404, 404]
    negative = await journey.server.get(f"/api/discussions/{one['discussion']}/{form}?seq=-1")
    assert negative.status == 400


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"directed": {"trigger": "Omega"}}, "directed.trigger"),
        ({"directed": {"turns": 21}}, "directed.turns"),
        ({"directed": {"turns": 0}}, "directed.turns"),
        ({"participants": [{"model": "lab/drawer", "role": "pupil"}]}, "participants[0].role"),
    ],
)
async def test_rules_that_nobody_can_keep_are_refused(journey: Journey, changed: Any, field: str) -> None:
    body = {"message": "Why?", "participants": ["lab/drawer"], "mode": "directed", **changed}
    reply = await journey.server.post("/api/discussions", body)
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, field), reply.text


async def test_the_director_is_known_by_its_words() -> None:
    assert lessons.DIRECTOR in load_template("direct")
