"""Letting what failed in a run be tried again: within the budget of whoever wants it, and by whom it concerns."""

from collections.abc import Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.attachments import Attachments
from moot.engine.turns.token_estimates import ContextLimits
from moot.services.billing import BudgetService
from moot.services.discussions import DiscussionService
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.retries import Retries
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.discussions import Run
from moot.types.run_plan import RunPlan


class RetryService:
    """`start` lets a run be executed in a revision."""

    def __init__(
        self,
        database: Database,
        discussion_service: DiscussionService,
        retries: Retries,
        budget_service: BudgetService,
        attachments: Attachments,
        context_limits: ContextLimits,
        start: Callable[[str, int], None],
    ) -> None:
        self._runs = Runs(database)
        self._discussions = Discussions(database)
        self._discussion_service = discussion_service
        self._retries = retries
        self._budget_service = budget_service
        self._attachments = attachments
        self._context_limits = context_limits
        self._start = start

    async def retry_run(
        self, caller: Caller, id: str, participant: str | None = None, model: str | None = None
    ) -> Run:
        """Let one participant try again, perhaps with another model, or all that failed."""
        self._discussion_service.reject_if_draining()
        before = await self._runs.get_run(caller.tenant, id)
        plan = await self._runs.get_plan(id)
        measures = (
            await self._context_limits.limits_for_models([model], plan.mode) if model is not None else {}
        )
        if participant is not None and model is not None:
            plan = plan.with_model(participant, model, measures)
            await self._check_files(caller, before, plan)
        due = await self._budget_service.required_reservation(caller, plan, None, before.discussion)

        async def reserve_budget(connection: AsyncConnection) -> None:
            await self._budget_service.reserve_cost(connection, caller, id, due)

        again = await self._retries.retry_run(caller.tenant, id, participant, model, reserve_budget, measures)
        if again.restarts:  # else it is going on, and hears of it itself
            self._start(id, again.run.revision)
        return again.run

    async def _check_files(self, caller: Caller, run: Run, plan: RunPlan) -> None:
        """Refuse a model that cannot read what came with the question."""
        if run.message is not None:
            asked = await self._discussions.get_message(run.discussion, run.message)
            await self._attachments.validate_attachments(caller.tenant, asked.files or (), plan)
