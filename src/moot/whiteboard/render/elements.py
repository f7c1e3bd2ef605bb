"""SVG strings: tags, escaping, numbers, lines with arrow heads."""

import re
from math import hypot
from xml.sax.saxutils import escape, quoteattr

from moot.types.drawing import DrawLine, LineHead
from moot.whiteboard.geometry import Point

UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # invalid in XML

AttributeValue = str | float


def svg_tag(name: str, *content: str, **attributes: AttributeValue | None) -> str:
    """Return an SVG element as a string. Escapes attribute values, but not `content`. Skips None values."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_format_value(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(content)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def escape_text(text: str) -> str:
    """Escape untrusted text for use as element content."""
    return escape(replace_unprintable(text))


def replace_unprintable(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)


def format_number(value: float) -> str:
    """Return a string with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _format_value(value: AttributeValue) -> str:
    return replace_unprintable(value) if isinstance(value, str) else format_number(value)


def svg_colour(colour: str) -> str:
    return "none" if colour == "transparent" else colour


def format_points(*pairs: tuple[float, float]) -> str:
    return " ".join(f"{format_number(x)},{format_number(y)}" for x, y in pairs)


def render_line(drawing: DrawLine) -> str:
    """Shorten the line at arrow heads, because a thick stroke would cover their tips."""
    start, end = Point(drawing.start_x, drawing.start_y), Point(drawing.end_x, drawing.end_y)
    first, last = drawing.points
    size = min(8 + drawing.width * 2.5, hypot(end.x - start.x, end.y - start.y) / 2)
    begins = _point_towards(start, end, size * 0.8) if first == "arrow" else start
    ends = _point_towards(end, start, size * 0.8) if last == "arrow" else end
    shaft = svg_tag(
        "line",
        x1=begins.x,
        y1=begins.y,
        x2=ends.x,
        y2=ends.y,
        stroke=svg_colour(drawing.color),
        stroke_width=drawing.width,
        stroke_dasharray=f"{drawing.width * 4:g} {drawing.width * 3:g}" if drawing.style == "dashed" else None,
    )
    return (
        shaft + _render_line_head(first, start, end, size, drawing) + _render_line_head(last, end, start, size, drawing)
    )


def _render_line_head(head: LineHead, tip: Point, other: Point, size: float, drawing: DrawLine) -> str:
    if head == "dot":
        return svg_tag("circle", cx=tip.x, cy=tip.y, r=drawing.width + 2, fill=svg_colour(drawing.color))
    if head == "" or size == 0:
        return ""
    foot = _point_towards(tip, other, size)
    half = 0.45
    across, down = (foot.y - tip.y) * half, (foot.x - tip.x) * half
    corners = tip, Point(foot.x + across, foot.y - down), Point(foot.x - across, foot.y + down)
    return svg_tag("polygon", points=format_points(*corners), fill=svg_colour(drawing.color))


def _point_towards(start: Point, end: Point, distance: float) -> Point:
    length = hypot(end.x - start.x, end.y - start.y)
    part = distance / length if length else 0
    return Point(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part)
