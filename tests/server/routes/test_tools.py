from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.server.routes.tools import NewToolServer, check_tool_server_url
from moot.settings import RateSettings, Settings
from moot.tools.config import ServerConfig
from moot.types.errors import UsageError
from tests.support.accounts import ANNA, BERT, create_discussion, database_with_accounts
from tests.support.runs import create_run, make_requested_call
from tests.support.tenant_api import TenantApi, create_tenant_api
from tests.support.tool_servers import TOOL_SERVER_COMMAND

URL = "https://tools.example/mcp"
CANARY = "Bearer sk-canary-0123456789"
SETTINGS = Settings(
    tools={"notes": ServerConfig(command=TOOL_SERVER_COMMAND, trusted=("write_down",))},
    rates=RateSettings(messages_per_minute=1_000_000, messages_burst=1000),
)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[TenantApi]:
    async with (
        database_with_accounts("sqlite", tmp_path) as database,
        create_tenant_api(database, SETTINGS) as api,
    ):
        yield api


async def test_own_tool_server_is_stored_listed_and_deleted_without_showing_headers(
    api: TenantApi,
) -> None:
    body: dict[str, Any] = {"url": URL, "headers": {"Authorization": CANARY}}
    assert (await api.call("PUT", "/tool-servers/mine", body)).status_code == 204
    listed = await api.call("GET", "/tool-servers")
    assert [(one["name"], one["url"]) for one in listed.json()] == [("mine", URL)]
    assert "canary" not in listed.text + repr(NewToolServer(**body))
    assert await api.call_ok("GET", "/tool-servers", tenant=BERT) == []
    assert (await api.call("DELETE", "/tool-servers/mine", tenant=BERT)).status_code == 404
    assert (await api.call("DELETE", "/tool-servers/mine")).status_code == 204


@pytest.mark.parametrize(
    "body",
    [
        {"url": URL, "command": ["sh", "-c", "true"]},
        {"command": ["sh"]},
        {"url": URL, "env": ["PATH"]},
        {"url": URL, "trusted": ["write"]},
        {"url": URL, "approve": "never"},
    ],
)
async def test_store_tool_server_rejects_command_and_trust_settings(api: TenantApi, body: dict[str, Any]) -> None:
    assert (await api.call("PUT", "/tool-servers/mine", body)).status_code == 400
    assert await api.call_ok("GET", "/tool-servers") == []


@pytest.mark.parametrize(
    ("name", "status"), [("notes", 409), ("moot", 409), ("Mine", 400), ("a%20b", 400), ("x" * 33, 400)]
)
async def test_store_tool_server_rejects_taken_or_invalid_name(api: TenantApi, name: str, status: int) -> None:
    assert (await api.call("PUT", f"/tool-servers/{name}", {"url": URL})).status_code == status


@pytest.mark.parametrize(
    "headers",
    [{"Host": "x"}, {"a b": "x"}, {"A": "x\r\nB: y"}, {"A": "\u00e4"}, {"A": ""}, {"A": " x"}],
)
async def test_store_tool_server_rejects_invalid_headers(api: TenantApi, headers: dict[str, str]) -> None:
    reply = await api.call("PUT", "/tool-servers/mine", {"url": URL, "headers": headers})
    assert reply.status_code == 400


PRIVATE_URLS = [
    "https://localhost/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://169.254.169.254/latest",
]
INVALID_URLS = [
    "http://tools.example",
    "ftp://a.example",
    "https://",
    "https://a:b@c.example",
    "https://a.example/#x",
]


@pytest.mark.parametrize("url", [*PRIVATE_URLS, *INVALID_URLS, "https://a.example:99999/", "https://a b/"])
def test_check_address_rejects_private_and_invalid_urls(url: str) -> None:
    with pytest.raises(UsageError, match="url: "):
        check_tool_server_url(url, allow_private=False)


def test_check_address_suggests_private_setting_before_https() -> None:
    for url in ("http://127.0.0.1:9000/mcp", "http://localhost/"):
        with pytest.raises(UsageError, match=r"private network\. .* with private_tool_servers = true"):
            check_tool_server_url(url, allow_private=False)
    with pytest.raises(UsageError, match="must begin with https"):
        check_tool_server_url("http://tools.example/", allow_private=False)


def test_check_address_accepts_private_networks_when_allowed() -> None:
    for url in ("http://127.0.0.1:80/mcp", "https://localhost/"):
        check_tool_server_url(url, allow_private=True)


async def test_list_tools_contains_all_servers_and_connection_errors(
    api: TenantApi,
) -> None:
    await api.services.tool_servers.store_server(ANNA, "mine", "https://127.0.0.1:9/mcp", {"A": CANARY})
    own, notes, mine = await api.call_ok("GET", "/tools")
    assert [tool["name"] for tool in own["tools"]] == [
        "moot/search_knowledge",
        "moot/read_discussion",
        "moot/read_whiteboard",
    ]
    tools = {tool["name"]: (tool["has_effects"], tool["trusted"]) for tool in notes["tools"]}
    assert (tools["notes/write_down"], tools["notes/look_up"]) == ((True, True), (False, False))
    assert (mine["owner"], mine["tools"]) == ("own", [])
    assert "127.0.0.1 is in a private network" in mine["error"]


async def test_participant_tools_must_name_existing_servers_and_tools(api: TenantApi) -> None:
    async def create_with_tools(*tools: str) -> Any:
        participant = {"model": "scripted/echo", "tools": list(tools)}
        return await api.call("POST", "/discussions", {"message": "Why?", "participants": [participant]})

    right = await create_with_tools("notes", "moot/search_knowledge")
    assert right.json()["discussion"]["participants"][0]["tools"] == ["notes", "moot/search_knowledge"]
    unknown = (await create_with_tools("files")).json()
    assert unknown["errors"][0]["field"] == "participants[0].tools"
    assert "there is no tool server 'files'. Choose from moot, notes." in unknown["detail"]
    assert "moot has no tool 'fly'" in (await create_with_tools("moot/fly")).json()["detail"]
    assert (await create_with_tools("Not a name")).status_code == 400


async def test_approval_is_resolved_once_by_its_tenant(api: TenantApi) -> None:
    database = api.services.database
    run = await create_run(database, await create_discussion(database), worker_id=api.worker.id)
    await api.services.approvals.request_approval(make_requested_call(run))
    path = f"/runs/{run.id}/approvals/call_1"
    assert (await api.call("POST", path, {"decision": "perhaps"})).status_code == 400
    assert (await api.call("POST", path, {"decision": "allow"}, tenant=BERT)).status_code == 404
    assert (await api.call("POST", path, {"decision": "allow"})).status_code == 204
    assert (await api.call("POST", path, {"decision": "refuse"})).status_code == 409
    assert (await api.services.runs.pending_commands(run.id)).approval_decisions == {"call_1": "allow"}
