"""Journeys of what is kept: lists, searches, pages, and what changes."""

import asyncio
from contextlib import aclosing
from urllib.parse import quote

import pytest

from tests.api.journey import Journey

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_discussions_are_listed_newest_first_and_a_page_at_a_time(journey: Journey) -> None:
    opened = [
        (await journey.finished("lab/quick", message=f"On paging, part {part}"))["discussion"]["id"]
        for part in range(3)
    ]
    first = (await journey.server.get("/api/discussions?limit=2")).body
    assert [one["id"] for one in first["discussions"]] == [opened[2], opened[1]]
    second = (await journey.server.get(f"/api/discussions?limit=1&cursor={quote(first['next'])}")).body
    assert [one["id"] for one in second["discussions"]] == [opened[0]]

    await journey.server.heard((await journey.say(opened[0], "Newer again."))["run"]["id"])
    newest = (await journey.server.get("/api/discussions?limit=1")).body
    assert newest["discussions"][0]["id"] == opened[0]

    archived = await journey.server.post(f"/api/discussions/{opened[1]}/archive")
    assert (archived.status, archived.body["status"]) == (200, "archived")
    put_away = (await journey.server.get("/api/discussions?status=archived")).body
    assert [one["id"] for one in put_away["discussions"]] == [opened[1]]


async def test_discussions_are_found_by_their_titles_and_by_what_was_said(journey: Journey) -> None:
    titled = await journey.finished("lab/quick", message="Hello", title="Concerning xylophones")
    asked = await journey.finished("lab/echo", message="Does a xylophone have strings?")
    path = "/api/discussions?q="
    found = {one["id"] for one in (await journey.server.get(f"{path}xylophon")).body["discussions"]}
    assert found == {titled["discussion"]["id"], asked["discussion"]["id"]}
    strings = (await journey.server.get(f"{path}xylophone%20strings")).body["discussions"]
    assert [one["id"] for one in strings] == [asked["discussion"]["id"]]
    for odd in ("%22", "'", "*", "a%20OR%20b", "NEAR(", "\u2028", "%25", "%F0%9F%8E%B6"):
        assert (await journey.server.get(path + odd)).status == 200


async def test_a_line_up_is_kept_to_open_discussions_with(journey: Journey) -> None:
    table = {
        "participants": [{"model": "lab/quick", "name": "Rosa", "temperature": 0.5}, "lab/other"],
        "mode": "consensus",
        "rounds": 1,
    }
    kept = await journey.server.post("/api/line-ups", {"name": "Two tables", **table})
    assert kept.status == 201, kept.text
    (found,) = (await journey.server.get("/api/line-ups")).body["line_ups"]
    assert found == kept.body
    own = {"id", "name", "created_at"}
    sent = {name: value for name, value in found.items() if name not in own}
    opened = (await journey.server.post("/api/discussions", {"message": "Which?", **sent})).body
    await journey.server.heard(opened["run"]["id"])
    assert {name: opened["discussion"][name] for name in sent} == sent
    said = [answer["content"] for answer in await journey.answers(opened["discussion"]["id"])]
    assert said == ["Round tables.", "Square tables."]

    path = f"/api/line-ups/{found['id']}"
    assert (await journey.server.call("PATCH", path, {"rounds": 2})).body["rounds"] == 2
    assert (await journey.server.call("DELETE", path)).status == 204
    assert (await journey.server.get("/api/line-ups")).body == {"line_ups": [], "next": None}
    assert (await journey.read(opened["discussion"]["id"]))["discussion"]["rounds"] == 1


async def test_messages_come_a_page_at_a_time(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/other", mode="consensus", rounds=3)
    discussion = opened["discussion"]["id"]
    everything = (await journey.read(discussion))["messages"]
    assert len(everything) == 7
    newest = await journey.read(discussion, "?limit=3")
    earlier = await journey.read(discussion, f"?limit=3&before={newest['before']}")
    oldest = await journey.read(discussion, f"?limit=3&before={earlier['before']}")
    assert [*oldest["messages"], *earlier["messages"], *newest["messages"]] == everything
    assert oldest["before"] is None


async def test_a_deleted_discussion_is_gone_with_all_that_was_said(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    await journey.until_speaking(run)
    refused = await journey.server.call("DELETE", f"/api/discussions/{discussion}")
    assert (refused.status, run in refused.body["detail"]) == (409, True)
    await journey.server.post(f"/api/runs/{run}/stop")
    await journey.server.heard(run)
    (answer,) = await journey.answers(discussion)

    deleted = await journey.server.call("DELETE", f"/api/discussions/{discussion}")
    assert (deleted.status, deleted.text) == (204, "")
    for path in (
        f"/api/discussions/{discussion}",
        f"/api/discussions/{discussion}/turns/{answer['id']}/prompt",
        f"/api/runs/{run}",
        f"/api/runs/{run}/events",
    ):
        assert (await journey.server.get(path)).status == 404
    assert (await journey.server.call("DELETE", f"/api/discussions/{discussion}")).status == 404


async def test_a_request_that_comes_twice_with_one_key_is_done_once(journey: Journey) -> None:
    body = {"message": "Once and only once.", "participants": ["lab/quick"]}
    key = {"Idempotency-Key": "the first key"}
    at_once = await asyncio.gather(*(journey.server.post("/api/discussions", body, key) for _ in range(4)))
    assert {(reply.status, reply.text) for reply in at_once} == {(201, at_once[0].text)}
    discussion = at_once[0].body["discussion"]["id"]
    other = await journey.server.post("/api/discussions", body | {"message": "Something else."}, key)
    assert other.status == 409

    path = f"/api/discussions/{discussion}/messages"
    key = {"Idempotency-Key": "the second key"}
    said = await asyncio.gather(*(journey.server.post(path, {"message": "And?"}, key) for _ in range(4)))
    assert {(reply.status, reply.text) for reply in said} == {(202, said[0].text)}
    for run in (at_once[0].body["run"]["id"], said[0].body["run"]["id"]):
        await journey.server.heard(run)
    told = [m["content"] for m in (await journey.read(discussion))["messages"] if m["role"] == "user"]
    assert told == ["Once and only once.", "And?"]


async def test_whoever_watches_is_told_what_changes(journey: Journey) -> None:
    async with aclosing(journey.server.events("/api/events")) as changes:
        assert (await anext(changes)).data["type"] == "activity"
        opened = await journey.finished("lab/quick")
        discussion = opened["discussion"]["id"]
        told = [(await anext(changes)).data]
        assert told[0]["type"] == "discussion_changed"
        while told[-1]["runs"]:
            told.append((await anext(changes)).data)
        assert {one["discussion"]["id"] for one in told} == {discussion}
        await journey.change(discussion, title="Renamed")
        assert (await anext(changes)).data["discussion"]["title"] == "Renamed"
        await journey.server.call("DELETE", f"/api/discussions/{discussion}")
        assert (await anext(changes)).data == {"type": "discussion_deleted", "id": discussion}


async def test_whoever_comes_to_watch_is_told_first_what_goes_on(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    await journey.until_speaking(opened["run"]["id"])
    async with aclosing(journey.server.events("/api/events")) as changes:
        activity = (await anext(changes)).data
    assert [run["id"] for run in activity["runs"]] == [opened["run"]["id"]]
    await journey.server.post(f"/api/runs/{opened['run']['id']}/stop")
    await journey.server.heard(opened["run"]["id"])
