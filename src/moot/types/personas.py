"""Personas, and personas that a model suggests."""

from typing import Annotated, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from moot.types.primitives import NO_NUL, VISIBLE, Label, Name, Paper, Paragraph

POINTS_A_USE = 10
POINTS_A_LEVEL = 100

Labels = Annotated[tuple[Label, ...], Meta(max_length=20)]
Colour = Annotated[str, Meta(pattern=r"^(#[0-9a-fA-F]{6})?(?!\n)$")]


class Persona(Struct, frozen=True, kw_only=True):
    """`shipped` ones come with Moot: everybody has them and nobody changes them."""

    id: str
    name: str
    description: str
    system_prompt: str
    traits: tuple[str, ...]
    specialisations: tuple[str, ...]
    category: str
    colour: str
    uses: int
    success_rate: float | None
    level: int
    shipped: bool
    created_at: float


class PersonaDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A persona to be made; a description or a system prompt says what it is."""

    name: Name
    description: Paragraph = ""
    system_prompt: Paper = ""
    traits: Labels = ()
    specialisations: Labels = ()
    category: Label = ""
    colour: Colour = ""

    def __post_init__(self) -> None:
        if not (self.description.strip() or self.system_prompt.strip()):
            raise ValueError("write a description or a system_prompt, or both")


class PersonaChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be different of a persona; what is not named stays."""

    name: Name | UnsetType = UNSET
    description: Paragraph | UnsetType = UNSET
    system_prompt: Paper | UnsetType = UNSET
    traits: Labels | UnsetType = UNSET
    specialisations: Labels | UnsetType = UNSET
    category: Label | UnsetType = UNSET
    colour: Colour | UnsetType = UNSET


class PersonaPage(Struct, frozen=True):
    personas: tuple[Persona, ...]
    next: str | None


def level(uses: int) -> int:
    return uses * POINTS_A_USE // POINTS_A_LEVEL + 1


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
