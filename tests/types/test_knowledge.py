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


def test_a_model_may_leave_out_what_does_not_apply() -> None:
    (insight,) = msgspec.convert(make_knowledge(), ExtractedKnowledge).insights
    assert (insight.suggestion, insight.severity, insight.paired) == (None, None, None)
    (pattern,) = msgspec.convert({"patterns": [PATTERN]}, ExtractedPatterns).patterns
    assert pattern.severity is None


@pytest.mark.parametrize(
    ("field", "said"),
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
def test_what_is_no_export_is_refused_by_field(field: str, said: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(said, ExtractedKnowledge)


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
def test_what_is_no_pattern_is_refused_by_field(field: str, changed: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert({"patterns": [{**PATTERN, **changed}]}, ExtractedPatterns)


@pytest.mark.parametrize(
    ("covered", "now", "covers"),
    [(4, 5, True), (4, 6, False), (8, 10, True), (7, 10, False), (3, 2, True), (0, 0, True), (12, 15, True)],
)
def test_a_recap_counts_while_it_covers_four_of_five_messages(covered: int, now: int, covers: bool) -> None:
    recap = DiscussionSummary(
        id="r", discussion="d", points=(), messages=covered, model="a/b", created_at=0.0
    )
    assert recap.is_up_to_date(now) == covers
