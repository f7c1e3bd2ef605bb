"""Charges, spending and budgets for model requests. Amounts are US dollars, times are Unix seconds."""

import math
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from moot.types.chunks import Usage
from moot.types.primitives import new_id

CallPurpose = Literal[
    "answer",
    "synthesis",
    "summary",
    "ranking",
    "claims",
    "agreement",
    "title",
    "export",
    "consolidation",
    "director",
    "assertion",
    "improvement",
    "persona_suggestions",
    "reference_summary",
    "memory",
]

SMALLEST_AMOUNT_USD = 0.000001  # smaller values are shown as "less than"
MAX_AMOUNT_USD = 1_000_000  # upper limit for an amount in a request or in settings
MaxCostUsd = Annotated[float, Meta(gt=0, le=MAX_AMOUNT_USD)]

UsdAmount = Annotated[float, Meta(ge=0, le=MAX_AMOUNT_USD)]


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """Return None if any cost is None (unknown)."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def format_usd(amount: float) -> str:
    """Return a string with two to four decimals; smaller values keep three significant digits."""
    if amount == 0:
        return "$0"
    if amount < SMALLEST_AMOUNT_USD:
        return f"less than ${SMALLEST_AMOUNT_USD:f}"
    places = max(4, 2 - math.floor(math.log10(amount)))
    whole, _, rest = f"{amount:,.{places}f}".partition(".")
    return f"${whole}.{rest.rstrip('0'):0<2}"


class Charge(Struct, frozen=True, kw_only=True):
    """The cost of one or more model requests.

    One charge covers all attempts of a turn, or a structured request and its retry. Recording is idempotent by `id`.
    """

    purpose: CallPurpose
    model: str  # model of the last request, also if earlier attempts used another
    usage: Usage
    cost_usd: float | None  # None: price unknown
    participant: str | None = None
    id: str = field(default_factory=lambda: new_id("charge"))


class Payer(Struct, frozen=True, kw_only=True):
    """The account to charge, with optional discussion and run ids for reports."""

    tenant: str
    account: str | None
    discussion: str | None = None
    run: str | None = None


class Spending(Struct, frozen=True, kw_only=True):
    """Total tokens and cost of several charges."""

    calls: int
    input: int
    output: int
    reasoning: int
    cached: int
    cache_written: int
    estimated: bool  # some token counts are Moot's estimates, not the provider's values
    cost_usd: float  # sum over calls with a known price
    unpriced_calls: int  # number of calls without a known price

    @property
    def usage(self) -> Usage:
        return Usage(self.input, self.output, self.reasoning, self.cached, self.cache_written, self.estimated)


class SpendingItem(Spending, frozen=True, kw_only=True):
    """Spending of one group: a day, model, discussion or purpose."""

    key: str | None
    title: str | None = None  # of the discussion; None if deleted or for other groups


class Budget(Struct, frozen=True, kw_only=True):
    """State of an account's weekly budget."""

    weekly_budget_usd: float | None  # None: no limit
    week_starts: float
    week_ends: float
    spent_usd: float  # since `reset_at` if set, else since `week_starts`
    reserved_usd: float  # maximum that live runs may still cost
    remaining_usd: float | None  # None: no limit
    reset_at: float | None  # time of the last budget reset in this week
