"""The treasury: says what a run will cost by the prices of the models it asks, and reserves that of its payer's budget."""

import asyncio
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.casting import Chains
from moot.engine.forecast import Forecast, forecast
from moot.model.accounts import Caller
from moot.model.chunks import Usage
from moot.model.discussions import Message
from moot.model.errors import UsageError
from moot.model.plans import Plan
from moot.providers.registry import Resolved
from moot.store.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions import Discussions


class Treasury:
    """`chains` finds who is asked for a tenant's model."""

    def __init__(self, database: Database, budgets: Budgets, chains: Chains) -> None:
        self._discussions = Discussions(database)
        self._budgets = budgets
        self._chains = chains

    async def forecast(
        self, caller: Caller, plan: Plan, words: str | None, discussion: str | None
    ) -> Forecast:
        """Say what a run of a plan will cost, in a discussion that exists or in a new one."""
        earlier: Sequence[Message] = await self._discussions.messages(discussion) if discussion else ()
        models = {who.model for who in plan.speaking} | ({plan.clerk} if plan.clerk else set())
        asked = {model: await self._asked(caller.tenant, model) for model in models}

        def priced(model: str, usage: Usage) -> float | None:
            found = asked.get(model)
            return found.provider.cost(found.model, usage) if found else None

        # In a thread: the list of prices is slow to load.
        return await asyncio.to_thread(forecast, plan, words, earlier, priced)

    async def due(
        self, caller: Caller, plan: Plan, words: str | None, discussion: str | None
    ) -> float | None:
        """Say what is to be reserved for a run; None where its payer has no budget."""
        if await self._budgets.limit(caller.account) is None:
            return None
        cost = (await self.forecast(caller, plan, words, discussion)).cost
        return cost if plan.cap is None else min(cost, plan.cap)

    async def reserve(self, connection: AsyncConnection, caller: Caller, run: str, due: float | None) -> None:
        """Reserve what is due for a run, or refuse it."""
        if due is not None:
            await self._budgets.reserve(connection, caller.account, run, due)

    async def _asked(self, tenant: str, model: str) -> Resolved | None:
        """Find who is asked first for a model; nobody, where a key is missing."""
        try:
            return (await self._chains(tenant, model))[0]
        except UsageError:
            return None
