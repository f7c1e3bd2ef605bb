"""Renders LaTeX formulas to SVG paths.

Output of the LaTeX library is untrusted: only geometry and plain colours are copied. Layout time doubles with each
nesting level, so formulas above a weight limit are rejected first.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from moot.types.drawing import COLOUR_PATTERN, DrawLatex
from moot.types.errors import UsageError
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import format_number, svg_colour, svg_tag
from moot.whiteboard.render.text import render_placeholder

FORMULA_FONT_SIZE = 24
MAX_SCALE = 1.5
MAX_LAYOUT_WEIGHT = 1200  # at most about half a second of CPU time
MATH_DELIMITERS = re.compile(r"\s*(?:\$\$(.*)\$\$|\$(.*)\$|\\\[(.*)\\\]|\\\((.*)\\\))\s*", re.DOTALL)
SINGLE_LAYOUT_TAGS = {
    *("math", "mstyle", "menclose", "mfrac", "msqrt", "mroot", "mtable", "mtr"),
    *("msub", "msup", "msubsup", "munder", "mover", "munderover"),
}  # the library lays out other elements twice: to measure and to draw
SCRIPT_CHILD_COUNTS = {"msub": 2, "msup": 2, "msubsup": 3}  # a base plus its scripts
GEOMETRY_ATTRIBUTES = {"d", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "rx", "stroke-width", "points"}


class InvalidFormula(UsageError):
    """The LaTeX string does not parse, or its layout would take too long."""


class Formula(NamedTuple):
    """SVG of a formula before scaling."""

    paths: str  # in the inherited colour
    x: float  # upper left corner
    y: float
    width: float
    height: float


@lru_cache(maxsize=256)
def layout_formula(latex: str) -> Formula:
    """Cached, because each change of a board renders all its elements. Raises InvalidFormula."""
    libraries = _load_libraries()
    try:
        return _compute_layout(strip_math_delimiters(latex), *libraries)
    except InvalidFormula:
        raise
    except Exception as error:  # the libraries raise many exception types on invalid LaTeX
        raise InvalidFormula("This LaTeX cannot be read. Check its braces, commands and environments.") from error


def strip_math_delimiters(latex: str) -> str:
    r"""Remove `$…$`, `$$…$$`, `\(…\)` or `\[…\]` around the string."""
    found = MATH_DELIMITERS.fullmatch(latex)
    return next((inner for inner in found.groups() if inner is not None), latex) if found else latex


def layout_weight(node: ET.Element, rows: int = 0) -> int:
    """Return a cost estimate: characters, doubled for each nesting level that the library lays out twice."""
    if rows > 12:
        return MAX_LAYOUT_WEIGHT + 1
    inner = rows + (_tag_name(node) not in SINGLE_LAYOUT_TAGS)
    return (len(node.text or "") + 1) * (1 << rows) + sum(layout_weight(child, inner) for child in node)


def render_formula(drawing: DrawLatex, box: Box) -> str:
    """Scale the formula to its box, at most by `MAX_SCALE`. On an error, render a placeholder with the message."""
    try:
        formula = layout_formula(drawing.latex)
    except InvalidFormula as error:
        return render_placeholder(box, str(error), drawing.latex)
    scale = min(box.width / formula.width, box.height / formula.height, MAX_SCALE)
    left, top = box.x, box.y + (box.height - formula.height * scale) / 2
    place = f"translate({format_number(left)} {format_number(top)}) scale({scale:.4f}) translate({format_number(-formula.x)} {format_number(-formula.y)})"
    return svg_tag("g", formula.paths, transform=place, fill=svg_colour(drawing.color), color=svg_colour(drawing.color))


@cache
def _load_libraries() -> tuple[Callable[[str], str], Callable[..., Any]]:
    """Import lazily: the import parses a font file, which takes time and only formulas need."""
    from ziamath.config import config  # noqa: PLC0415
    from ziamath.tex import tex2mml  # noqa: PLC0415
    from ziamath.zmath import Math  # noqa: PLC0415

    config.svg2 = False  # SVG 2 output uses symbol ids, which would collide between formulas
    config.precision = 2
    return tex2mml, Math


def _compute_layout(source: str, to_mathml: Callable[[str], str], math: Callable[..., Any]) -> Formula:
    tree = _simplify_mathml(ET.fromstring(to_mathml(source)))  # noqa: S314 - tex2mml output, without entities
    if layout_weight(tree) > MAX_LAYOUT_WEIGHT:
        raise InvalidFormula("This formula is too long or too deeply nested. Write it in parts.")
    drawn = ET.fromstring(math(tree, size=FORMULA_FONT_SIZE).svg())  # noqa: S314
    x, y, width, height = (float(part) for part in drawn.attrib["viewBox"].split())
    return Formula("".join(_copy_geometry(child) for child in drawn), x, y, width, height)


def _simplify_mathml(node: ET.Element) -> ET.Element:
    """Remove rows with one child, which double the layout time; group a matrix with its brackets."""
    for at, child in enumerate(node):
        node[at] = _simplify_mathml(child)
    surplus = len(node) - SCRIPT_CHILD_COUNTS.get(_tag_name(node), len(node))
    if surplus > 0:  # for a matrix with an index, tex2mml returns the brackets as separate children
        base = ET.Element(node.tag.replace(_tag_name(node), "mrow"))
        base.extend(node[: surplus + 1])
        node[: surplus + 1] = [base]
    alone = _tag_name(node) == "mrow" and len(node) == 1 and not node.attrib and not (node.text or "").strip()
    return node[0] if alone else node


def _copy_geometry(node: ET.Element) -> str:
    """Copy allowed tags and attributes only, so that a formula cannot inject scripts or links."""
    name = _tag_name(node)
    inner = "".join(_copy_geometry(child) for child in node)
    if name not in {"path", "rect", "line", "polyline", "polygon"}:
        return inner
    shape = {key.replace("-", "_"): value for key, value in node.attrib.items() if key in GEOMETRY_ATTRIBUTES}
    return (
        svg_tag(name, fill=_fill_colour(node.get("fill")), stroke=_stroke_colour(node.get("stroke")), **shape) + inner
    )


def _tag_name(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


def _fill_colour(colour: str | None) -> str | None:
    """Return None (inherit) for invalid colours and for black, the library's default value."""
    if colour == "none":
        return colour
    return colour if colour and colour != "black" and re.match(COLOUR_PATTERN, colour) else None


def _stroke_colour(colour: str | None) -> str | None:
    return (_fill_colour(colour) or "currentColor") if colour else None
