"""The treasury: says what a run will cost by the prices of the models it asks, and reserves that of its payer's budget."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.context.pieces import Attached, Enclosed
from moot.engine.casting import Chains
from moot.engine.forecast import Forecast, forecast
from moot.model.accounts import Caller
from moot.model.chunks import Text, Usage
from moot.model.discussions import Message
from moot.model.errors import UsageError
from moot.model.files import StoredFile
from moot.model.plans import Plan
from moot.model.profiles import file_kind
from moot.model.requests import File
from moot.providers.registry import Resolved
from moot.store.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions import Discussions
from moot.store.files import Files

AT_ONCE = frozenset({"parallel", "debate", "advisors"})  # modes in which all begin at the same time


class Treasury:
    """`chains` finds who is asked for a tenant's model."""

    def __init__(self, database: Database, budgets: Budgets, chains: Chains) -> None:
        self._discussions = Discussions(database)
        self._files = Files(database)
        self._budgets = budgets
        self._chains = chains

    async def forecast(
        self, caller: Caller, plan: Plan, message: Message | None, discussion: str | None
    ) -> Forecast:
        """Say what a run of a plan will cost, in a discussion that exists or in a new one."""
        earlier = await self._earlier(plan, discussion) if discussion else ()
        models = {who.model for who in plan.speaking} | ({plan.clerk} if plan.clerk else set())
        asked = {model: await self._asked(caller.tenant, model) for model in models}

        def priced(model: str, usage: Usage) -> float | None:
            found = asked.get(model)
            return found.provider.cost(found.model, usage) if found else None

        said = [*earlier, message] if message else earlier
        attached = await self._attached(caller.tenant, said)
        # In a thread: the list of prices is slow to load.
        return await asyncio.to_thread(forecast, plan, message, earlier, priced, attached)

    async def _earlier(self, plan: Plan, discussion: str) -> Sequence[Message]:
        if (then := plan.again) is None:
            return await self._discussions.messages(discussion)
        return await self._discussions.messages(discussion, before=then.number, upto=then.upto)

    async def due(
        self, caller: Caller, plan: Plan, message: Message | None, discussion: str | None
    ) -> float | None:
        """Say what is to be reserved for a run; None where its payer has no budget."""
        if await self._budgets.limit(caller.account) is None:
            return None
        cost = (await self.forecast(caller, plan, message, discussion)).cost
        if plan.cap is None:
            return cost
        first = (await self.forecast(caller, _beginning(plan), message, discussion)).cost
        return min(cost, max(first, plan.cap))  # what begins is asked, however small the cap

    async def reserve(self, connection: AsyncConnection, caller: Caller, run: str, due: float | None) -> None:
        """Reserve what is due for a run, or refuse it."""
        if due is not None:
            await self._budgets.reserve(connection, caller.account, run, due)

    async def _attached(self, tenant: str, said: Sequence[Message]) -> Attached:
        """Stand something of their size in for the files that came with messages: text is read in full."""
        came = {message.id: message.files for message in said if message.files}
        known = await self._files.several(tenant, [id for ids in came.values() for id in ids]) if came else {}
        return {
            message: tuple(_of_its_size(known[id]) for id in ids if id in known)
            for message, ids in came.items()
        }

    async def _asked(self, tenant: str, model: str) -> Resolved | None:
        """Find who is asked first for a model; nobody, where a key is missing."""
        try:
            return (await self._chains(tenant, model))[0]
        except UsageError:
            return None


def _beginning(plan: Plan) -> Plan:
    """Make the plan of what is asked first, whatever it costs."""
    if plan.mode == "advisors":
        return replace(plan, advisors=replace(plan.advisors, cross_talk=False, synthesis=False))
    return replace(plan, mode="parallel" if plan.mode in AT_ONCE else "single")


def _of_its_size(file: StoredFile) -> Enclosed:
    if file_kind(file.media_type) == "text":
        return Enclosed(Text("x" * file.size))
    return Enclosed(File(file.name, file.media_type, b""))
