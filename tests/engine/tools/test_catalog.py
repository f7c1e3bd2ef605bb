from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import update

from moot.engine.tools.approvals import PendingApprovals
from moot.engine.tools.catalog import ToolCatalog
from moot.engine.tools.insight_search import InsightSearch
from moot.store.accounts.tool_servers import ToolServers
from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.library.insights import Insights, InsightVectors
from moot.store.schema.accounts import account
from moot.tools.config import ServerConfig
from moot.types.errors import UsageError
from moot.types.participants import Participant
from tests.support.accounts import ANNA, BERT, create_discussion, database_with_accounts
from tests.support.runs import create_run, lease_run
from tests.support.stores import ENCRYPTION_SECRET, make_stores
from tests.support.tool_servers import TOOL_SERVER_COMMAND

CONFIG = ServerConfig(command=TOOL_SERVER_COMMAND)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts("sqlite", tmp_path) as database:
        yield database


def create_catalog(database: Database, *, allow_private_networks: bool = False) -> ToolCatalog:
    return ToolCatalog(
        make_stores(database),
        {"notes": CONFIG},
        {},
        InsightSearch(Insights(database), InsightVectors(database)),
        allow_private_networks=allow_private_networks,
    )


async def test_validate_tools_rejects_server_of_another_tenant(database: Database) -> None:
    await ToolServers(database, Encryptor(ENCRYPTION_SECRET)).store_server(ANNA, "mine", "https://tools.example", {})
    catalog = create_catalog(database)
    await catalog.validate_tools(ANNA, ("moot", "notes/anything", "mine"), "tools")
    with pytest.raises(UsageError, match="tools: there is no tool server 'mine'"):
        await catalog.validate_tools(BERT, ("mine",), "tools")


async def test_list_servers_lists_all_servers_of_tenant_with_errors(database: Database) -> None:
    await ToolServers(database, Encryptor(ENCRYPTION_SECRET)).store_server(ANNA, "mine", "https://127.0.0.1:9", {})
    own, notes, mine = await create_catalog(database).list_servers(ANNA)
    assert [(one.name, one.owner) for one in (own, notes, mine)] == [
        ("moot", "moot"),
        ("notes", "server"),
        ("mine", "own"),
    ]
    assert own.tools
    assert notes.tools
    assert (mine.tools, bool(mine.error)) == ((), True)


async def test_open_session_prefers_configured_server_over_tenant_server(
    database: Database,
) -> None:
    stored = ToolServers(database, Encryptor(ENCRYPTION_SECRET))
    await stored.store_server(ANNA, "notes", "https://127.0.0.1:9", {})
    await stored.store_server(ANNA, "mine", "https://127.0.0.1:9", {})
    claimed = await lease_run(database, (await create_run(database, await create_discussion(database))).id)
    catalog = create_catalog(database)
    who = Participant("alpha", "Alpha", "m", tools=("moot/search_knowledge", "notes/look_up", "mine", "gone"))
    async with catalog.open_session(claimed, PendingApprovals()) as session:
        toolset = await session.load_participant_tools(who)
    await catalog.wait_for_closing_sessions()
    assert not catalog._closing_tasks
    assert toolset.toolset is not None
    assert [tool.name for tool in toolset.toolset.tool_definitions] == [
        "moot__search_knowledge",
        "notes__look_up",
    ]
    private, gone = toolset.problems
    assert private.startswith("The host 127.0.0.1 is in a private network")
    assert gone == "There is no tool server 'gone' any more. Its tools are left out."


async def test_check_budget_returns_message_when_budget_is_spent(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(update(account).where(account.c.id == ANNA).values(weekly_budget_usd=1.0))
    claimed = await lease_run(database, (await create_run(database, await create_discussion(database))).id)
    async with create_catalog(database).open_session(claimed, PendingApprovals()) as session:
        assert await session.check_budget(0.5) is None
        assert "This week's budget of $1.00 is spent" in (await session.check_budget(1.5) or "")
