"""Tool catalog of a tenant: built-in tools, tool servers of the operator, tool servers of the user."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Literal

from msgspec import Struct

from moot.engine.tools.approvals import PendingApprovals, StoredApprovals
from moot.engine.tools.builtin import ALWAYS_AVAILABLE, WHITEBOARD_TOOL, BuiltinTools
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.tools.session import ToolSession, ToolSource, group_by_server
from moot.engine.whiteboards import Whiteboards
from moot.store.runs.runs import RunLease
from moot.store.stores import Stores
from moot.tools.config import ServerConfig, UserServer, create_configured_toolbox, create_url_toolbox
from moot.types.billing import format_usd
from moot.types.errors import MootError, NotFound, UsageError
from moot.types.tools import BUILTIN_SERVER_NAME, ToolInfo

CLOSE_SECONDS = 10.0  # for the sessions of ended runs, when the process exits


class ListedTool(Struct, frozen=True, kw_only=True):
    name: str  # `server/tool`, as in the `tools` of a participant
    description: str
    has_effects: bool  # a call needs the approval of a user
    trusted: bool  # unless this is set


class ListedServer(Struct, frozen=True, kw_only=True):
    name: str
    owner: Literal["moot", "server", "own"]  # built-in, of the operator, of the user
    tools: tuple[ListedTool, ...]
    error: str | None = None  # why the tools could not be listed


class ToolCatalog:
    """`allow_private_networks` permits tool servers of users at private addresses."""

    def __init__(
        self,
        stores: Stores,
        servers: Mapping[str, ServerConfig],
        environment: Mapping[str, str],
        search: InsightSearch,
        *,
        allow_private_networks: bool,
    ) -> None:
        self._servers = servers
        self._environment = environment
        self._tool_servers = stores.tool_servers
        self._search = search
        self._budgets = stores.budgets
        self.allow_private_networks = allow_private_networks
        self._discussions = stores.discussions
        self._whiteboards = Whiteboards(stores)
        self._approvals = stores.approvals
        self._closing_tasks: set[asyncio.Task[None]] = set()

    def has_server(self, name: str) -> bool:
        """Whether the operator has configured the server."""
        return name in self._servers

    async def validate_tools(self, tenant: str, tools: Sequence[str], field: str) -> None:
        """Raise UsageError for an unknown server or built-in tool. Tools of other servers are checked in the run."""
        if not tools:
            return
        user_servers = [one.name for one in await self._tool_servers.list_servers(tenant)]
        known = [BUILTIN_SERVER_NAME, *self._servers, *user_servers]
        own = [info.name for info in (*ALWAYS_AVAILABLE, WHITEBOARD_TOOL)]
        for server, names in group_by_server(tools).items():
            if server not in known:
                raise UsageError(f"{field}: there is no tool server {server!r}. Choose from {', '.join(known)}.")
            wrong = sorted((names or set()) - set(own)) if server == BUILTIN_SERVER_NAME else []
            if wrong:
                raise UsageError(
                    f"{field}: {BUILTIN_SERVER_NAME} has no tool {wrong[0]!r}. Choose from {', '.join(own)}."
                )

    async def list_servers(self, tenant: str) -> Sequence[ListedServer]:
        """Connect to all servers of the tenant concurrently. A failure is in `ListedServer.error`."""
        own = ListedServer(
            name=BUILTIN_SERVER_NAME,
            owner="moot",
            tools=_describe_tools(BUILTIN_SERVER_NAME, (*ALWAYS_AVAILABLE, WHITEBOARD_TOOL), ()),
        )
        user_servers = [
            one.name for one in await self._tool_servers.list_servers(tenant) if one.name not in self._servers
        ]
        pending = [self._list_server(tenant, name, "server") for name in self._servers]
        pending += [self._list_server(tenant, name, "own") for name in user_servers]
        return [own, *await asyncio.gather(*pending)]

    async def _list_server(self, tenant: str, name: str, whose: Literal["server", "own"]) -> ListedServer:
        try:
            source = await self._open_source(tenant, name)
            async with aclosing(source.toolbox):
                tools = await source.toolbox.list_tools()
        except MootError as error:
            return ListedServer(name=name, owner=whose, tools=(), error=str(error))
        trusted = [info.name for info in tools if source.is_trusted(info.name)]
        return ListedServer(name=name, owner=whose, tools=_describe_tools(name, tools, trusted))

    @asynccontextmanager
    async def open_session(self, lease: RunLease, pending_approvals: PendingApprovals) -> AsyncIterator[ToolSession]:
        """Open the tools of a run that executes here."""
        # Requests from before a crash: no task waits for the answer any more.
        await self._approvals.withdraw_run_requests(lease.run)

        async def open_source(server: str) -> ToolSource:
            if server == BUILTIN_SERVER_NAME:
                own = BuiltinTools(lease.tenant, lease.discussion, self._discussions, self._search, self._whiteboards)
                return ToolSource(own, lambda _: False)
            return await self._open_source(lease.tenant, server)

        new_approvals = partial(StoredApprovals, self._approvals, lease, pending_approvals)
        session = ToolSession(open_source, new_approvals, partial(self._over_budget_message, lease.account))
        try:
            yield session
        finally:  # in a task, so that a slow tool server does not delay the end of the run
            closing = asyncio.get_running_loop().create_task(session.aclose())
            self._closing_tasks.add(closing)
            closing.add_done_callback(self._closing_tasks.discard)

    async def wait_for_closing_sessions(self) -> None:
        """Wait until the sessions of ended runs are closed, with a timeout."""
        if self._closing_tasks:
            await asyncio.wait(self._closing_tasks, timeout=CLOSE_SECONDS)

    async def _open_source(self, tenant: str, name: str) -> ToolSource:
        """A server of the operator takes precedence over one of the user with the same name."""
        if (config := self._servers.get(name)) is not None:
            return ToolSource(await create_configured_toolbox(name, config, self._environment), config.trusts_tool)
        if (stored := await self._tool_servers.load_server(tenant, name)) is None:
            raise NotFound(f"There is no tool server {name!r} any more.")
        url, headers = stored
        toolbox = await create_url_toolbox(
            name, UserServer(url=url, headers=headers), allow_private_hosts=self.allow_private_networks
        )
        return ToolSource(toolbox, lambda _: False)

    async def _over_budget_message(self, account: str | None, cost: float) -> str | None:
        current = await self._budgets.current_budget(account) if account is not None else None
        if current is None or current.weekly_budget_usd is None or current.spent_usd + cost < current.weekly_budget_usd:
            return None
        return f"This week's budget of {format_usd(current.weekly_budget_usd)} is spent. The run ends here."


def _describe_tools(server: str, tools: Sequence[ToolInfo], trusted: Sequence[str]) -> tuple[ListedTool, ...]:
    return tuple(
        ListedTool(
            name=f"{server}/{info.name}",
            description=info.description,
            has_effects=info.has_effects,
            trusted=info.name in trusted,
        )
        for info in tools
    )
