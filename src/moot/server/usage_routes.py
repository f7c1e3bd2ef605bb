"""Usage over HTTP: what the caller's account spent, by day, model, discussion or purpose."""

from datetime import UTC, date, datetime, time
from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency as Given
from litestar.params import FromQuery, QueryParameter
from msgspec import Struct

from moot.model.accounts import Caller
from moot.model.errors import UsageError
from moot.model.money import Spending, SpendingOn
from moot.store.bills import Bills, By

DAYS = 30
DAY = 24 * 3600.0

Since = Annotated[date | None, QueryParameter(description="The first day, UTC; else 30 days are shown")]
Until = Annotated[date | None, QueryParameter(description="The last day, UTC; else today")]


class UsageReport(Struct, frozen=True, kw_only=True):
    """What was spent from the first to the last day, both of them included; `rows` are at most 1,000."""

    since: date
    until: date
    by: By
    total: Spending
    rows: tuple[SpendingOn, ...]


class UsageRoutes(Controller):
    path = "/api/usage"
    tags = ("usage",)

    @get(summary="Sum up what was spent")
    async def read(
        self,
        caller: Given[Caller],
        bills: Given[Bills],
        since: Since = None,
        until: Until = None,
        by: FromQuery[By] = "day",
    ) -> UsageReport:
        """Days are those of UTC, in their order; of everything else the dearest comes first."""
        last = until or datetime.now(UTC).date()
        first = since or date.fromordinal(max(1, last.toordinal() - DAYS + 1))
        if first > last:
            raise UsageError(f"since: {first} is after {last}: begin with the earlier day.")
        bill = await bills.bill(caller.account, _begin(first), _begin(last) + DAY, by)
        return UsageReport(since=first, until=last, by=by, total=bill.total, rows=bill.rows)


def _begin(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()
