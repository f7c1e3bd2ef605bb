"""Debate mode: lanes and analysis results.

The API returns summary, ranking and claims as stored, so field names here are JSON keys.
"""

from typing import Literal

from msgspec import Struct

LaneStatus = Literal["initial", "debate", "complete", "error"]
LANE_STAGES = ("initial", "debate")  # stages in which each participant has its own thread


class Lane(Struct, frozen=True, kw_only=True):
    """Progress of one participant in a debate."""

    participant: str
    status: LaneStatus
    error: str | None = None
    late: bool = False  # the stage ended by quorum or deadline before this participant answered


class TableSummary(Struct, frozen=True, kw_only=True):
    agreements: tuple[str, ...]
    disagreements: tuple[str, ...]
    convergence_summary: str


class ParticipantSummary(Struct, frozen=True, kw_only=True):
    participant: str
    initial_summary: str
    refined_summary: str
    changed_position: bool
    key_points: tuple[str, ...]


class DebateSummary(Struct, frozen=True, kw_only=True):
    """Summary of a debate. `per_model` has exactly one row per participant, with empty values if there is no answer."""

    original_prompt: str
    overview: str
    cross_model: TableSummary
    per_model: tuple[ParticipantSummary, ...]


class RankedAnswer(Struct, frozen=True, kw_only=True):
    """Score of one participant's answer."""

    participant: str
    points: float  # Borda count: 1 per answer ranked lower by a voter, 0.5 per tie
    votes: int


class Ranking(Struct, frozen=True, kw_only=True):
    """Result of the vote. A participant does not rank its own answer."""

    answers: tuple[RankedAnswer, ...]  # best first
    votes: dict[str, tuple[tuple[str, ...], ...]]  # by voter id; groups of tied participant ids, best first


class ClaimQuote(Struct, frozen=True, kw_only=True):
    """Evidence that a participant supports or opposes a claim."""

    participant: str
    quote: str  # occurs in the message
    message: str  # message id


class Claim(Struct, frozen=True, kw_only=True):
    claim: str
    supporters: tuple[ClaimQuote, ...]
    opponents: tuple[ClaimQuote, ...] = ()
    minority: bool = False  # fewer than half of the participants with an answer support it


class PositionChange(Struct, frozen=True, kw_only=True):
    """A participant's change of mind during the debate."""

    participant: str
    before: str
    after: str
    because_of: str | None  # id of the participant whose argument caused it; None: unknown
    quote: str  # occurs in the message
    message: str  # message id


class DebateClaims(Struct, frozen=True, kw_only=True):
    claims: tuple[Claim, ...]
    position_changes: tuple[PositionChange, ...]
    dropped_quotes: int = 0  # quotes rejected because no message contains them
