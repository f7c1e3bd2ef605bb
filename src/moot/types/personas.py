"""Personas, and persona suggestions from a model."""

from typing import Annotated, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from moot.types.primitives import NO_NUL_PATTERN, VISIBLE_START_PATTERN, Label, LongText, Name, Paragraph

POINTS_PER_USE = 10
POINTS_PER_LEVEL = 100

PersonaLabels = Annotated[tuple[Label, ...], Meta(max_length=20)]
Colour = Annotated[str, Meta(pattern=r"^(#[0-9a-fA-F]{6})?(?!\n)$")]


class Persona(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    description: str
    system_prompt: str  # empty: made from the description, the traits and the specialisations
    traits: tuple[str, ...]
    specialisations: tuple[str, ...]
    category: str  # any label, such as deciding or explaining
    colour: str  # `#rrggbb`, or empty
    uses: int  # number of turns with this persona
    success_rate: float | None  # fraction of these turns that completed; None: never used
    level: int  # grows with `uses`, from 1
    builtin: bool  # bundled with Moot, read-only, visible to every tenant
    created_at: float  # Unix seconds


class PersonaDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request body for a new persona. Requires a description or a system prompt."""

    name: Name
    description: Paragraph = ""
    system_prompt: LongText = ""
    traits: PersonaLabels = ()
    specialisations: PersonaLabels = ()
    category: Label = ""
    colour: Colour = ""

    def __post_init__(self) -> None:
        if not (self.description.strip() or self.system_prompt.strip()):
            raise ValueError("write a description or a system_prompt, or both")


class PersonaChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Request body for an update. Unset fields keep their value."""

    name: Name | UnsetType = UNSET
    description: Paragraph | UnsetType = UNSET
    system_prompt: LongText | UnsetType = UNSET
    traits: PersonaLabels | UnsetType = UNSET
    specialisations: PersonaLabels | UnsetType = UNSET
    category: Label | UnsetType = UNSET
    colour: Colour | UnsetType = UNSET


class PersonaPage(Struct, frozen=True):
    personas: tuple[Persona, ...]
    next: str | None


def level_for_uses(uses: int) -> int:
    return uses * POINTS_PER_USE // POINTS_PER_LEVEL + 1


Category = Literal["thinker", "figure", "role", "challenger"]

CATEGORIES: tuple[Category, ...] = get_args(Category)
PROPOSALS_PER_CATEGORY = 2
MAX_PROPOSALS = PROPOSALS_PER_CATEGORY * len(CATEGORIES)
MAX_QUESTIONS = 3

Situation = Annotated[str, Meta(min_length=1, max_length=4000, pattern=VISIBLE_START_PATTERN)]
Remark = Annotated[str, Meta(min_length=1, max_length=1000, pattern=VISIBLE_START_PATTERN)]


class SituationAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A user's answer to a follow-up question about the situation."""

    question: Remark
    answer: Annotated[str, Meta(max_length=2000, pattern=NO_NUL_PATTERN)]


class Proposal(Struct, frozen=True, kw_only=True):
    """A suggested persona. The first three fields become fields of the persona."""

    name: Name
    category: Category
    description: Annotated[str, Meta(min_length=1, max_length=4000, pattern=VISIBLE_START_PATTERN)]
    rationale: Remark  # why this persona fits the situation


class RejectedProposal(Struct, frozen=True):
    """A suggestion that failed validation."""

    name: str  # empty if the model returned none
    reason: str  # error message
