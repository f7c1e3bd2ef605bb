"""What is learnt from discussions: insights of one, patterns over those of a project."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

InsightKind = Literal["pain_point", "strength", "solution", "pattern", "decision"]
PatternKind = Literal["success", "pain", "solution", "pattern", "tool", "architecture"]
Severity = Literal["blocker", "high", "medium", "low"]
ConsolidationStatus = Literal["running", "completed", "failed"]

Title = Annotated[str, Meta(min_length=1, max_length=200)]


class Insight(Struct, frozen=True, kw_only=True):
    """`paired` is the insight that this one answers, as a solution answers a pain point."""

    id: str
    discussion: str
    project: str | None
    kind: InsightKind
    title: str
    detail: str
    category: str
    suggestion: str | None
    severity: Severity | None
    paired: str | None
    messages: tuple[str, ...]
    created_at: float


class Pattern(Struct, frozen=True, kw_only=True):
    id: str
    kind: PatternKind
    title: str
    description: str
    evidence: tuple[str, ...]
    frequency: int
    severity: Severity | None
    tags: tuple[str, ...]


class Consolidation(Struct, frozen=True, kw_only=True):
    id: str
    project: str
    status: ConsolidationStatus
    model: str
    patterns: tuple[Pattern, ...]
    fault: str | None
    created_at: float
    ended_at: float | None
