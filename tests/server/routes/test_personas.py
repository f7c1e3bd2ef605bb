from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.accounts import ANNA, BERT, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.tenant_api import TenantApi, create_tenant_api

COOK = {"name": "Cook", "description": "Cooks."}


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def api(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TenantApi]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_tenant_api(database) as api,
    ):
        yield api


async def test_persona_can_be_created_read_updated_and_deleted(api: TenantApi) -> None:
    made = await api.call("POST", "/personas", {**COOK, "traits": ["warm"], "colour": "#aabbcc"})
    assert made.status_code == 201
    cook = made.json()
    assert (cook["name"], cook["traits"], cook["level"], cook["success_rate"]) == ("Cook", ["warm"], 1, None)
    assert await api.call_ok("GET", f"/personas/{cook['id']}") == cook
    changed = await api.call_ok("PATCH", f"/personas/{cook['id']}", {"name": "Chef"})
    assert changed == {**cook, "name": "Chef"}
    assert (await api.call("DELETE", f"/personas/{cook['id']}")).status_code == 204
    assert (await api.call("GET", f"/personas/{cook['id']}")).status_code == 404


async def test_list_personas_pages_shipped_personas_before_own(api: TenantApi) -> None:
    mine = [(await api.call_ok("POST", "/personas", COOK))["id"] for _ in range(3)]
    first = await api.call_ok("GET", "/personas", limit=11)
    assert all(one["builtin"] for one in first["personas"][:10])
    second = await api.call_ok("GET", "/personas", limit=11, cursor=first["next"])
    assert second["next"] is None
    listed = [one["id"] for one in (*first["personas"], *second["personas"])]
    assert listed[10:] == sorted(mine, reverse=True)


async def test_shipped_persona_is_readable_and_read_only(api: TenantApi) -> None:
    assert (await api.call_ok("GET", "/personas/shipped_sceptic"))["name"] == "Sceptic"
    for refused in (
        await api.call("PATCH", "/personas/shipped_sceptic", {"name": "Believer"}),
        await api.call("DELETE", "/personas/shipped_sceptic"),
    ):
        assert refused.status_code == 403
        assert "Create a copy" in refused.json()["detail"]


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PATCH", {"name": "Mine"}), ("DELETE", None)])
async def test_persona_of_other_tenant_is_not_found(api: TenantApi, method: str, body: object) -> None:
    cook = await api.call_ok("POST", "/personas", COOK, tenant=ANNA)
    foreign = await api.call(method, f"/personas/{cook['id']}", body, tenant=BERT)
    missing = await api.call(method, "/personas/persona_0", body, tenant=BERT)
    assert (foreign.status_code, missing.status_code) == (404, 404)
    assert cook["id"] not in str(await api.call_ok("GET", "/personas", tenant=BERT))
    assert await api.call_ok("GET", f"/personas/{cook['id']}") == cook


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("name", {"description": "Cooks."}),
        ("name", {**COOK, "name": "x" * 61}),
        ("description", {**COOK, "description": "x" * 4001}),
        ("traits", {**COOK, "traits": "warm"}),
        ("colour", {**COOK, "colour": "red"}),
        ("builtin", {**COOK, "builtin": True}),
        ("system_prompt", {"name": "Cook"}),
    ],
)
async def test_create_persona_rejects_invalid_body_by_field(api: TenantApi, field: str, body: dict[str, Any]) -> None:
    refused = await api.call("POST", "/personas", body)
    assert refused.status_code == 400
    assert field in refused.text


async def test_persona_text_is_stored_without_nul(api: TenantApi) -> None:
    made = await api.call_ok("POST", "/personas", {**COOK, "description": "a\0b"})
    assert made["description"] == "ab"


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 101}, {"limit": "many"}, {"cursor": "a'b"}, {"cursor": "\0"}]
)
async def test_list_personas_rejects_invalid_page(api: TenantApi, query: dict[str, Any]) -> None:
    assert (await api.call("GET", "/personas", **query)).status_code == 400
