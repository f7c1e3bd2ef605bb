"""Which tools there are for whom: Moot's own, those of the operator's servers, and those of a user's own."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from moot.engine.tools.approvals import Answers, Asking
from moot.engine.tools.builtin import ALWAYS, BOARD, OwnTools
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.tools.session import Source, Workshop, servers_of
from moot.engine.whiteboards import Boards
from moot.store.accounts.tool_servers import ToolServers
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.approvals import Permissions
from moot.store.runs.runs import Claim
from moot.tools.config import ServerConfig, UserServer, configured, named_by_user
from moot.types.billing import dollars
from moot.types.errors import MootError, NotFound, UsageError
from moot.types.tools import OWN, ToolInfo


class ListedTool(Struct, frozen=True, kw_only=True):
    """A tool as `name` in a participant's `tools`; of one with `effects`, somebody is asked unless it is trusted."""

    name: str
    description: str
    effects: bool
    trusted: bool


class ListedServer(Struct, frozen=True, kw_only=True):
    """A server and its tools, or why there are none."""

    name: str
    whose: Literal["moot", "server", "own"]
    tools: tuple[ListedTool, ...]
    error: str | None = None


class Tooling:
    """`anywhere` lets the servers of users be in a private network."""

    def __init__(
        self,
        database: Database,
        servers: Mapping[str, ServerConfig],
        environment: Mapping[str, str],
        stored: ToolServers,
        search: InsightSearch,
        budgets: Budgets,
        *,
        anywhere: bool,
    ) -> None:
        self._servers = servers
        self._environment = environment
        self._stored = stored
        self._search = search
        self._budgets = budgets
        self.anywhere = anywhere
        self._discussions = Discussions(database)
        self._boards = Boards(database)
        self._permissions = Permissions(database)

    def has(self, name: str) -> bool:
        """Tell whether a server is the operator's."""
        return name in self._servers

    async def check(self, tenant: str, tools: Sequence[str], field: str) -> None:
        """Refuse what names no server, or no tool of Moot's own; what else a server has, it says when it is asked."""
        if not tools:
            return
        known = [OWN, *self._servers, *(one.name for one in await self._stored.of(tenant))]
        own = [info.name for info in (*ALWAYS, BOARD)]
        for server, names in servers_of(tools).items():
            if server not in known:
                raise UsageError(
                    f"{field}: there is no tool server {server!r}: name one of {', '.join(known)}."
                )
            wrong = sorted((names or set()) - set(own)) if server == OWN else []
            if wrong:
                raise UsageError(f"{field}: {OWN} has no tool {wrong[0]!r}: it has {', '.join(own)}.")

    async def listing(self, tenant: str) -> Sequence[ListedServer]:
        """List all servers that a tenant can use, and what they have; each is asked, at the same time."""
        own = ListedServer(name=OWN, whose="moot", tools=_listed(OWN, (*ALWAYS, BOARD), ()))
        theirs = [one.name for one in await self._stored.of(tenant) if one.name not in self._servers]
        asked = [self._asked(tenant, name, "server") for name in self._servers]
        asked += [self._asked(tenant, name, "own") for name in theirs]
        return [own, *await asyncio.gather(*asked)]

    async def _asked(self, tenant: str, name: str, whose: Literal["server", "own"]) -> ListedServer:
        try:
            source = await self._source(tenant, name)
        except MootError as error:
            return ListedServer(name=name, whose=whose, tools=(), error=str(error))
        try:
            tools = await source.toolbox.tools()
            trusted = [info.name for info in tools if source.trusts(info.name)]
            return ListedServer(name=name, whose=whose, tools=_listed(name, tools, trusted))
        except MootError as error:
            return ListedServer(name=name, whose=whose, tools=(), error=str(error))
        finally:
            await source.toolbox.aclose()

    def workshop(self, claim: Claim, answers: Answers) -> Workshop:
        """Open the workshop of a run."""

        async def open_(server: str) -> Source:
            if server == OWN:
                own = OwnTools(claim.tenant, claim.discussion, self._discussions, self._search, self._boards)
                return Source(own, lambda _: False)
            return await self._source(claim.tenant, server)

        async def over_budget(cost: float) -> str | None:
            return await self._over_budget(claim.account, cost)

        return Workshop(open_, lambda: Asking(self._permissions, claim, answers), over_budget)

    async def forget_questions(self, run: str) -> None:
        """Let nobody answer what a run asked before a crash."""
        await self._permissions.withdraw_all(run)

    async def _source(self, tenant: str, name: str) -> Source:
        """Find a server; that of the operator comes before one of a user's own."""
        if (config := self._servers.get(name)) is not None:
            return Source(await configured(name, config, self._environment), config.trusts)
        if (stored := await self._stored.opened(tenant, name)) is None:
            raise NotFound(f"There is no tool server {name!r} any more.")
        url, headers = stored
        toolbox = await named_by_user(name, UserServer(url=url, headers=headers), anywhere=self.anywhere)
        return Source(toolbox, lambda _: False)

    async def _over_budget(self, account: str | None, cost: float) -> str | None:
        now = await self._budgets.standing(account) if account is not None else None
        if now is None or now.budget is None or now.spent + cost < now.budget:
            return None
        return f"This week's budget of {dollars(now.budget)} is spent: it ends here."


def _listed(server: str, tools: Sequence[ToolInfo], trusted: Sequence[str]) -> tuple[ListedTool, ...]:
    return tuple(
        ListedTool(
            name=f"{server}/{info.name}",
            description=info.description,
            effects=info.effects,
            trusted=info.name in trusted,
        )
        for info in tools
    )
