"""The personas that ship with Moot, and the text of a persona or project in a prompt."""

import tomllib
from functools import cache
from importlib.resources import files

import msgspec
from msgspec.structs import asdict

from moot.prompts.templates import filled
from moot.prompts.tokens import cut, one_line
from moot.types.knowledge import Pattern
from moot.types.personas import Persona, PersonaDraft, level
from moot.types.projects import Post, ProjectFacts

FRAME = "+++\n"  # what stands around the fields at the head of a file; the prompt follows


@cache
def shipped() -> tuple[Persona, ...]:
    """Read the library, in the order of the names."""
    folder = files("moot.prompts") / "personas"
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


DESCRIPTION = 2000  # characters
LINE = 400


def describe(facts: ProjectFacts) -> str:
    values = {
        "name": one_line(facts.project.name, LINE),
        "description": cut(facts.project.description.strip(), DESCRIPTION),
        "repository": one_line(facts.project.repository, LINE),
        "posts": "\n".join(map(_post, facts.posts)),
        "patterns": "\n".join(map(_pattern, facts.patterns)),
    }
    return filled("project", values)


def _post(post: Post) -> str:
    title, excerpt = one_line(post.title, LINE), one_line(post.excerpt, LINE)
    return f"- {title}: {excerpt}" if excerpt else f"- {title}"


def _pattern(pattern: Pattern) -> str:
    kind = f"{pattern.kind}, {pattern.severity}" if pattern.severity else pattern.kind
    seen = f"({kind}; seen {pattern.frequency} times)"
    return f"- {one_line(pattern.title, LINE)} {seen}: {one_line(pattern.description, LINE)}"
