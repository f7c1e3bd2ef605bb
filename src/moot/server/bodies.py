"""What the discussion routes take in: shapes and limits, checked once."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from moot.engine.seating import Wanted
from moot.model.discussions import DiscussionStatus
from moot.model.errors import UsageError
from moot.model.texts import ModelName

Words = Annotated[str, Meta(min_length=1, max_length=10_000)]
Title = Annotated[str, Meta(min_length=1, max_length=200)]
Rounds = Annotated[int, Meta(ge=1, le=10)]
Language = Annotated[str, Meta(min_length=2, max_length=8)]
Id = Annotated[str, Meta(min_length=1, max_length=60)]
Table = Annotated[list[ModelName | Wanted], Meta(min_length=1, max_length=24)]
Cap = Annotated[float, Meta(gt=0, le=1_000_000)]
Mode = Literal["single", "parallel", "consensus"]


class DiscussionDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`participants` are models, or models with a persona, a name and settings.

    `mode`, left out, is single for one participant and parallel for several. `cap` is what the answer may cost in
    US dollars.
    """

    message: Words
    participants: Table
    title: Title | None = None
    mode: Mode | None = None
    rounds: Rounds = 2
    persona: Id | None = None
    project: Id | None = None
    language: Language | None = None
    model: ModelName | None = None
    cap: Cap | None = None


class DiscussionChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is; null takes away what can be taken away."""

    title: Title | UnsetType = UNSET
    status: DiscussionStatus | UnsetType = UNSET
    mode: Mode | UnsetType = UNSET
    participants: Table | UnsetType = UNSET
    rounds: Rounds | UnsetType = UNSET
    persona: Id | UnsetType | None = UNSET
    project: Id | UnsetType | None = UNSET
    language: Language | UnsetType = UNSET
    model: ModelName | UnsetType | None = UNSET


class NewMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`to` names participants by id; only they answer, and only they ever see it. `cap` is what the answer may cost."""

    message: Words
    to: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)] | None = None
    cap: Cap | None = None


class GoOn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    turns: Annotated[int, Meta(ge=1, le=50)] = 1


class StopWish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    participant: Id | None = None


def said(words: str, field: str = "message") -> str:
    """Refuse words that say nothing."""
    if not words.strip():
        raise UsageError(f"{field}: it is empty: write something.")
    return words
