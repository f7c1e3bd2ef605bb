"""Personas: parts that a model can play, and what is counted of their use."""

from msgspec import Struct

POINTS_A_USE = 10
POINTS_A_LEVEL = 100


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
    shipped: bool
    created_at: float

    @property
    def level(self) -> int:
        return self.uses * POINTS_A_USE // POINTS_A_LEVEL + 1
