"""Estimates the cost of a run, reserves it from the budget, and records charges."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.cost.forecast import Forecast, forecast_cost
from moot.engine.model_resolution import ResolveModel
from moot.engine.waits import retry_while_unavailable
from moot.prompts.parts import Attachment, AttachmentsByMessage
from moot.providers.registry import ResolvedModel
from moot.services.model_tasks import ModelTasks
from moot.store.billing.budgets import Budgets
from moot.store.billing.charges import record_charges
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
from moot.types.run_plan import RunPlan


class AccountBudgetGuard:
    def __init__(self, database: Database, model_tasks: ModelTasks, caller: Caller) -> None:
        self._database = database
        self._model_tasks = model_tasks
        self._account = caller.account
        self._payer = Payer(tenant=caller.tenant, account=caller.account)

    def within_budget(self) -> AbstractAsyncContextManager[None]:
        return self._model_tasks.within_budget(self._account)

    async def record_charges(self, charges: Sequence[Charge]) -> None:
        """Write down what a turn cost as soon as it is known."""
        await retry_while_unavailable(lambda: record_charges(self._database, self._payer, *charges))


class BudgetGuards:
    def __init__(self, database: Database, model_tasks: ModelTasks) -> None:
        self._database = database
        self._model_tasks = model_tasks

    def guard_for(self, caller: Caller) -> AccountBudgetGuard:
        return AccountBudgetGuard(self._database, self._model_tasks, caller)


SIMULTANEOUS_MODES = frozenset(
    {"parallel", "debate", "advisors"}
)  # modes in which all begin at the same time


class BudgetService:
    """`chains` finds who is asked for a tenant's model."""

    def __init__(self, database: Database, budgets: Budgets, resolve_model: ResolveModel) -> None:
        self._discussions = Discussions(database)
        self._files = Files(database)
        self._budgets = budgets
        self._resolve_model = resolve_model

    async def forecast_run(
        self, caller: Caller, plan: RunPlan, message: Message | None, discussion: str | None
    ) -> Forecast:
        """Say what a run of a plan will cost, in a discussion that exists or in a new one."""
        earlier = await self._earlier_messages(plan, discussion) if discussion else ()
        models = {who.model for who in plan.responding_participants} | ({plan.clerk} if plan.clerk else set())
        asked = {model: await self._resolve_first(caller.tenant, model) for model in models}

        def price_usage(model: str, usage: Usage) -> float | None:
            found = asked.get(model)
            return found.provider.call_cost_usd(found.model, usage) if found else None

        said = [*earlier, message] if message else earlier
        attached = await self._placeholder_attachments(caller.tenant, said)
        # In a thread: the list of prices is slow to load.
        return await asyncio.to_thread(forecast_cost, plan, message, earlier, price_usage, attached)

    async def _earlier_messages(self, plan: RunPlan, discussion: str) -> Sequence[Message]:
        if (then := plan.again) is None:
            return await self._discussions.list_messages(discussion)
        return await self._discussions.list_messages(discussion, before=then.number, visible_until=then.upto)

    async def required_reservation(
        self, caller: Caller, plan: RunPlan, message: Message | None, discussion: str | None
    ) -> float | None:
        """Say what is to be reserved for a run; None where its payer has no budget."""
        if await self._budgets.get_limit(caller.account) is None:
            return None
        cost = (await self.forecast_run(caller, plan, message, discussion)).cost
        if plan.cap is None:
            return cost
        first = (await self.forecast_run(caller, _first_step_plan(plan), message, discussion)).cost
        return min(cost, max(first, plan.cap))  # what begins is asked, however small the cap

    async def reserve_cost(
        self, connection: AsyncConnection, caller: Caller, run: str, amount_usd: float | None
    ) -> None:
        """Reserve what is due for a run, or refuse it."""
        if amount_usd is not None:
            await self._budgets.reserve_cost(connection, caller.account, run, amount_usd)

    async def _placeholder_attachments(
        self, tenant: str, messages: Sequence[Message]
    ) -> AttachmentsByMessage:
        """Stand something of their size in for the files that came with messages: text is read in full."""
        came = {message.id: message.files for message in messages if message.files}
        known = (
            await self._files.find_files(tenant, [id for ids in came.values() for id in ids]) if came else {}
        )
        return {
            message: tuple(_placeholder_file(known[id]) for id in ids if id in known)
            for message, ids in came.items()
        }

    async def _resolve_first(self, tenant: str, model: str) -> ResolvedModel | None:
        """Find who is asked first for a model; nobody, where a key is missing."""
        try:
            return (await self._resolve_model(tenant, model))[0]
        except UsageError:
            return None


def _first_step_plan(plan: RunPlan) -> RunPlan:
    """Make the plan of what is asked first, whatever it costs."""
    if plan.mode == "advisors":
        return replace(plan, advisors=replace(plan.advisors, cross_talk=False, synthesis=False))
    return replace(plan, mode="parallel" if plan.mode in SIMULTANEOUS_MODES else "single")


def _placeholder_file(file: StoredFile) -> Attachment:
    if file_kind(file.media_type) == "text":
        return Attachment(Text("x" * file.size))
    return Attachment(File(file.name, file.media_type, b""))
