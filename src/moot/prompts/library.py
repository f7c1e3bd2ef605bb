"""Prompt files: templates and built-in personas; and rendering of personas and projects as prompt text."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter

import msgspec
from msgspec.structs import asdict

from moot.prompts.tokens import one_line, truncate_text
from moot.types.knowledge import Pattern
from moot.types.personas import Persona, PersonaDraft, level_for_uses
from moot.types.projects import Post, ProjectFacts

FRONT_MATTER_FENCE = "+++\n"  # encloses the TOML header of a file; the body is the system prompt


@cache
def load_template(name: str) -> str:
    return (files("moot.prompts") / "templates" / f"{name}.md").read_text("utf-8").strip()


def render_template(name: str, values: Mapping[str, str]) -> str:
    """Omit each paragraph that has a field with an empty value."""
    paragraphs = load_template(name).split("\n\n")
    return "\n\n".join(one.format(**values) for one in paragraphs if _has_all_values(one, values))


def _has_all_values(paragraph: str, values: Mapping[str, str]) -> bool:
    return all(values[name] for _, name, _, _ in Formatter().parse(paragraph) if name)


@cache
def builtin_personas() -> tuple[Persona, ...]:
    """Sorted by file name. Cached for the process."""
    folder = files("moot.prompts") / "personas"
    named = {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".md")}
    return tuple(parse_persona(name.removesuffix(".md"), named[name]) for name in sorted(named))


def parse_persona(name: str, text: str) -> Persona:
    _, head, prompt = text.split(FRONT_MATTER_FENCE, 2)
    draft = msgspec.convert({**tomllib.loads(head), "system_prompt": prompt.strip()}, PersonaDraft)
    return Persona(
        id=f"shipped_{name}",
        **asdict(draft),
        uses=0,
        success_rate=None,
        level=level_for_uses(0),
        builtin=True,
        created_at=0.0,
    )


def persona_prompt(persona: Persona) -> str:
    """Return the persona's system prompt; without one, render the description and other fields."""
    values = {
        "name": persona.name,
        "description": persona.description.strip(),
        "traits": ", ".join(persona.traits),
        "specialisations": ", ".join(persona.specialisations),
    }
    return persona.system_prompt.strip() or render_template("part", values)


MAX_DESCRIPTION_CHARACTERS = 2000
MAX_LINE_CHARACTERS = 400


def project_prompt(facts: ProjectFacts) -> str:
    values = {
        "name": one_line(facts.project.name, MAX_LINE_CHARACTERS),
        "description": truncate_text(facts.project.description.strip(), MAX_DESCRIPTION_CHARACTERS),
        "repository": one_line(facts.project.repository, MAX_LINE_CHARACTERS),
        "posts": "\n".join(map(_render_post, facts.posts)),
        "patterns": "\n".join(map(_render_pattern, facts.patterns)),
    }
    return render_template("project", values)


def _render_post(post: Post) -> str:
    title, excerpt = one_line(post.title, MAX_LINE_CHARACTERS), one_line(post.excerpt, MAX_LINE_CHARACTERS)
    return f"- {title}: {excerpt}" if excerpt else f"- {title}"


def _render_pattern(pattern: Pattern) -> str:
    kind = f"{pattern.kind}, {pattern.severity}" if pattern.severity else pattern.kind
    title, text = one_line(pattern.title, MAX_LINE_CHARACTERS), one_line(pattern.description, MAX_LINE_CHARACTERS)
    return f"- {title} ({kind}; seen {pattern.frequency} times): {text}"
