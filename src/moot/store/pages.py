"""Pages: one more than fits is asked for, which tells whether another page follows."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def cut(found: Sequence[T], limit: int, cursor: Callable[[T], str]) -> tuple[tuple[T, ...], str | None]:
    """Keep as many as fit, and return the cursor of the last of them if more were found."""
    page = tuple(found[:limit])
    return page, cursor(page[-1]) if len(found) > limit else None
