"""What calls of models cost, and what they were for. Money is in US dollars."""

from typing import Literal

from msgspec import Struct, field

from moot.model.chunks import Usage
from moot.model.ids import new_id

Purpose = Literal[
    "answer",
    "synthesis",
    "summary",
    "ranking",
    "ledger",
    "gate",
    "title",
    "export",
    "consolidation",
]


class Charge(Struct, frozen=True, kw_only=True):
    """One call of a model. `cost` is None where nobody knows the price; what has one `id` is paid once."""

    purpose: Purpose
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
