"""What calls of models cost, and what they were for. Money is in US dollars."""

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
    "ledger",
    "gate",
    "title",
    "export",
    "consolidation",
    "director",
    "assertion",
    "improvement",
    "perspective",
    "recap",
    "memory",
]

SMALLEST_AMOUNT_USD = 0.000001  # dollars; what is less is not worth writing out
MAX_AMOUNT_USD = 1_000_000  # dollars that anybody may name

UsdAmount = Annotated[float, Meta(ge=0, le=MAX_AMOUNT_USD)]


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """Add up what calls cost: a cost that nobody knows makes the sum unknown."""
    so_far = 0.0
    for cost in costs:
        if cost is None:
            return None
        so_far += cost
    return so_far


def format_usd(amount: float) -> str:
    """Write an amount in words, to a hundredth of a cent, and smaller ones so that they can be told apart."""
    if amount == 0:
        return "$0"
    if amount < SMALLEST_AMOUNT_USD:
        return f"less than ${SMALLEST_AMOUNT_USD:f}"
    places = max(4, 2 - math.floor(math.log10(amount)))
    whole, _, rest = f"{amount:,.{places}f}".partition(".")
    return f"${whole}.{rest.rstrip('0'):0<2}"


class Charge(Struct, frozen=True, kw_only=True):
    """What a model was paid for. `cost` is None where nobody knows the price; what has one `id` is paid once.

    It may sum up several calls: all attempts of a turn, or both asks for an answer with a shape. Then `model` is the
    one that was asked last, even if others before it used some of it.
    """

    purpose: CallPurpose
    model: str
    usage: Usage
    cost: float | None
    participant: str | None = None
    id: str = field(default_factory=lambda: new_id("charge"))


class Payer(Struct, frozen=True, kw_only=True):
    """On whose account something is done, and in which discussion and run, if in any."""

    tenant: str
    account: str | None
    discussion: str | None = None
    run: str | None = None


class Spending(Struct, frozen=True, kw_only=True):
    """What some calls came to. `cost` is that of calls whose price is known; `unpriced` counts the others.

    `estimated` says that some of the tokens were not counted by a provider.
    """

    calls: int
    input: int
    output: int
    reasoning: int
    cached: int
    cache_written: int
    estimated: bool
    cost: float
    unpriced: int

    @property
    def usage(self) -> Usage:
        return Usage(self.input, self.output, self.reasoning, self.cached, self.cache_written, self.estimated)


class SpendingItem(Spending, frozen=True, kw_only=True):
    """What was spent on one day, model, discussion or purpose; `title` is that of a discussion that still exists."""

    key: str | None
    title: str | None = None


class Budget(Struct, frozen=True, kw_only=True):
    """How a week stands, in US dollars and seconds since 1970. `budget` and `left` are None where nothing limits it.

    `spent` is what was paid since the week began, or since it was begun anew (`reup_at`); `reserved` is what live
    runs may still cost.
    """

    budget: float | None
    week_begins: float
    week_ends: float
    spent: float
    reserved: float
    left: float | None
    reup_at: float | None
