import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient, Response

from moot.server.mcp.routes import MAX_BODY, MCP_PATH, McpApp
from moot.store.database import Database
from moot.types.errors import ShuttingDown
from tests.server.account_app import AccountApp, create_account_app
from tests.support.app_fixture import create_local_app
from tests.support.databases import open_migrated_database

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
LIST_TOOLS_REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database("sqlite", tmp_path) as database:
        yield database


async def list_tools(client: AsyncClient, **headers: str) -> Response:
    sent = {**HEADERS, "Mcp-Method": "tools/list", **headers}
    return await client.post(MCP_PATH, json=LIST_TOOLS_REQUEST, headers=sent)


def mounted_mcp_app(account_app: AccountApp) -> McpApp:
    mounted: McpApp = account_app.app.state["mcp"]
    return mounted


async def test_mcp_endpoint_requires_valid_token(database: Database) -> None:
    async with create_account_app(database) as account_app:
        refused = await list_tools(account_app.client)
        assert refused.status_code == 401
        assert refused.headers["content-type"] == "application/problem+json"
        wrong = await list_tools(account_app.client, Authorization="Bearer moot_wrong")
        assert wrong.status_code == 401
        response = await list_tools(account_app.client, **await account_app.create_token_headers("ada"))
        assert (response.status_code, response.json()["result"]["tools"][0]["name"]) == (200, "ask")
        await mounted_mcp_app(account_app).close()


async def test_mcp_endpoint_is_rate_limited(database: Database) -> None:
    async with create_account_app(database, requests_per_minute=2) as account_app:
        ada = await account_app.create_token_headers("ada")
        assert [(await list_tools(account_app.client, **ada)).status_code for _ in range(3)] == [200, 200, 429]
        await mounted_mcp_app(account_app).close()


async def test_mcp_endpoint_rejects_too_large_body(database: Database) -> None:
    async with create_account_app(database, local=True) as account_app:
        large = await account_app.client.post(MCP_PATH, content=b" " * (MAX_BODY + 1), headers=HEADERS)
        assert large.status_code == 413
        await mounted_mcp_app(account_app).close()


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_mcp_endpoint_rejects_cross_site_requests(database: Database, headers: dict[str, str]) -> None:
    async with create_local_app(database) as local_app:
        assert (await list_tools(local_app.client, **headers)).status_code == 403
        assert (await list_tools(local_app.client)).status_code == 200
        await local_app.services.mcp.close()


async def test_mcp_server_is_not_loaded_before_first_call(database: Database) -> None:
    async with create_local_app(database) as local_app:
        await local_app.create_discussion()
        assert local_app.services.mcp._session_task is None
        await local_app.services.mcp.close()


async def test_mcp_call_during_shutdown_raises_shutting_down(database: Database) -> None:
    async with create_local_app(database) as local_app:
        mcp = local_app.services.mcp
        calling = asyncio.create_task(mcp._get_app())
        await asyncio.sleep(0)
        await mcp.close()
        with pytest.raises(ShuttingDown):
            await calling


async def test_abort_all_aborts_open_mcp_connections(database: Database) -> None:
    async with create_local_app(database) as local_app:
        aborted: list[str] = []
        scope: Any = {"extensions": {"moot.abort": lambda: aborted.append("aborted")}}
        local_app.services.mcp._open_scopes.append(scope)
        local_app.services.mcp.abort_all()
        assert aborted == ["aborted"]


async def test_mcp_endpoint_is_not_served_as_html_page(database: Database) -> None:
    async with create_local_app(database) as local_app:
        client = AsyncClient(transport=ASGITransport(app=local_app.app), base_url="http://localhost")
        browser = await client.get(MCP_PATH, headers={"Accept": "text/html"})
        assert browser.headers["content-type"] != "text/html; charset=utf-8"
        await client.aclose()
        await local_app.services.mcp.close()


async def test_mcp_startup_failure_is_logged_and_retried_on_next_call(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no sessions")

    async with create_account_app(database) as account_app:
        ada = await account_app.create_token_headers("ada")
        with monkeypatch.context() as patched:
            patched.setattr("moot.server.mcp.server.create_session_manager", broken)
            assert (await list_tools(account_app.client, **ada)).status_code == 503
        assert "MCP session manager failed" in caplog.text
        assert (await list_tools(account_app.client, **ada)).status_code == 200
        await mounted_mcp_app(account_app).close()
