"""Insights, patterns, consolidations, and summaries of referenced discussions."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from moot.types.primitives import NO_NUL_PATTERN, VISIBLE_START_PATTERN, Paragraph, Title

InsightKind = Literal["pain_point", "strength", "solution", "pattern", "decision"]
PatternKind = Literal["success", "pain", "solution", "pattern", "tool", "architecture"]
Severity = Literal["blocker", "high", "medium", "low"]
ConsolidationStatus = Literal["running", "completed", "failed"]

Prose = Annotated[str, Meta(min_length=1, max_length=4000, pattern=NO_NUL_PATTERN)]
Tag = Annotated[str, Meta(min_length=1, max_length=60, pattern=VISIBLE_START_PATTERN)]


class Insight(Struct, frozen=True, kw_only=True):
    id: str
    discussion: str  # id of the discussion it comes from
    project: str | None  # id of the project of that discussion
    kind: InsightKind
    title: str
    detail: str
    category: str  # subject in one or two words, such as testing or pricing
    suggestion: str | None  # what to do about it
    severity: Severity | None  # None: not rated
    answers_insight: str | None  # id of the insight that this one solves, e.g. a pain point
    messages: tuple[str, ...]  # ids of the source messages
    created_at: float  # Unix seconds of the export


class InsightPage(Struct, frozen=True):
    insights: tuple[Insight, ...]
    next: str | None


class Pattern(Struct, frozen=True, kw_only=True):
    id: str
    kind: PatternKind
    title: str
    description: str
    evidence: tuple[str, ...]  # quotes or titles of insights and discussions that show it
    frequency: int  # number of insights and discussions that show it, counted by the model
    severity: Severity | None
    tags: tuple[str, ...]


class Consolidation(Struct, frozen=True, kw_only=True):
    id: str
    project: str  # id
    status: ConsolidationStatus
    model: str  # finds the patterns
    patterns: tuple[Pattern, ...]  # most frequent first
    fault: str | None  # error message if it failed
    created_at: float  # Unix seconds
    ended_at: float | None  # Unix seconds; None while it runs


# A model receives the schema of this type with the docstring as its description. So do the `Extracted…` types below.
class ExtractedInsight(Struct, frozen=True, kw_only=True):
    """`paired` is the place, counted from 0, of the insight that this one answers; `messages` are labels."""

    title: Title
    detail: Prose
    suggestion: Paragraph | None = None
    category: Tag
    kind: InsightKind
    severity: Severity | None = None
    paired: int | None = None
    messages: Annotated[tuple[str, ...], Meta(max_length=40)]


class ExtractedKnowledge(Struct, frozen=True, kw_only=True):
    summary: Prose
    usefulness: Annotated[float, Meta(ge=0, le=1)]
    insights: Annotated[tuple[ExtractedInsight, ...], Meta(max_length=30)]


class ExtractedPattern(Struct, frozen=True, kw_only=True):
    kind: PatternKind
    title: Title
    description: Prose
    evidence: Annotated[tuple[Prose, ...], Meta(min_length=1, max_length=3)]
    frequency: Annotated[int, Meta(ge=1, le=100_000)]
    severity: Severity | None = None
    tags: Annotated[tuple[Tag, ...], Meta(min_length=2, max_length=4)]


class ExtractedPatterns(Struct, frozen=True, kw_only=True):
    patterns: Annotated[tuple[ExtractedPattern, ...], Meta(max_length=30)]


MIN_SUMMARY_COVERAGE = 0.8  # fraction of the current messages; below it the summary is regenerated


class DiscussionSummary(Struct, frozen=True, kw_only=True):
    """Cached summary of a discussion that other discussions reference."""

    id: str
    discussion: str
    points: tuple[str, ...]
    messages: int  # message count of the discussion at creation
    model: str
    created_at: float

    def is_up_to_date(self, messages: int) -> bool:
        return not messages or self.messages / messages >= MIN_SUMMARY_COVERAGE
