"""Personas: parts that a model can play, and what is counted of their use."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from moot.model.texts import Label, Name, Paper, Paragraph

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
