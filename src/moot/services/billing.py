"""Estimates the cost of a run, reserves it from the budget, and records charges."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.cost.forecast import Forecast, forecast
from moot.engine.model_resolution import Chains
from moot.engine.waits import patiently
from moot.prompts.parts import Attached, Enclosed
from moot.providers.registry import Resolved
from moot.services.model_tasks import Errands
from moot.store.billing.budgets import Budgets
from moot.store.billing.charges import pay
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.types.accounts import Caller
from moot.types.billing import Charge, Payer
from moot.types.chunks import Text, Usage
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.files import StoredFile
from moot.types.model_info import file_kind
from moot.types.requests import File
from moot.types.run_plan import Plan


class AccountPurse:
    def __init__(self, database: Database, errands: Errands, caller: Caller) -> None:
        self._database = database
        self._errands = errands
        self._account = caller.account
        self._payer = Payer(tenant=caller.tenant, account=caller.account)

    def open(self) -> AbstractAsyncContextManager[None]:
        return self._errands.within_budget(self._account)

    async def pay(self, charges: Sequence[Charge]) -> None:
        """Write down what a turn cost as soon as it is known."""
        await patiently(lambda: pay(self._database, self._payer, *charges))


class Purses:
    def __init__(self, database: Database, errands: Errands) -> None:
        self._database = database
        self._errands = errands

    def of(self, caller: Caller) -> AccountPurse:
        return AccountPurse(self._database, self._errands, caller)


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
