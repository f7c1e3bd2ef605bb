"""Retry service: retries failed participants of a run, within the budget of the caller."""

from collections.abc import Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.attachments import Attachments
from moot.engine.turns.token_estimates import ContextLimits
from moot.services.billing import BudgetService
from moot.services.discussions import DiscussionService
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.discussions import Run
from moot.types.run_plan import RunPlan


class RetryService:
    def __init__(
        self,
        stores: Stores,
        discussion_service: DiscussionService,
        budget_service: BudgetService,
        attachments: Attachments,
        context_limits: ContextLimits,
        start: Callable[[str, int], None],  # executes a run at a revision
    ) -> None:
        self._runs = stores.runs
        self._discussions = stores.discussions
        self._discussion_service = discussion_service
        self._retries = stores.retries
        self._budget_service = budget_service
        self._attachments = attachments
        self._context_limits = context_limits
        self._start = start

    async def retry_run(self, caller: Caller, id: str, participant: str | None = None, model: str | None = None) -> Run:
        """Retry one participant, optionally with another model. None retries all that failed.

        Raises Conflict if nothing failed, and OverBudget if the budget is too small.
        """
        self._discussion_service.reject_if_draining()
        run = await self._runs.get_run(caller.tenant, id)
        plan = await self._runs.get_plan(id)
        limits = await self._context_limits.limits_for_models([model], plan.mode) if model is not None else {}
        if participant is not None and model is not None:
            plan = plan.with_model(participant, model, limits)
            await self._check_files(caller, run, plan)
        reservation = await self._budget_service.required_reservation(caller, plan, None, run.discussion)

        # Called in the transaction of the retry, so that an account without budget changes nothing.
        async def reserve_budget(connection: AsyncConnection) -> None:
            await self._budget_service.reserve_cost(connection, caller, id, reservation)

        retried = await self._retries.retry_run(caller.tenant, id, participant, model, reserve_budget, limits)
        if retried.restarts:  # a live run is notified by the database instead
            self._start(id, retried.run.revision)
        return retried.run

    async def _check_files(self, caller: Caller, run: Run, plan: RunPlan) -> None:
        """Raise if the new model cannot read the files of the question."""
        if run.message is not None:
            question = await self._discussions.get_message(run.discussion, run.message)
            await self._attachments.validate_attachments(caller.tenant, question.files or (), plan)
