"""Spans of code in running text, which no rule about words may touch."""

import re
from collections.abc import Callable

_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?[^`\n]\1(?!`)")


def outside(edit: Callable[[str], str], text: str, inside: Callable[[str], str] = str) -> str:
    """Apply an edit to all of a text but its spans of code."""
    if "`" not in text:
        return edit(text)
    edited, place = [], 0
    for span in _SPAN.finditer(text):
        edited += [edit(text[place : span.start()]), inside(span[0])]
        place = span.end()
    return "".join([*edited, edit(text[place:])])
