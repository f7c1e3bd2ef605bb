"""Fitting words into prompts: on one line, and cut to a size."""

from collections.abc import Sequence


def cut(text: str, most: int) -> str:
    """Shorten a text; … stands where words are missing."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def one_line(text: str, most: int) -> str:
    """Put text on one line, so that it cannot look like a part of the prompt."""
    return cut(" ".join(text.split()), most)


def listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def fitted(texts: Sequence[str], room: int) -> list[str]:
    """Cut texts so that all of them fit: what short ones leave, the long ones may take."""
    most, left = room, room
    for place, length in enumerate(sorted(len(text) for text in texts)):
        most = left // (len(texts) - place)
        if length > most:
            break
        left -= length
    else:
        return list(texts)
    return [cut(text, max(most, 1)) for text in texts]
