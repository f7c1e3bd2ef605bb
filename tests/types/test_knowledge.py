from typing import Any

import msgspec
import pytest

from moot.types.knowledge import DiscussionSummary, ExtractedKnowledge, ExtractedPatterns

INSIGHT = {
    "title": "Tables help",
    "detail": "They do.",
    "category": "rooms",
    "kind": "strength",
    "messages": [],
}
PATTERN = {
    "kind": "success",
    "title": "Tables help",
    "description": "Again and again.",
    "evidence": ["the first one"],
    "frequency": 2,
    "tags": ["rooms", "tables"],
}


def make_knowledge(**insight: Any) -> Any:
    return {"summary": "We met.", "usefulness": 0.5, "insights": [{**INSIGHT, **insight}]}


def test_extracted_knowledge_has_optional_fields() -> None:
    (insight,) = msgspec.convert(make_knowledge(), ExtractedKnowledge).insights
    assert (insight.suggestion, insight.severity, insight.paired) == (None, None, None)
    (pattern,) = msgspec.convert({"patterns": [PATTERN]}, ExtractedPatterns).patterns
    assert pattern.severity is None


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("usefulness", {**make_knowledge(), "usefulness": 1.1}),
        ("usefulness", {**make_knowledge(), "usefulness": -0.1}),
        ("summary", {**make_knowledge(), "summary": ""}),
        ("kind", make_knowledge(kind="rant")),
        ("severity", make_knowledge(severity="awful")),
        ("detail", make_knowledge(detail="a\0b")),
        ("title", make_knowledge(title="x" * 201)),
        ("insights", {**make_knowledge(), "insights": [INSIGHT] * 31}),
    ],
)
def test_invalid_extracted_knowledge_is_rejected_by_field(field: str, fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(fields, ExtractedKnowledge)


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("evidence", {"evidence": []}),
        ("evidence", {"evidence": ["a"] * 4}),
        ("tags", {"tags": ["one"]}),
        ("tags", {"tags": ["a", "b", "c", "d", "e"]}),
        ("frequency", {"frequency": 0}),
        ("kind", {"kind": "decision"}),
    ],
)
def test_invalid_extracted_pattern_is_rejected_by_field(field: str, changed: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert({"patterns": [{**PATTERN, **changed}]}, ExtractedPatterns)


@pytest.mark.parametrize(
    ("covered", "now", "covers"),
    [(4, 5, True), (4, 6, False), (8, 10, True), (7, 10, False), (3, 2, True), (0, 0, True), (12, 15, True)],
)
def test_discussion_summary_is_up_to_date_while_it_covers_four_fifths_of_messages(
    covered: int, now: int, covers: bool
) -> None:
    summary = DiscussionSummary(id="r", discussion="d", points=(), messages=covered, model="a/b", created_at=0.0)
    assert summary.is_up_to_date(now) == covers
