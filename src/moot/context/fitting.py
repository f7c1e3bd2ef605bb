"""Fitting words into prompts: on one line, and cut to a size."""


def cut(text: str, most: int) -> str:
    """Shorten a text; … stands where words are missing."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def one_line(text: str, most: int) -> str:
    """Put text on one line, so that it cannot look like a part of the prompt."""
    return cut(" ".join(text.split()), most)
