from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.accounts import BERT, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.tenant_api import TenantApi, create_tenant_api


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def api(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TenantApi]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_tenant_api(database) as api,
    ):
        yield api


async def test_project_can_be_created_read_updated_and_deleted(api: TenantApi) -> None:
    made = await api.call("POST", "/projects", {"name": "Moot", "repository": "a/moot"})
    assert made.status_code == 201
    moot = made.json()
    assert await api.call_ok("GET", f"/projects/{moot['id']}") == moot
    assert await api.call_ok("GET", "/projects") == {"projects": [moot], "next": None}
    changed = await api.call_ok("PATCH", f"/projects/{moot['id']}", {"description": "A table."})
    assert changed == {**moot, "description": "A table."}
    assert (await api.call("DELETE", f"/projects/{moot['id']}")).status_code == 204
    assert (await api.call("GET", f"/projects/{moot['id']}")).status_code == 404


async def test_post_can_be_created_published_and_deleted(api: TenantApi) -> None:
    moot = (await api.call_ok("POST", "/projects", {"name": "Moot"}))["id"]
    made = await api.call("POST", f"/projects/{moot}/posts", {"title": "News", "excerpt": "It stands."})
    assert made.status_code == 201
    post = made.json()
    assert post["published_at"] is None
    assert await api.call_ok("GET", f"/projects/{moot}/posts") == {"posts": [post], "next": None}
    published = await api.call_ok("PATCH", f"/projects/{moot}/posts/{post['id']}", {"published": True})
    assert published["published_at"] is not None
    assert (await api.call("DELETE", f"/projects/{moot}/posts/{post['id']}")).status_code == 204
    assert await api.call_ok("GET", f"/projects/{moot}/posts") == {"posts": [], "next": None}


async def test_project_and_post_lists_are_paginated(api: TenantApi) -> None:
    made = [(await api.call_ok("POST", "/projects", {"name": f"P{n}"}))["id"] for n in range(3)]
    first = await api.call_ok("GET", "/projects", limit=2)
    second = await api.call_ok("GET", "/projects", limit=2, cursor=first["next"])
    listed = [one["id"] for one in (*first["projects"], *second["projects"])]
    assert listed == sorted(made, reverse=True)
    for n in range(3):
        await api.call_ok("POST", f"/projects/{made[0]}/posts", {"title": f"P{n}"})
    posts = await api.call_ok("GET", f"/projects/{made[0]}/posts", limit=2)
    rest = await api.call_ok("GET", f"/projects/{made[0]}/posts", limit=2, cursor=posts["next"])
    assert (len(posts["posts"]), len(rest["posts"]), rest["next"]) == (2, 1, None)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"name": "Mine"}),
        ("DELETE", "", None),
        ("GET", "/posts", None),
        ("POST", "/posts", {"title": "Mine"}),
        ("PATCH", "/posts/{post}", {"title": "Mine"}),
        ("DELETE", "/posts/{post}", None),
    ],
)
async def test_project_of_other_tenant_is_not_found(api: TenantApi, method: str, path: str, body: object) -> None:
    moot = await api.call_ok("POST", "/projects", {"name": "Moot"})
    post = await api.call_ok("POST", f"/projects/{moot['id']}/posts", {"title": "News"})
    own = await api.call_ok("POST", "/projects", {"name": "Other"}, tenant=BERT)
    for project in (moot["id"], own["id"] if "{post}" in path else "project_0"):
        path_there = f"/projects/{project}{path.format(post=post['id'])}"
        assert (await api.call(method, path_there, body, tenant=BERT)).status_code == 404
    assert await api.call_ok("GET", f"/projects/{moot['id']}") == moot
    assert (await api.call_ok("GET", f"/projects/{moot['id']}/posts"))["posts"] == [post]
    assert (await api.call_ok("GET", "/projects", tenant=BERT))["projects"] == [own]


@pytest.mark.parametrize(
    ("field", "path", "body"),
    [
        ("name", "", {}),
        ("name", "", {"name": " "}),
        ("owner", "", {"name": "Moot", "owner": "me"}),
        ("title", "/{moot}/posts", {"title": "x" * 201}),
        ("published", "/{moot}/posts", {"title": "News", "published": "yes"}),
    ],
)
async def test_project_routes_reject_invalid_body_by_field(
    api: TenantApi, field: str, path: str, body: dict[str, Any]
) -> None:
    moot = (await api.call_ok("POST", "/projects", {"name": "Moot"}))["id"]
    refused = await api.call("POST", f"/projects{path.format(moot=moot)}", body)
    assert refused.status_code == 400
    assert field in refused.text
