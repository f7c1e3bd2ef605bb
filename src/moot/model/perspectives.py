"""Perspectives: voices that are proposed to somebody in a situation, each ready to become a persona."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from moot.model.texts import NO_NUL, VISIBLE, Name

Category = Literal["thinker", "figure", "role", "challenger"]

CATEGORIES: tuple[Category, ...] = get_args(Category)
OF_EACH = 2
PROPOSALS = OF_EACH * len(CATEGORIES)
MOST_QUESTIONS = 3

Situation = Annotated[str, Meta(min_length=1, max_length=4000, pattern=VISIBLE)]
Remark = Annotated[str, Meta(min_length=1, max_length=1000, pattern=VISIBLE)]


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody answered to a question about the situation."""

    question: Remark
    answer: Annotated[str, Meta(max_length=2000, pattern=NO_NUL)]


class Proposal(Struct, frozen=True, kw_only=True):
    """A voice that may help. `name`, `description` and `category` are those of a persona; `rationale` says why it."""

    name: Name
    category: Category
    description: Annotated[str, Meta(min_length=1, max_length=4000, pattern=VISIBLE)]
    rationale: Remark


class Dropped(Struct, frozen=True):
    """A proposal that is left out, and why; `name` is empty where it has none."""

    name: str
    reason: str
