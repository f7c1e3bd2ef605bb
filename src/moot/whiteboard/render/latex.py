"""Formulas as SVG: LaTeX is turned into paths, and nothing but paths and plain colours is taken over.

The work that a formula takes doubles with each level of nesting, so it is weighed before it is done.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from moot.types.drawing import COLOUR, DrawLatex
from moot.types.errors import UsageError
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import ink, number, tag
from moot.whiteboard.render.text import trouble

SIZE = 24
LARGEST = 1.5
MOST_WEIGHT = 1200  # about half a second of work at the worst
DOLLARS = re.compile(r"\s*(?:\$\$(.*)\$\$|\$(.*)\$|\\\[(.*)\\\]|\\\((.*)\\\))\s*", re.DOTALL)
LIGHT = {
    *("math", "mstyle", "menclose", "mfrac", "msqrt", "mroot", "mtable", "mtr"),
    *("msub", "msup", "msubsup", "munder", "mover", "munderover"),
}  # what is laid out once; all else is, once to be measured and once to be drawn
SCRIPTS = {"msub": 2, "msup": 2, "msubsup": 3}  # what each is made of: a base, and what is above or below
NUMBERS = {"d", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "rx", "stroke-width", "points"}


class Unreadable(UsageError):
    """This is no formula, or one that is too much."""


class Formula(NamedTuple):
    """Paths in the inherited colour; the point (x, y) is their upper left corner."""

    paths: str
    x: float
    y: float
    width: float
    height: float


@lru_cache(maxsize=256)
def formula(latex: str) -> Formula:
    """Lay out a formula; a board is drawn again whenever it changes, its formulas are not."""
    libraries = _libraries()
    try:
        return _laid_out(bare(latex), *libraries)
    except Unreadable:
        raise
    except Exception as error:  # the libraries have many ways to fail on what is no LaTeX
        raise Unreadable("This LaTeX cannot be read. Check its braces, commands and environments.") from error


def bare(latex: str) -> str:
    """Take off the signs that mark a formula in running text."""
    found = DOLLARS.fullmatch(latex)
    return next((inner for inner in found.groups() if inner is not None), latex) if found else latex


def weight(node: ET.Element, rows: int = 0) -> int:
    """Count the characters, each twice as much for every row, or the like, that it is nested in."""
    if rows > 12:
        return MOST_WEIGHT + 1
    inner = rows + (_name(node) not in LIGHT)
    return (len(node.text or "") + 1) * (1 << rows) + sum(weight(child, inner) for child in node)


def written(drawing: DrawLatex, box: Box) -> str:
    """Fit a formula into its box, in the middle of its height; it is enlarged a little at most."""
    try:
        laid = formula(drawing.latex)
    except Unreadable as error:
        return trouble(box, str(error), drawing.latex)
    scale = min(box.width / laid.width, box.height / laid.height, LARGEST)
    left, top = box.x, box.y + (box.height - laid.height * scale) / 2
    place = f"translate({number(left)} {number(top)}) scale({scale:.4f}) translate({number(-laid.x)} {number(-laid.y)})"
    return tag("g", laid.paths, transform=place, fill=ink(drawing.color), color=ink(drawing.color))


@cache
def _libraries() -> tuple[Callable[[str], str], Callable[..., Any]]:
    """Load what reads LaTeX and what lays it out; a font is read at that, which only formulas need."""
    from ziamath.config import config  # noqa: PLC0415
    from ziamath.tex import tex2mml  # noqa: PLC0415
    from ziamath.zmath import Math  # noqa: PLC0415

    config.svg2 = False  # plain paths, without symbols that would be named the same in each formula
    config.precision = 2
    return tex2mml, Math


def _laid_out(source: str, mathml: Callable[[str], str], math: Callable[..., Any]) -> Formula:
    tree = _tidied(ET.fromstring(mathml(source)))  # noqa: S314 - made here, of text without entities
    if weight(tree) > MOST_WEIGHT:
        raise Unreadable("This formula is too long or too deeply nested. Write it in parts.")
    drawn = ET.fromstring(math(tree, size=SIZE).svg())  # noqa: S314
    x, y, width, height = (float(part) for part in drawn.attrib["viewBox"].split())
    return Formula("".join(_copied(child) for child in drawn), x, y, width, height)


def _tidied(node: ET.Element) -> ET.Element:
    """Take out rows of one, which show nothing and double the work; keep a matrix and its brackets together."""
    for at, child in enumerate(node):
        node[at] = _tidied(child)
    surplus = len(node) - SCRIPTS.get(_name(node), len(node))
    if surplus > 0:  # the brackets of a matrix that has an index come as bases of their own
        base = ET.Element(node.tag.replace(_name(node), "mrow"))
        base.extend(node[: surplus + 1])
        node[: surplus + 1] = [base]
    alone = _name(node) == "mrow" and len(node) == 1 and not node.attrib and not (node.text or "").strip()
    return node[0] if alone else node


def _copied(node: ET.Element) -> str:
    """Write the geometry of a node anew, so that nothing else can come along."""
    name = _name(node)
    inner = "".join(_copied(child) for child in node)
    if name not in {"path", "rect", "line", "polyline", "polygon"}:
        return inner
    shape = {key.replace("-", "_"): value for key, value in node.attrib.items() if key in NUMBERS}
    return tag(name, fill=_ink(node.get("fill")), stroke=_stroke(node.get("stroke")), **shape) + inner


def _name(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


def _ink(colour: str | None) -> str | None:
    """Keep a colour that the formula asks for; black is what it says when it does not."""
    if colour == "none":
        return colour
    return colour if colour and colour != "black" and re.match(COLOUR, colour) else None


def _stroke(colour: str | None) -> str | None:
    return (_ink(colour) or "currentColor") if colour else None
