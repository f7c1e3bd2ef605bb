"""SVG as text: every value is escaped, every number is written the same way everywhere."""

import re
from xml.sax.saxutils import escape, quoteattr

UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # no XML may hold it

Value = str | float


def tag(name: str, *content: str, **attributes: Value | None) -> str:
    """Write an element; content is markup already, attributes are not. None leaves an attribute out."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_value(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(content)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def words(text: str) -> str:
    """Make text of any origin safe to stand between tags."""
    return escape(printable(text))


def printable(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)


def number(value: float) -> str:
    """Write a number with two decimals at most."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _value(value: Value) -> str:
    return printable(value) if isinstance(value, str) else number(value)


def ink(colour: str) -> str:
    """Name a colour as SVG does."""
    return "none" if colour == "transparent" else colour


def points(*pairs: tuple[float, float]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in pairs)
