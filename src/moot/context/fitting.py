"""Fitting words into prompts: on one line, cut to a size, and no paragraph that would say nothing."""

from collections.abc import Mapping
from string import Formatter

from moot.context.prompt import written


def filled(name: str, values: Mapping[str, str]) -> str:
    """Fill a prompt in; a paragraph is left out where a value that it asks for is empty."""
    paragraphs = written(name).split("\n\n")
    return "\n\n".join(one.format(**values) for one in paragraphs if _says_something(one, values))


def cut(text: str, most: int) -> str:
    """Shorten a text; … stands where words are missing."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def one_line(text: str, most: int) -> str:
    """Put text on one line, so that it cannot look like a part of the prompt."""
    return cut(" ".join(text.split()), most)


def _says_something(paragraph: str, values: Mapping[str, str]) -> bool:
    return all(values[name] for _, name, _, _ in Formatter().parse(paragraph) if name)
