"""Estimates the cost of a run, reserves it from the budget, and records charges."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.cost import Forecast, forecast_cost
from moot.engine.model_resolution import ResolveModel
from moot.prompts.parts import Attachment, AttachmentsByMessage
from moot.providers.registry import ResolvedModel
from moot.services.model_tasks import ModelTasks
from moot.store.stores import Stores
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
    """Budget check and charges of one account, for runs that are not stored."""

    def __init__(self, model_tasks: ModelTasks, caller: Caller) -> None:
        self._model_tasks = model_tasks
        self._account = caller.account
        self._payer = Payer(tenant=caller.tenant, account=caller.account)

    def within_budget(self) -> AbstractAsyncContextManager[None]:
        return self._model_tasks.within_budget(self._account)

    async def record_charges(self, charges: Sequence[Charge]) -> None:
        await self._model_tasks.record_charges(self._payer, *charges)


class BudgetService:
    """Forecasts the cost of runs, and reserves it for accounts with a budget."""

    def __init__(self, stores: Stores, resolve_model: ResolveModel) -> None:
        self._discussions = stores.discussions
        self._files = stores.files
        self._budgets = stores.budgets
        self._resolve_model = resolve_model

    async def forecast_run(
        self, caller: Caller, plan: RunPlan, message: Message | None, discussion: str | None
    ) -> Forecast:
        """Forecast the cost of a run. `discussion` is None if it is not stored yet."""
        earlier = await self._earlier_messages(plan, discussion) if discussion else ()
        models = {who.model for who in plan.responding_participants} | ({plan.task_model} if plan.task_model else set())
        resolved = {model: await self._resolve_first(caller.tenant, model) for model in models}

        def price_usage(model: str, usage: Usage) -> float | None:
            found = resolved.get(model)
            return found.provider.call_cost_usd(found.model, usage) if found else None

        messages = [*earlier, message] if message else earlier
        attachments = await self._placeholder_attachments(caller.tenant, messages)
        # In a thread, because loading the price list blocks.
        return await asyncio.to_thread(forecast_cost, plan, message, earlier, price_usage, attachments)

    async def _earlier_messages(self, plan: RunPlan, discussion: str) -> Sequence[Message]:
        if (target := plan.regenerate) is None:
            return await self._discussions.list_messages(discussion)
        return await self._discussions.list_messages(discussion, before=target.seq, visible_until=target.visible_until)

    async def required_reservation(
        self, caller: Caller, plan: RunPlan, message: Message | None, discussion: str | None
    ) -> float | None:
        """Return the amount to reserve in US dollars; None if the account has no budget."""
        if await self._budgets.get_limit(caller.account) is None:
            return None
        cost = (await self.forecast_run(caller, plan, message, discussion)).cost_usd
        if plan.max_cost_usd is None:
            return cost
        first = (await self.forecast_run(caller, _first_step_plan(plan), message, discussion)).cost_usd
        return min(cost, max(first, plan.max_cost_usd))  # the first step runs even if it costs more than the limit

    async def reserve_cost(
        self, connection: AsyncConnection, caller: Caller, run: str, amount_usd: float | None
    ) -> None:
        """Reserve within the transaction of `connection`. Raises OverBudget. None reserves nothing."""
        if amount_usd is not None:
            await self._budgets.reserve_cost(connection, caller.account, run, amount_usd)

    async def _placeholder_attachments(self, tenant: str, messages: Sequence[Message]) -> AttachmentsByMessage:
        """Build attachments from the stored sizes, so that the forecast does not load file content."""
        ids_by_message = {message.id: message.files for message in messages if message.files}
        all_ids = [id for ids in ids_by_message.values() for id in ids]
        known = await self._files.find_files(tenant, all_ids) if all_ids else {}
        return {
            message: tuple(_placeholder_file(known[id]) for id in ids if id in known)
            for message, ids in ids_by_message.items()
        }

    async def _resolve_first(self, tenant: str, model: str) -> ResolvedModel | None:
        """Return the first model of the fallback chain; None if it cannot be resolved, e.g. without a key."""
        try:
            return (await self._resolve_model(tenant, model))[0]
        except UsageError:
            return None


def _first_step_plan(plan: RunPlan) -> RunPlan:
    """Return the part of a plan that runs before the limit is checked."""
    if plan.spec.private_threads:
        return replace(plan, advisors=replace(plan.advisors, cross_talk=False, synthesis=False))
    return replace(plan, mode="parallel" if plan.spec.simultaneous else "single")


def _placeholder_file(file: StoredFile) -> Attachment:
    if file_kind(file.media_type) == "text":
        return Attachment(Text("x" * file.size))
    return Attachment(File(file.name, file.media_type, b""))
