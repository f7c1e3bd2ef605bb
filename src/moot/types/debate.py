"""Debates: their rules, how each lane stands, and what is found out when they are over.

Summary, ranking and ledger are shown as they are stored, so their names are those of the API.
"""

from typing import Literal

from msgspec import Struct

LaneStatus = Literal["initial", "debate", "complete", "error"]
LANE_STAGES = ("initial", "debate")  # stages in which each speaks in a thread of its own


class DebateOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules. `lead` writes the synthesis; None is the first at the table.

    A stage goes on when `quorum` have answered, or after `deadline` seconds; None waits for all. With the `gate`, the
    debate is skipped where the first answers agree. `ranking` and `ledger` are made unless they are not wanted.
    """

    lead: str | None = None
    quorum: int | None = None
    deadline: float | None = None
    gate: bool = False
    ranking: bool = True
    ledger: bool = True


class Lane(Struct, frozen=True, kw_only=True):
    """How far a participant has come. `late` is one that the others did not wait for."""

    participant: str
    status: LaneStatus
    error: str | None = None
    late: bool = False


class TableSummary(Struct, frozen=True, kw_only=True, rename="camel"):
    agreements: tuple[str, ...]
    disagreements: tuple[str, ...]
    convergence_summary: str


class ParticipantSummary(Struct, frozen=True, kw_only=True, rename="camel"):
    participant: str
    initial_summary: str
    refined_summary: str
    changed_position: bool
    key_points: tuple[str, ...]


class DebateSummary(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the table said, with exactly one row for each participant; whoever did not answer has an empty one."""

    original_prompt: str
    overview: str
    cross_model: TableSummary
    per_model: tuple[ParticipantSummary, ...]


class RankedAnswer(Struct, frozen=True, kw_only=True):
    """`points` are those of a Borda count: one for each answer that a voter put below this one, half for a tie."""

    participant: str
    points: float
    votes: int


class Ranking(Struct, frozen=True, kw_only=True):
    """The best first. `ballots` say who put the others in which order, ties together; nobody ranked its own answer."""

    places: tuple[RankedAnswer, ...]
    ballots: dict[str, tuple[tuple[str, ...], ...]]


class ClaimQuote(Struct, frozen=True, kw_only=True):
    """Who stands for or against a claim, in words that are in the answer `message`."""

    participant: str
    quote: str
    message: str


class Claim(Struct, frozen=True, kw_only=True):
    """`minority` is a claim that fewer than half of those who answered support."""

    claim: str
    supporters: tuple[ClaimQuote, ...]
    opponents: tuple[ClaimQuote, ...] = ()
    minority: bool = False


class PositionChange(Struct, frozen=True, kw_only=True):
    """Who changed position, from what to what, and after whose argument, if anybody's; `quote` is in `message`."""

    participant: str
    before: str
    after: str
    because_of: str | None
    quote: str
    message: str


class DebateClaims(Struct, frozen=True, kw_only=True):
    """Claims and changes of mind. `unproven` counts quotes that are in no answer, and were dropped."""

    claims: tuple[Claim, ...]
    flips: tuple[PositionChange, ...]
    unproven: int = 0
