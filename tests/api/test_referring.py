import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from tests.api.journey import Journey, ended
from tests.serving import SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

POINT = "It was found that nobody sits at its head."


async def sent(journey: Journey, discussion: str, turn: str) -> Any:
    return (await journey.server.get(f"/api/discussions/{discussion}/turns/{turn}/prompt")).body


async def test_a_reference_is_told_with_its_message_from_then_on(journey: Journey) -> None:
    await journey.finished("lab/quick", title="On tables")
    opened = await journey.finished(
        "lab/quick",
        "claude/claude-x",
        message='And chairs? See @"ON TABLES".',
        clerk="scripted/clerk",
        title="On chairs",
    )
    discussion = opened["discussion"]["id"]
    events = await journey.server.heard(opened["run"]["id"])
    (recap,) = [event for event in events if event["type"] == "recap"]
    assert (recap["title"], recap["model"]) == ("ON TABLES", "scripted/clerk")
    assert [ended(events, who)["status"] for who in ("alpha", "beta")] == ["completed", "completed"]
    said = await journey.say(discussion, "And stools?")
    await journey.server.heard(said["run"]["id"])
    first, *_, last = await journey.answers(discussion)
    for answer in (first, last):
        shown = (await sent(journey, discussion, answer["id"]))["messages"][0]["parts"]
        assert POINT in shown[0]["text"], "it comes before the words, which stay as they are"
        assert shown[1]["text"] == 'And chairs? See @"ON TABLES".'
    assert POINT in str(journey.lab.bodies[-1])
    report = (await journey.server.get("/api/usage?by=purpose")).body["rows"]
    assert [row["calls"] for row in report if row["key"] == "recap"] == [1]


async def test_the_answer_to_the_post_waits_for_nobody(journey: Journey) -> None:
    await journey.finished("lab/quick", title="On silence")
    opened = await journey.open("lab/quick", message='@"On silence"', clerk="scripted/silence", title="Loud")
    run = opened["run"]["id"]
    async with asyncio.timeout(SECONDS), aclosing(journey.server.events(f"/api/runs/{run}/events")) as events:
        async for frame in events:
            if frame.data["type"] == "notice":
                break
    await journey.server.post(f"/api/runs/{run}/stop")
    assert (await journey.over(run))[-1]["status"] == "stopped"


async def test_what_is_not_there_stays_words(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", message='See @"Nowhere at all".')
    events = await journey.server.heard(opened["run"]["id"])
    (notice,) = [event for event in events if event["type"] == "notice"]
    assert (notice["kind"], "Nowhere at all" in notice["message"]) == ("missing", True)
    assert events[-1]["status"] == "completed"
