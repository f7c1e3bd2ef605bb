"""HTML escaping, and a processor-time budget for expensive rendering.

The budget counts the processor time of its thread. So a busy machine renders slowly, but the result is the same.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from moot.whiteboard.render.elements import replace_unprintable


def html_element(name: str, *content: str, **attributes: str | None) -> str:
    """`content` must be escaped already; attribute values are escaped here. None omits an attribute."""
    escaped = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_html(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{escaped}>{''.join(content)}</{name}>"


def escape_html(text: str) -> str:
    """Escape untrusted text for element content or an attribute value."""
    return escape(replace_unprintable(text))


def text_element(name: str, text: str | None, **attributes: str | None) -> str:
    """Return an element with untrusted text; an empty string without text."""
    return html_element(name, escape_html(text), **attributes) if text else ""


class TimeBudget:
    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._remaining_seconds = seconds
        self._clock = clock

    @property
    def is_spent(self) -> bool:
        return self._remaining_seconds <= 0

    @contextmanager
    def track_time(self) -> Iterator[None]:
        """Subtract the time of the block from the budget, also if it raises."""
        started = self._clock()
        try:
            yield
        finally:
            self._remaining_seconds -= self._clock() - started
