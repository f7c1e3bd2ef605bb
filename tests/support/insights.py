"""Insights as a model might have found them."""

from moot.types.knowledge import Insight
from moot.types.primitives import new_id


def make_insight(title: str, detail: str = "So it is.", suggestion: str | None = None) -> Insight:
    return Insight(
        id=new_id("insight"),
        discussion="",
        project=None,
        kind="pattern",
        title=title,
        detail=detail,
        category="rooms",
        suggestion=suggestion,
        severity=None,
        answers_insight=None,
        messages=("msg_1",),
        created_at=1.0,
    )
