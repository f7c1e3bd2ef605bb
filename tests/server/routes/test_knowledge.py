import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Struct

from moot.settings import RateSettings, Settings
from moot.store.database import Database
from moot.types.discussions import Discussion
from tests.databases import SLOW_ON_POSTGRES
from tests.server.knowing import Api, knowing
from tests.store.people import ANNA, BERT, discuss, settled

PAIN = {
    "title": "Tables wobble",
    "detail": "On old floors.",
    "category": "legs",
    "kind": "pain_point",
    "severity": "high",
    "messages": ["m1"],
}
EXPORT = {
    "summary": "Tables wobble.",
    "usefulness": 0.7,
    "insights": [PAIN, {**PAIN, "title": "Chairs creak", "severity": "low"}],
}
ASKING = ["/discussions/{discussion}/export", "/projects/{project}/consolidate"]
PATTERN = {
    "kind": "pain",
    "title": "Everything wobbles",
    "description": "Floors are old here.",
    "evidence": ["Tables wobble"],
    "frequency": 2,
    "severity": "high",
    "tags": ["legs", "floors"],
}


class Room(Struct, frozen=True):
    api: Api
    database: Database
    project: str
    discussion: Discussion


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Room]:
    """A project with a discussion that was not exported yet."""
    async with settled(request.param, tmp_path) as database, knowing(database) as api:
        project = (await api.ok("POST", "/projects", {"name": "Moot"}))["id"]
        model = api.model("reader", EXPORT)
        about = await discuss(database, ANNA, "It wobbles.", "Yes.", project=project, model=model)
        yield Room(api, database, project, about)


async def test_a_discussion_is_exported_and_its_insights_are_read(room: Room) -> None:
    path = f"/discussions/{room.discussion.id}"
    assert await room.api.ok("GET", f"{path}/insights") == {"insights": [], "next": None}
    exported = await room.api.ok("POST", f"{path}/export")
    assert (exported["summary"], exported["usefulness"]) == ("Tables wobble.", 0.7)
    assert (exported["model"], exported["cost"]) == ("scripted/reader", 0.0)
    assert [one["title"] for one in exported["insights"]] == ["Tables wobble", "Chairs creak"]
    assert await room.api.ok("GET", f"{path}/insights") == {"insights": exported["insights"], "next": None}


async def test_the_model_may_be_named(room: Room) -> None:
    other = room.api.model("other", {**EXPORT, "insights": []})
    exported = await room.api.ok("POST", f"/discussions/{room.discussion.id}/export", {"model": other})
    assert (exported["model"], exported["insights"]) == (other, [])


async def test_a_project_is_consolidated_and_its_patterns_are_read(room: Room) -> None:
    path = f"/projects/{room.project}"
    assert await room.api.ok("GET", f"{path}/patterns") == {"completed": None, "newest": None}
    early = await room.api.call("POST", f"{path}/consolidate", {})
    assert early.status_code == 409
    await room.api.ok("POST", f"/discussions/{room.discussion.id}/export")
    finder = room.api.model("finder", {"patterns": [PATTERN]})
    done = (await room.api.ok("POST", f"{path}/consolidate", {"model": finder}))["consolidation"]
    assert [one["title"] for one in done["patterns"]] == ["Everything wobbles"]
    assert await room.api.ok("GET", f"{path}/patterns") == {"completed": done, "newest": done}


async def test_a_projects_insights_are_paged_and_searched(room: Room) -> None:
    await room.api.ok("POST", f"/discussions/{room.discussion.id}/export")
    path = f"/projects/{room.project}/insights"
    first = await room.api.ok("GET", path, limit=1)
    second = await room.api.ok("GET", path, limit=1, cursor=first["next"])
    assert [one["title"] for one in (*first["insights"], *second["insights"])] == [
        "Chairs creak",
        "Tables wobble",
    ]
    assert second["next"] is None
    searches = {"wobb": ["Tables wobble"], '"*': [], "creak floors": ["Chairs creak"]}
    for q, found in searches.items():
        page = await room.api.ok("GET", path, q=q)
        assert [one["title"] for one in page["insights"]] == found
        assert page["next"] is None
    for wrong in ({"cursor": "nowhere"}, {"q": "x" * 501}):
        refused = await room.api.call("GET", path, **wrong)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, *wrong)
    assert (await room.api.call("GET", path, q="\0")).status_code == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/discussions/{discussion}/export"),
        ("GET", "/discussions/{discussion}/insights"),
        ("POST", "/projects/{project}/consolidate"),
        ("GET", "/projects/{project}/patterns"),
        ("GET", "/projects/{project}/insights"),
        ("GET", "/projects/{project}/insights?q=wobble"),
    ],
)
async def test_anothers_knowledge_is_not_there(room: Room, method: str, path: str) -> None:
    body: object = {} if method == "POST" else None
    exported = await room.api.ok("POST", f"/discussions/{room.discussion.id}/export")
    foreign = path.format(discussion=room.discussion.id, project=room.project)
    missing = path.format(discussion="dis_0", project="project_0")
    assert (await room.api.call(method, foreign, body, tenant=BERT)).status_code == 404
    assert (await room.api.call(method, missing, body, tenant=ANNA)).status_code == 404
    listed = await room.api.ok("GET", f"/discussions/{room.discussion.id}/insights")
    assert listed["insights"] == exported["insights"]


@pytest.mark.parametrize("body", [{"model": "gpt"}, {"model": 7}, {"model": "a b/c"}, {"modell": "a/b"}])
@pytest.mark.parametrize("path", ASKING)
async def test_a_bad_body_is_refused_by_field(room: Room, path: str, body: object) -> None:
    refused = await room.api.call(
        "POST", path.format(discussion=room.discussion.id, project=room.project), body
    )
    assert refused.status_code == 400
    assert "model" in refused.text


@pytest.mark.parametrize("path", ASKING)
async def test_a_server_that_is_about_to_end_begins_nothing(room: Room, path: str) -> None:
    await room.api.ok("POST", f"/discussions/{room.discussion.id}/export")
    room.api.house.hall.drain()
    refused = await room.api.call(
        "POST", path.format(discussion=room.discussion.id, project=room.project), {}
    )
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")


@pytest.mark.parametrize("path", ASKING)
async def test_work_ends_when_its_token_is_deleted(room: Room, path: str) -> None:
    await room.api.ok("POST", f"/discussions/{room.discussion.id}/export")
    there = path.format(discussion=room.discussion.id, project=room.project)
    asking = asyncio.create_task(room.api.call("POST", there, {"model": "scripted/silence"}))
    house = room.api.house
    async with asyncio.timeout(60):
        while not house.revocations._watches:
            await asyncio.sleep(0.01)
        for token in await house.accounts.list_tokens(ANNA):
            await house.accounts.delete_token(ANNA, token.id)
        await house.revocations.check_credentials()
        refused = await asking
    assert (refused.status_code, "log in again" in refused.json()["detail"]) == (401, True)


@pytest.mark.parametrize(("embedding", "statuses"), [(None, [200] * 3), ("ollama/nomic", [200, 200, 429])])
async def test_a_search_that_asks_a_model_is_counted_as_such(
    tmp_path: Path, embedding: str | None, statuses: list[int]
) -> None:
    settings = Settings(embedding=embedding, rates=RateSettings(starts_a_minute=2))
    async with settled("sqlite", tmp_path) as database, knowing(database, settings) as api:
        path = f"/projects/{(await api.ok('POST', '/projects', {'name': 'Moot'}))['id']}/insights"
        assert [(await api.call("GET", path, q="wobble")).status_code for _ in range(3)] == statuses
        assert (await api.call("GET", path)).status_code == 200, "a list asks no model"
