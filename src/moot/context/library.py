"""The personas that ship with Moot, a file each, and the words in which any persona is put to a model."""

import tomllib
from functools import cache
from importlib.resources import files

import msgspec
from msgspec.structs import asdict

from moot.context.prompts import filled
from moot.model.personas import Persona, PersonaDraft, level

FRAME = "+++\n"  # what stands around the fields at the head of a file; the prompt follows


@cache
def shipped() -> tuple[Persona, ...]:
    """Read the library, in the order of the names."""
    folder = files("moot.context") / "personas"
    named = {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".md")}
    return tuple(read(name.removesuffix(".md"), named[name]) for name in sorted(named))


def read(name: str, text: str) -> Persona:
    _, head, prompt = text.split(FRAME, 2)
    draft = msgspec.convert({**tomllib.loads(head), "system_prompt": prompt.strip()}, PersonaDraft)
    return Persona(
        id=f"shipped_{name}",
        **asdict(draft),
        uses=0,
        success_rate=None,
        level=level(0),
        shipped=True,
        created_at=0.0,
    )


def part(persona: Persona) -> str:
    """Tell a model the part that it plays: the persona's own prompt, or else its description."""
    values = {
        "name": persona.name,
        "description": persona.description.strip(),
        "traits": ", ".join(persona.traits),
        "specialisations": ", ".join(persona.specialisations),
    }
    return persona.system_prompt.strip() or filled("part", values)
