"""Prompt templates: Markdown files with format fields."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter


@cache
def load_template(name: str) -> str:
    return (files("moot.prompts") / "templates" / f"{name}.md").read_text("utf-8").strip()


def render_template(name: str, values: Mapping[str, str]) -> str:
    """Omit each paragraph that has a field with an empty value."""
    paragraphs = load_template(name).split("\n\n")
    return "\n\n".join(one.format(**values) for one in paragraphs if _has_all_values(one, values))


def _has_all_values(paragraph: str, values: Mapping[str, str]) -> bool:
    return all(values[name] for _, name, _, _ in Formatter().parse(paragraph) if name)
