"""Lessons over the API: how speakers are selected, what is spoken and drawn, and how bad answers are handled."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from moot.prompts.library import load_template
from moot.types.events import Event
from moot.types.run_state import fold_events
from moot.whiteboard.render.png import render_png
from moot.whiteboard.state import replay_actions
from tests.api.api_client import ApiClient, ended_turn
from tests.support import lesson_scripts

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLE_PARTICIPANTS = [
    {"model": "lab/teacher", "role": "teacher"},
    {"model": "lab/assistant", "role": "assistant"},
    {"model": "lab/student", "role": "student"},
    {"model": "lab/classmate", "role": "student"},
]
QUESTION = "Why do the odd numbers add up to squares?"


async def start_lesson(api_client: ApiClient, *models: str | dict[str, str], **more: Any) -> tuple[str, str]:
    """Open a lesson, and return its discussion and its run."""
    body = {"mode": "directed", "message": QUESTION, **more}
    started = await api_client.create_discussion(*models, **body)  # type: ignore[arg-type]
    return started["discussion"]["id"], started["run"]["id"]


async def get_whiteboard_png(api_client: ApiClient, discussion: str, query: str = "") -> bytes:
    url = f"{api_client.server.url}/api/discussions/{discussion}/whiteboard.png{query}"
    async with api_client.server.http.get(url) as response:
        assert response.status == 200, await response.text()
        assert response.headers["Content-Type"] == "image/png"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        return await response.read()


async def get_element_ids(api_client: ApiClient, discussion: str, query: str = "") -> list[str]:
    reply = await api_client.server.get(f"/api/discussions/{discussion}/whiteboard{query}")
    assert reply.status == 200, reply.text
    return [element["id"] for element in reply.body["elements"]]


async def wait_for_first_event(api_client: ApiClient, run: str, event_type: str) -> Any:
    """Wait for the first event of a kind."""
    async with aclosing(api_client.server.events(f"/api/runs/{run}/events")) as frames:
        async for frame in frames:
            if frame.data["type"] == event_type:
                return frame.data
    raise AssertionError(f"there was no {event_type}")


def speaker_selections(events: list[Any]) -> list[tuple[str, str]]:
    return [(e["next"], e["decided_by"]) for e in events if e["type"] == "speaker_selected"]


def ended_turns(events: list[Any]) -> list[tuple[str, str]]:
    return [(e["participant"], e["status"]) for e in events if e["type"] == "turn_ended"]


def decode_events(events: Sequence[Any]) -> list[Event]:
    return [msgspec.convert(event, type=Event) for event in events]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sample_lesson(api_client: ApiClient) -> tuple[str, str, list[Any]]:
    """The sample lesson when it is over: its discussion, its run and its events."""
    discussion, run = await start_lesson(api_client, *SAMPLE_PARTICIPANTS)
    return discussion, run, await api_client.server.run_events(run)


async def test_sample_lesson_runs_to_completion(
    api_client: ApiClient, sample_lesson: tuple[str, str, list[Any]]
) -> None:
    discussion, _, events = sample_lesson
    assert events[-1]["status"] == "completed", events[-3:]
    assert speaker_selections(events) == [
        ("alpha", "rules"),
        ("gamma", "model"),
        ("beta", "model"),
        ("delta", "model"),
        ("beta", "model"),
        ("alpha", "model"),
        ("gamma", "model"),
        ("USER", "model"),
    ]
    assert ended_turns(events) == [(who, "completed") for who, _ in speaker_selections(events)[:-1]]
    assert [e["round"] for e in events if e["type"] == "turn_started"] == list(range(7))
    assert [e["name"] for e in events if e["type"] == "action_rejected"] == ["spotlight"]
    assert not [e for e in events if e["type"] == "notice"]
    kinds = [e["type"] for e in events]
    opening = kinds[: kinds.index("turn_ended")]
    assert opening[:5] == ["run_started", "speaker_selected", "stage_started", "instructions_sent", "turn_started"]
    assert [kind for kind, after in pairwise([*opening[5:], ""]) if kind != after] == [
        "action",
        "text_delta",
        "action",
        "text_delta",
    ]
    messages = [m for m in (await api_client.get_discussion(discussion))["messages"] if m["role"] == "assistant"]
    assert [m["content"] for m in messages][:2] == [
        "One plus three is four, plus five is nine. Could that be more than luck?",
        "Why does it never miss a square?",
    ]


async def test_whiteboard_at_any_event_equals_replay_of_event_log(
    api_client: ApiClient, sample_lesson: tuple[str, str, list[Any]]
) -> None:
    discussion, run, events = sample_lesson
    last = events[-1]["seq"]
    whole = ["title", "odd-law", "code-odd", "sums", "growing-square", "edge"]
    assert await get_element_ids(api_client, discussion) == whole
    assert await get_element_ids(api_client, discussion, f"?run={run}") == whole
    assert await get_element_ids(api_client, discussion, f"?run={run}&seq=0") == []
    for event in [e for e in events if e["type"] == "action"][:3]:
        then = fold_events(decode_events(events[: event["seq"]])).actions
        shown = await get_element_ids(api_client, discussion, f"?run={run}&seq={event['seq']}")
        assert shown == [element.id for element in replay_actions(then).elements]

    now = await get_whiteboard_png(api_client, discussion)
    assert now.startswith(b"\x89PNG")
    assert now == render_png(replay_actions(fold_events(decode_events(events)).actions)), (
        "a replay of the events draws the same"
    )
    assert now == await get_whiteboard_png(api_client, discussion, f"?run={run}&seq={last}")
    assert now != await get_whiteboard_png(api_client, discussion, f"?run={run}&seq=0")
    svg = await api_client.server.get(f"/api/discussions/{discussion}/whiteboard.svg")
    assert svg.headers["Content-Type"].startswith("image/svg+xml")
    assert "sandbox" in svg.headers["Content-Security-Policy"]
    assert all(f'id="{id}"' in svg.text for id in whole)


async def test_whiteboard_continues_with_next_message(api_client: ApiClient) -> None:
    discussion, first = await start_lesson(api_client, "lab/drawer", directed={"turns": 1})
    await api_client.server.run_events(first)
    second = (await api_client.send_message(discussion, "And then?"))["run"]["id"]
    events = await api_client.server.run_events(second)
    assert ended_turns(events) == [("alpha", "completed")]
    assert await get_element_ids(api_client, discussion) == ["one", "two", "one-2", "two-2"]
    assert await get_element_ids(api_client, discussion, f"?run={first}") == ["one", "two"]
    assert await get_element_ids(api_client, discussion, f"?run={second}&seq=0") == ["one", "two"]
    assert await get_whiteboard_png(api_client, discussion) == await get_whiteboard_png(
        api_client, discussion, f"?run={second}"
    )
    sent = str(api_client.provider_server.request_bodies[-1]["messages"])
    assert '"elementId":"one"' in sent.replace("\\", ""), "its own turn is sent as the array"
    assert "- one: text" in sent, "the board is sent as text"


async def test_stop_keeps_partial_lesson_text_and_drawings(api_client: ApiClient) -> None:
    discussion, run = await start_lesson(api_client, "lab/lecturer", "lab/listener")
    await api_client.wait_for_text(run)
    assert await get_element_ids(api_client, discussion) == ["one"], "while the run is active"
    await api_client.server.post(f"/api/runs/{run}/stop")
    events = await api_client.server.run_events(run)
    assert (ended_turn(events, "alpha")["status"], events[-1]["status"]) == ("stopped", "stopped")
    assert speaker_selections(events) == [("alpha", "rules")]
    assert (
        await get_element_ids(api_client, discussion)
        == await get_element_ids(api_client, discussion, f"?run={run}")
        == ["one"]
    )
    second = (await api_client.send_message(discussion, "Go on, Beta."))["run"]["id"]
    assert (await wait_for_first_event(api_client, second, "speaker_selected"))["next"] == "beta"
    await api_client.server.post(f"/api/runs/{second}/stop")


async def test_stopped_participant_is_not_selected_again_in_lesson(api_client: ApiClient) -> None:
    _, run = await start_lesson(api_client, "lab/lecturer", "lab/listener", "lab/listener", directed={"turns": 4})
    await api_client.wait_for_text(run)
    await api_client.server.post(f"/api/runs/{run}/stop", {"participant": "alpha"})
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "completed"
    assert [who for who, _ in ended_turns(events)] == ["alpha", "beta", "gamma", "beta"]


@pytest.mark.parametrize("director", ["vain", "lost", "rambling"])
async def test_rules_select_speaker_when_director_choice_is_invalid(api_client: ApiClient, director: str) -> None:
    _, run = await start_lesson(api_client, f"lab/{director}", "lab/listener", "lab/listener", directed={"turns": 5})
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "completed"
    assert {who for who, _ in ended_turns(events)} == {"alpha", "beta", "gamma"}
    assert all(one != after for one, after in pairwise(ended_turns(events))), "no participant speaks twice in a row"
    *_, last = speaker_selections(events)
    assert (last, len(ended_turns(events))) == (("END", "rules"), 5)
    if director != "vain":
        missing = [e["message"] for e in events if e["type"] == "notice"]
        assert len(missing) == 4
        assert all("The decision of " in words for words in missing)


@pytest.mark.parametrize(("director", "end"), [("polite", "USER"), ("done", "END")])
async def test_director_can_hand_over_to_user_or_end_lesson(api_client: ApiClient, director: str, end: str) -> None:
    _, run = await start_lesson(api_client, f"lab/{director}", "lab/listener")
    events = await api_client.server.run_events(run)
    assert speaker_selections(events) == [("alpha", "rules"), (end, "model")]


@pytest.mark.parametrize(
    ("agent", "words", "left_out"),
    [
        ("prose", "I would rather speak without any array.", []),
        ("fenced", "Look here. And there.", []),
        ("dreamer", "I tried to dance.", ["wb_dance"]),
        ("clumsy", "That went wrong.", ["wb_draw_text", "wb_delete"]),
    ],
)
async def test_malformed_lesson_answer_is_stored_as_text_and_rejects_invalid_actions(
    api_client: ApiClient, agent: str, words: str, left_out: list[str]
) -> None:
    discussion, run = await start_lesson(api_client, f"lab/{agent}", directed={"turns": 2})
    events = await api_client.server.run_events(run)
    assert (events[-1]["status"], ended_turn(events, "alpha")["message"]["text"]) == ("completed", words)
    rejected = [e for e in events if e["type"] == "action_rejected"]
    assert [e["name"] for e in rejected] == left_out
    assert all(e["reason"] for e in rejected)
    assert (await api_client.list_answers(discussion))[0]["content"] == words


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
async def test_lesson_fails_with_faults_after_two_turns_without_content(api_client: ApiClient, agent: str) -> None:
    _, run = await start_lesson(api_client, *[f"lab/{agent}"] * 3)
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "failed"
    assert ended_turns(events) == [("alpha", "failed"), ("beta", "failed")]
    assert all(e["fault"]["message"] for e in events if e["type"] == "turn_ended")
    assert speaker_selections(events)[-1] == ("END", "rules")


async def test_garbage_lesson_answer_ends_run_with_text_or_fault(api_client: ApiClient) -> None:
    _, run = await start_lesson(api_client, "lab/garbage", "lab/listener", directed={"turns": 2})
    events = await api_client.server.run_events(run)
    assert events[-1]["type"] == "run_ended"
    for turn in [e for e in events if e["type"] == "turn_ended"]:
        assert turn["message"]["text"] or turn["fault"]["message"]


async def test_lesson_starts_with_first_speaker_and_sends_topic(api_client: ApiClient) -> None:
    rules = {"turns": 1, "first_speaker": "Beta", "topic": "Figurate numbers"}
    discussion, run = await start_lesson(api_client, "lab/drawer", "lab/listener", directed=rules)
    events = await api_client.server.run_events(run)
    assert ended_turns(events) == [("beta", "completed")]
    assert "The topic: Figurate numbers" in str(api_client.provider_server.request_bodies[-1])
    stored = (await api_client.get_discussion(discussion))["discussion"]["directed"]
    assert stored == {"turns": 1, "first_speaker": "beta", "topic": "Figurate numbers"}


async def test_new_message_interrupts_lesson_and_keeps_whiteboard(api_client: ApiClient) -> None:
    discussion, run = await start_lesson(api_client, "lab/lecturer", "lab/listener")
    await api_client.wait_for_text(run)
    second = (await api_client.send_message(discussion, "Stop, what does Beta say?"))["run"]["id"]
    events = await api_client.server.run_events(run)
    assert ended_turn(events, "alpha")["status"] == "interrupted"
    assert (await wait_for_first_event(api_client, second, "turn_ended"))["participant"] == "beta"
    sent = next(b for b in reversed(api_client.provider_server.request_bodies) if "Stop, what does Beta say?" in str(b))
    assert "Alpha said, and was cut off" in str(sent)
    assert "one" in await get_element_ids(api_client, discussion, f"?run={second}&seq=0")
    await api_client.server.post(f"/api/runs/{second}/stop")
    await api_client.server.run_events(second)


@pytest.mark.parametrize("form", ["whiteboard", "whiteboard.svg", "whiteboard.png"])
async def test_whiteboard_of_unknown_discussion_or_run_returns_404(api_client: ApiClient, form: str) -> None:
    one, other = [(await api_client.create_finished_discussion("lab/quick"))["run"] for _ in range(2)]
    paths = [
        f"dis_none/{form}",
        f"{one['discussion']}/{form}?run=run_none",
        f"{one['discussion']}/{form}?run={other['id']}",
    ]
    replies = await asyncio.gather(*(api_client.server.get(f"/api/discussions/{path}") for path in paths))
    assert [reply.status for reply in replies] == [404, 404, 404]
    negative = await api_client.server.get(f"/api/discussions/{one['discussion']}/{form}?seq=-1")
    assert negative.status == 400


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"directed": {"first_speaker": "Omega"}}, "directed.first_speaker"),
        ({"directed": {"turns": 21}}, "directed.turns"),
        ({"directed": {"turns": 0}}, "directed.turns"),
        ({"participants": [{"model": "lab/drawer", "role": "pupil"}]}, "participants[0].role"),
    ],
)
async def test_invalid_lesson_options_are_rejected_by_field(api_client: ApiClient, changed: Any, field: str) -> None:
    body = {"message": "Why?", "participants": ["lab/drawer"], "mode": "directed", **changed}
    reply = await api_client.server.post("/api/discussions", body)
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, field), reply.text


async def test_director_template_contains_prompt_matched_by_scripts() -> None:
    assert lesson_scripts.DIRECTOR_PROMPT in load_template("direct")
