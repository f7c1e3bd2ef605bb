import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Struct

from moot.settings import RateSettings, Settings
from moot.store.database import Database
from moot.types.discussions import Discussion
from tests.support.accounts import ANNA, BERT, create_discussion, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.tenant_api import TenantApi, create_tenant_api

PAIN_POINT = {
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
    "insights": [PAIN_POINT, {**PAIN_POINT, "title": "Chairs creak", "severity": "low"}],
}
MODEL_CALL_PATHS = ["/discussions/{discussion}/export", "/projects/{project}/consolidate"]
PATTERN = {
    "kind": "pain",
    "title": "Everything wobbles",
    "description": "Floors are old here.",
    "evidence": ["Tables wobble"],
    "frequency": 2,
    "severity": "high",
    "tags": ["legs", "floors"],
}


class ProjectSetup(Struct, frozen=True):
    api: TenantApi
    database: Database
    project: str
    discussion: Discussion


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def project_setup(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ProjectSetup]:
    """A project with a discussion that has not been exported yet."""
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_tenant_api(database) as api,
    ):
        project = (await api.call_ok("POST", "/projects", {"name": "Moot"}))["id"]
        model = api.script_model("reader", EXPORT)
        about = await create_discussion(database, ANNA, "It wobbles.", "Yes.", project=project, model=model)
        yield ProjectSetup(api, database, project, about)


async def test_export_discussion_stores_readable_insights(project_setup: ProjectSetup) -> None:
    path = f"/discussions/{project_setup.discussion.id}"
    assert await project_setup.api.call_ok("GET", f"{path}/insights") == {"insights": [], "next": None}
    exported = await project_setup.api.call_ok("POST", f"{path}/export")
    assert (exported["summary"], exported["usefulness"]) == ("Tables wobble.", 0.7)
    assert (exported["model"], exported["cost_usd"]) == ("scripted/reader", 0.0)
    assert [one["title"] for one in exported["insights"]] == ["Tables wobble", "Chairs creak"]
    assert await project_setup.api.call_ok("GET", f"{path}/insights") == {
        "insights": exported["insights"],
        "next": None,
    }


async def test_export_uses_requested_model(project_setup: ProjectSetup) -> None:
    other = project_setup.api.script_model("other", {**EXPORT, "insights": []})
    exported = await project_setup.api.call_ok(
        "POST", f"/discussions/{project_setup.discussion.id}/export", {"model": other}
    )
    assert (exported["model"], exported["insights"]) == (other, [])


async def test_consolidate_project_stores_readable_patterns(project_setup: ProjectSetup) -> None:
    path = f"/projects/{project_setup.project}"
    assert await project_setup.api.call_ok("GET", f"{path}/patterns") == {"completed": None, "newest": None}
    early = await project_setup.api.call("POST", f"{path}/consolidate", {})
    assert early.status_code == 409
    await project_setup.api.call_ok("POST", f"/discussions/{project_setup.discussion.id}/export")
    finder = project_setup.api.script_model("finder", {"patterns": [PATTERN]})
    done = (await project_setup.api.call_ok("POST", f"{path}/consolidate", {"model": finder}))["consolidation"]
    assert [one["title"] for one in done["patterns"]] == ["Everything wobbles"]
    assert await project_setup.api.call_ok("GET", f"{path}/patterns") == {"completed": done, "newest": done}


async def test_project_insights_are_paginated_and_searchable(project_setup: ProjectSetup) -> None:
    await project_setup.api.call_ok("POST", f"/discussions/{project_setup.discussion.id}/export")
    path = f"/projects/{project_setup.project}/insights"
    first = await project_setup.api.call_ok("GET", path, limit=1)
    second = await project_setup.api.call_ok("GET", path, limit=1, cursor=first["next"])
    assert [one["title"] for one in (*first["insights"], *second["insights"])] == [
        "Chairs creak",
        "Tables wobble",
    ]
    assert second["next"] is None
    searches = {"wobb": ["Tables wobble"], '"*': [], "creak floors": ["Chairs creak"]}
    for q, found in searches.items():
        page = await project_setup.api.call_ok("GET", path, q=q)
        assert [one["title"] for one in page["insights"]] == found
        assert page["next"] is None
    for wrong in ({"cursor": "nowhere"}, {"q": "x" * 501}):
        refused = await project_setup.api.call("GET", path, **wrong)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, *wrong)
    assert (await project_setup.api.call("GET", path, q="\0")).status_code == 400


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
async def test_knowledge_of_other_tenant_is_not_found(project_setup: ProjectSetup, method: str, path: str) -> None:
    body: object = {} if method == "POST" else None
    exported = await project_setup.api.call_ok("POST", f"/discussions/{project_setup.discussion.id}/export")
    foreign = path.format(discussion=project_setup.discussion.id, project=project_setup.project)
    missing = path.format(discussion="dis_0", project="project_0")
    assert (await project_setup.api.call(method, foreign, body, tenant=BERT)).status_code == 404
    assert (await project_setup.api.call(method, missing, body, tenant=ANNA)).status_code == 404
    listed = await project_setup.api.call_ok("GET", f"/discussions/{project_setup.discussion.id}/insights")
    assert listed["insights"] == exported["insights"]


@pytest.mark.parametrize("body", [{"model": "gpt"}, {"model": 7}, {"model": "a b/c"}, {"modell": "a/b"}])
@pytest.mark.parametrize("path", MODEL_CALL_PATHS)
async def test_export_and_consolidate_reject_invalid_body_by_field(
    project_setup: ProjectSetup, path: str, body: object
) -> None:
    refused = await project_setup.api.call(
        "POST", path.format(discussion=project_setup.discussion.id, project=project_setup.project), body
    )
    assert refused.status_code == 400
    assert "model" in refused.text


@pytest.mark.parametrize("path", MODEL_CALL_PATHS)
async def test_export_and_consolidate_return_503_while_draining(project_setup: ProjectSetup, path: str) -> None:
    await project_setup.api.call_ok("POST", f"/discussions/{project_setup.discussion.id}/export")
    project_setup.api.services.discussion_service.drain()
    refused = await project_setup.api.call(
        "POST", path.format(discussion=project_setup.discussion.id, project=project_setup.project), {}
    )
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")


@pytest.mark.parametrize("path", MODEL_CALL_PATHS)
async def test_export_and_consolidate_end_when_token_is_deleted(project_setup: ProjectSetup, path: str) -> None:
    await project_setup.api.call_ok("POST", f"/discussions/{project_setup.discussion.id}/export")
    target = path.format(discussion=project_setup.discussion.id, project=project_setup.project)
    asking = asyncio.create_task(project_setup.api.call("POST", target, {"model": "scripted/silence"}))
    services = project_setup.api.services
    async with asyncio.timeout(60):
        while not services.revocations._watches:
            await asyncio.sleep(0.01)
        for token in await services.accounts.list_tokens(ANNA):
            await services.accounts.delete_token(ANNA, token.id)
        await services.revocations.check_credentials()
        refused = await asking
    assert (refused.status_code, "log in again" in refused.json()["detail"]) == (401, True)


@pytest.mark.parametrize(("embedding", "statuses"), [(None, [200] * 3), ("ollama/nomic", [200, 200, 429])])
async def test_insight_search_with_embedding_model_counts_as_model_request(
    tmp_path: Path, embedding: str | None, statuses: list[int]
) -> None:
    settings = Settings(embedding_model=embedding, rates=RateSettings(model_requests_per_minute=2))
    async with (
        database_with_accounts("sqlite", tmp_path) as database,
        create_tenant_api(database, settings) as api,
    ):
        path = f"/projects/{(await api.call_ok('POST', '/projects', {'name': 'Moot'}))['id']}/insights"
        assert [(await api.call("GET", path, q="wobble")).status_code for _ in range(3)] == statuses
        assert (await api.call("GET", path)).status_code == 200, "a list asks no model"
