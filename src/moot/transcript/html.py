"""HTML escaping, and a processor-time budget for expensive rendering.

Once the budget is spent, the rest is rendered the cheap way. The budget counts the processor time of its thread, so a
busy machine renders slowly but completely.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from moot.whiteboard.render.elements import printable


def element(name: str, *content: str, **attributes: str | None) -> str:
    """Write an element; content is markup already, attributes are not. None leaves an attribute out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{words(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(content)}</{name}>"


def words(text: str) -> str:
    """Make text of any origin safe to stand between tags, or in an attribute."""
    return escape(printable(text))


def listed(items: list[str], name: str = "ul", **attributes: str | None) -> str:
    return element(name, *(element("li", item) for item in items), **attributes)


class Work:
    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._left = seconds
        self._clock = clock

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Count how long the block takes."""
        began = self._clock()
        try:
            yield
        finally:
            self._left -= self._clock() - began
