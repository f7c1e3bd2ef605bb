"""Prompt parts and transcripts over the API: what a participant was sent, and a whole discussion as one file."""

from itertools import groupby
from typing import Any

import msgspec
import pytest

from moot.transcript.json_format import TranscriptDocument
from tests.api.api_client import ApiClient
from tests.api.test_lessons import SAMPLE_PARTICIPANTS
from tests.support import debate_scripts
from tests.support.safe_html import parse_safe_html
from tests.support.transcript_samples import HOSTILE_TEXTS

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEBATERS = ("lab/yes", "lab/no", "lab/perhaps")
MODE_BODIES: list[dict[str, Any]] = [
    {"mode": "single"},
    {"mode": "parallel"},
    {"mode": "consensus", "rounds": 2},
    {"mode": "debate"},
    {"mode": "advisors", "advisors": {"cross_talk": True, "synthesis": True}},
    {"mode": "directed", "directed": {"turns": 3}},
]


async def get_transcript(api_client: ApiClient, discussion: str, extension: str) -> str:
    reply = await api_client.server.get(f"/api/discussions/{discussion}/transcript.{extension}")
    assert reply.status == 200, reply.text
    assert reply.headers["Content-Disposition"].startswith("attachment")
    return reply.text


async def get_json_transcript(api_client: ApiClient, discussion: str) -> TranscriptDocument:
    return msgspec.json.decode(await get_transcript(api_client, discussion, "json"), type=TranscriptDocument)


async def get_prompt_parts(api_client: ApiClient, discussion: str, turn: str) -> Any:
    reply = await api_client.server.get(f"/api/discussions/{discussion}/turns/{turn}/prompt/parts")
    assert reply.status == 200, reply.text
    return reply.body


def join_parts(parts: list[Any]) -> tuple[str, list[tuple[str, list[str]]]]:
    """Join prompt parts to a system prompt and to messages of roles and texts."""
    system = "\n\n".join(part["text"] for part in parts if part["role"] == "system")
    groups = groupby((part for part in parts if part["role"] != "system"), key=lambda part: part["role"])
    return system, [(role, [part["text"] for part in group]) for role, group in groups]


@pytest.mark.parametrize("mode", MODE_BODIES, ids=lambda mode: mode["mode"])
async def test_joined_prompt_parts_equal_prompt_in_every_mode(api_client: ApiClient, mode: dict[str, Any]) -> None:
    opened = await api_client.create_finished_discussion(*DEBATERS, message="Shall we split the service?", **mode)
    discussion = opened["discussion"]["id"]
    await api_client.server.run_events((await api_client.send_message(discussion, "And then?"))["run"]["id"])
    answers = await api_client.list_answers(discussion)
    assert len(answers) >= 2
    known = {message["id"] for message in (await api_client.get_discussion(discussion, "?limit=100"))["messages"]}
    for answer in answers:
        shown = (await api_client.server.get(f"/api/discussions/{discussion}/turns/{answer['id']}/prompt")).body
        listed = await get_prompt_parts(api_client, discussion, answer["id"])
        assert join_parts(listed["parts"]) == (
            shown["system"],
            [(m["role"], [part["text"] for part in m["parts"]]) for m in shown["messages"]],
        )
        assert listed["model"] == shown["model"]
        assert listed["tokens"] == sum(part["tokens"] for part in listed["parts"]) > 0
        for part in listed["parts"]:
            assert part["message"] in known or part["origin"] not in {"message", "own"}
    origins = {part["origin"] for part in listed["parts"]}
    assert {"mode", "language", "message"} <= origins
    assert ("own" in origins) or mode["mode"] == "directed"


async def test_files_and_references_are_separate_prompt_parts(api_client: ApiClient) -> None:
    await api_client.create_finished_discussion("lab/quick", title="On parts")
    notes = await api_client.upload_file("notes.txt", b"A stool has three legs.")
    cat = await api_client.upload_file("cat.png", b"\x89PNG\r\n\x1a\n\0")
    opened = await api_client.create_finished_discussion(
        "claude/claude-x",
        message='Legs? See @"ON PARTS".',
        files=[notes, cat],
        task_model="scripted/task-model",
        title="On legs",
    )
    discussion = opened["discussion"]["id"]
    (answer,) = await api_client.list_answers(discussion)
    parts = (await get_prompt_parts(api_client, discussion, answer["id"]))["parts"]
    asked = opened["message"]["id"]
    assert [(one["origin"], one["name"], one["size"]) for one in parts if one["message"] == asked] == [
        ("reference_summary", "ON PARTS", None),
        ("file", "notes.txt", None),
        ("file", "cat.png", 9),
        ("message", None, None),
    ]
    read = await get_json_transcript(api_client, discussion)
    assert [file.name for file in read.files] == ["notes.txt", "cat.png"]
    assert "With notes.txt, cat.png" in await get_transcript(api_client, discussion, "html")
    events = await api_client.server.run_events(opened["run"]["id"])
    (summary,) = [event for event in events if event["type"] == "reference_summarized"]
    assert (summary["title"], summary["model"]) == ("ON PARTS", "scripted/task-model")
    report = (await api_client.server.get("/api/usage?by=purpose")).body["rows"]
    assert [row["calls"] for row in report if row["key"] == "reference_summary"] == [1]
    await api_client.server.run_events((await api_client.send_message(discussion, "And stools?"))["run"]["id"])
    sent = str(api_client.provider_server.request_bodies[-1])
    assert "And stools?" in sent
    assert "It was found that nobody sits at its head." in sent, "the summary is sent again with its message"


def sort_by_id(messages: list[Any]) -> list[Any]:
    return sorted(messages, key=lambda message: message["id"])


async def test_debate_transcript_contains_all_answers_and_debate_report(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion(
        *DEBATERS[:2], "lab/unauthorized", "lab/perhaps", mode="debate", message="Split?"
    )
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    transcript, read = (
        msgspec.json.decode(await get_transcript(api_client, discussion, "json")),
        await api_client.get_discussion(discussion),
    )
    assert transcript["runs"] == [await api_client.get_run(run)]
    assert (transcript["discussion"], sort_by_id(transcript["messages"])) == (
        read["discussion"],
        sort_by_id(read["messages"]),
    )
    first = [message["participant"] for message in transcript["messages"] if message["stage"] == "initial"]
    assert first == ["alpha", "beta", "gamma", "delta"], "in the order of the participants, not of their answers"
    page = parse_safe_html(await get_transcript(api_client, discussion, "html"))
    assert page.texts("h2") == ["First answers", "Debate", "Synthesis", "Report"]
    texts = page.texts("div", "words")
    for words in (
        debate_scripts.YES,
        debate_scripts.NO,
        debate_scripts.PERHAPS,
        debate_scripts.STILL_YES,
        debate_scripts.STILL_NO,
        debate_scripts.CHANGED_TO_YES,
        debate_scripts.SYNTHESIS_ANSWER,
    ):
        assert words in texts
    assert any("Key rejected for lab" in words for words in page.texts("p", "trouble"))
    assert page.texts("span", "changed") == ["changed"]
    assert len(page.texts("tr")) == 1 + 4, "a row for each in the summary"
    assert len([label for label in page.texts("span", "label") if label.startswith("Rank")]) == 3, (
        "one for each participant that answered"
    )
    text = await get_transcript(api_client, discussion, "md")
    assert all(
        words in text
        for words in (debate_scripts.SYNTHESIS_ANSWER, "## Report", "Gamma was won over", "Key rejected for lab")
    )


async def test_lesson_transcript_contains_whiteboard(api_client: ApiClient) -> None:
    body = {
        "mode": "directed",
        "message": "Why are the sums of odd numbers squares?",
        "participants": SAMPLE_PARTICIPANTS,
    }
    opened = (await api_client.server.post("/api/discussions", body)).body
    await api_client.server.run_events(opened["run"]["id"])
    discussion = opened["discussion"]["id"]
    page = parse_safe_html(await get_transcript(api_client, discussion, "html"))
    board = (await api_client.server.get(f"/api/discussions/{discussion}/whiteboard.svg")).text
    assert [node.attributes["id"] for node in page.nodes if "data-kind" in node.attributes] == [
        element.id for element in (await get_json_transcript(api_client, discussion)).whiteboard.elements
    ]
    assert board.removeprefix("<svg") in await get_transcript(api_client, discussion, "html")
    assert any(words.startswith("On the board: ") for words in page.texts("p", "acts"))


async def test_html_transcript_escapes_hostile_text(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion(
        "scripted/echo", message="\n\n".join(HOSTILE_TEXTS).replace("\0", "")
    )
    page = await get_transcript(api_client, opened["discussion"]["id"], "html")
    parse_safe_html(page)
    assert page.count("<script") == 0


async def test_transcript_of_active_discussion_contains_all_pages(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/other", message="0")
    discussion = opened["discussion"]["id"]
    for number in range(1, 20):
        await api_client.server.run_events((await api_client.send_message(discussion, str(number)))["run"]["id"])
    live = (await api_client.send_message(discussion, "And on?"))["run"]["id"]
    read = await get_json_transcript(api_client, discussion)
    assert [m.content for m in read.messages if m.role == "user"][:20] == list(map(str, range(20)))
    assert len(read.messages) >= 60
    assert read.runs[-1].id == live
    await api_client.server.run_events(live)


async def test_transcript_of_many_pages_contains_retries_edits_and_regenerations(
    api_client: ApiClient,
) -> None:
    opened = await api_client.create_finished_discussion(
        "lab/shy-transcript", "lab/quick", mode="parallel", message="0"
    )
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    for number in range(1, 18):
        await api_client.server.run_events((await api_client.send_message(discussion, str(number)))["run"]["id"])
    retried = await api_client.server.post(f"/api/runs/{run}/lanes/alpha/retry")
    assert retried.status == 202, retried.text
    await api_client.wait_for_run_end(run)
    path = f"/api/discussions/{discussion}/turns"
    edited = await api_client.server.call("PATCH", f"{path}/{opened['message']['id']}", {"content": "Zero"})
    assert edited.status == 200, edited.text
    messages = (await api_client.get_discussion(discussion, "?limit=100"))["messages"]
    (answer,) = [m for m in messages if (m["run"], m["participant"]) == (run, "beta")]
    regenerated = await api_client.server.post(f"{path}/{answer['id']}/regenerate", {"model": "lab/other"})
    await api_client.server.run_events(regenerated.body["run"]["id"])
    transcript = msgspec.json.decode(await get_transcript(api_client, discussion, "json"))
    read = (await api_client.get_discussion(discussion, "?limit=100"))["messages"]
    assert sort_by_id(transcript["messages"]) == sort_by_id(read)
    assert [m["run"] for m in transcript["messages"]] == [m["run"] for m in read]
    assert len(transcript["messages"]) == 54
    assert len(transcript["runs"]) == 18
    page = parse_safe_html(await get_transcript(api_client, discussion, "html"))
    assert page.texts("div", "words") == [m["content"] for m in transcript["messages"]]
    assert len(page.texts("section", "ending")) == 18
