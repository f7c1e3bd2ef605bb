"""Routes for usage, budgets and cost estimates."""

from datetime import UTC, date, datetime, time
from typing import Annotated

from litestar import Controller, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromQuery, JSONBody, QueryParameter
from msgspec import Meta, Struct

from moot.engine.attachments import Attachments
from moot.engine.cost import Forecast
from moot.services.billing import BudgetService
from moot.services.discussions import DiscussionService
from moot.services.run_plans import DiscussionDraft, Id, ParticipantList, RunPlanner, require_text
from moot.store.billing.budgets import Budgets
from moot.store.billing.usage import GroupBy, UsageReports
from moot.store.discussions.discussions import Discussions
from moot.types.accounts import Caller
from moot.types.billing import Budget, Spending, SpendingItem
from moot.types.discussions import Message
from moot.types.errors import UsageError, prefix_not_found

ESTIMATE_MESSAGE_FIELDS = frozenset({"discussion", "message", "to", "files", "max_cost_usd"})


class EstimateRequest(DiscussionDraft, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to estimate: with `discussion` in an existing discussion, else with `participants` in a new one."""

    discussion: Id | None = None
    to: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)] | None = None
    participants: ParticipantList | None = None  # type: ignore[assignment]


class Estimate(Struct, frozen=True, kw_only=True):
    forecast: Forecast
    remaining_usd: float | None  # US dollars left of the weekly budget; None: no budget


class BudgetRoutes(Controller):
    path = "/api"
    tags = ("budget",)

    @get("/budget", summary="Get the budget of this week")
    async def get_budget(self, caller: Given[Caller], budgets: Given[Budgets]) -> Budget:
        return await budgets.current_budget(caller.account)

    @post("/budget/reset", status_code=200, summary="Reset the budget of this week; allowed once per week")
    async def reset_budget(self, caller: Given[Caller], budgets: Given[Budgets]) -> Budget:
        return await budgets.reset_week(caller.account)

    @post("/estimate", status_code=200, summary="Estimate the cost of a message without calling a model")
    async def estimate_cost(
        self,
        data: JSONBody[EstimateRequest],
        caller: Given[Caller],
        attachments: Given[Attachments],
        budgets: Given[Budgets],
        discussions: Given[Discussions],
        run_planner: Given[RunPlanner],
        discussion_service: Given[DiscussionService],
        budget_service: Given[BudgetService],
    ) -> Estimate:
        """Estimates the model calls of the run, with the tokens and price of each."""
        prompts = None
        if data.discussion is not None:
            require_text(data.message)
            with prefix_not_found("discussion"):
                discussion = await discussions.get_discussion(caller.tenant, data.discussion)
            _reject_discussion_settings(data)
        elif data.participants is not None:
            new_discussion, prompts = await run_planner.check_draft(caller.tenant, data)
            discussion = discussion_service.draft_discussion(new_discussion, data.language or "en")
        else:
            raise UsageError("participants: it is missing. Name models, or an existing discussion.")
        plan = await run_planner.plan_run(caller.tenant, discussion, data.to, prompts)
        await attachments.validate_attachments(caller.tenant, data.files, plan)
        forecast = await budget_service.forecast_run(caller, plan, _draft_message(data), data.discussion)
        return Estimate(forecast=forecast, remaining_usd=(await budgets.current_budget(caller.account)).remaining_usd)


def _reject_discussion_settings(data: EstimateRequest) -> None:
    """Raises `UsageError` for settings that a message cannot change in an existing discussion."""
    defaults = EstimateRequest(message=data.message)
    for name in EstimateRequest.__struct_fields__:
        if name not in ESTIMATE_MESSAGE_FIELDS and getattr(data, name) != getattr(defaults, name):
            raise UsageError(f"{name}: the discussion has its own. Leave this field out, or leave the discussion out.")


def _draft_message(data: EstimateRequest) -> Message:
    """Build the message that a run would store, with only the fields that the forecast reads."""
    files = tuple(dict.fromkeys(data.files)) or None
    return Message(id="", discussion=data.discussion or "", role="user", content=data.message, files=files)


DEFAULT_DAYS = 30
DAY_SECONDS = 24 * 3600.0

Since = Annotated[date | None, QueryParameter(description="First day, UTC; default: 30 days before the last day")]
Until = Annotated[date | None, QueryParameter(description="Last day, UTC; default: today")]


class UsageReport(Struct, frozen=True, kw_only=True):
    since: date
    until: date  # inclusive
    by: GroupBy
    total: Spending
    rows: tuple[SpendingItem, ...]  # at most 1,000


class UsageRoutes(Controller):
    path = "/api/usage"
    tags = ("usage",)

    @get(summary="Get usage and cost")
    async def get_usage(
        self,
        caller: Given[Caller],
        usage_reports: Given[UsageReports],
        since: Since = None,
        until: Until = None,
        by: FromQuery[GroupBy] = "day",
    ) -> UsageReport:
        """Days are UTC. Rows by day are in date order; other groups are sorted by cost, highest first."""
        last = until or datetime.now(UTC).date()
        first = since or date.fromordinal(max(1, last.toordinal() - DEFAULT_DAYS + 1))
        if first > last:
            raise UsageError(f"since: {first} is after {last}. Send the earlier day as since.")
        usage = await usage_reports.account_usage(caller.account, _day_start(first), _day_start(last) + DAY_SECONDS, by)
        return UsageReport(since=first, until=last, by=by, total=usage.total, rows=usage.rows)


def _day_start(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()
