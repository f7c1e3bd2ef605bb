"""SVG of a whole whiteboard, for a light and for a dark page."""

from typing import assert_never

from moot.types.drawing import DrawChart, DrawCode, DrawLatex, DrawLine, DrawShape, DrawTable, DrawText
from moot.whiteboard.geometry import HEIGHT, WIDTH, Box, Point, box_of
from moot.whiteboard.render.charts import chart
from moot.whiteboard.render.code import panel
from moot.whiteboard.render.elements import ink, points, stroke, tag
from moot.whiteboard.render.latex import written
from moot.whiteboard.render.table import table
from moot.whiteboard.render.text import LEADING, SANS, fitted, line
from moot.whiteboard.state import Board, Element

DARK_PAPER, DARK_EDGE = "#1c1e21", "#34383d"
INK = "dark-ink"
DARKEST, LIGHTEST = 0.11, 0.93  # what becomes of white and of black
# A turn of the hue by half a circle takes back what turning light into dark does to it.
TURN = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))


def filters() -> str:
    """Write what the drawings of a dark board refer to, to stand before them."""
    span = LIGHTEST - DARKEST
    rows = [[*(-span * share for share in row), 0.0, LIGHTEST] for row in TURN]
    rows.append([0.0, 0.0, 0.0, 1.0, 0.0])
    values = " ".join(f"{value:.3f}" for row in rows for value in row)
    matrix = tag("feColorMatrix", values=values, color_interpolation_filters="sRGB")
    # As large as the board: by its own size, a level line would have no height and not be drawn.
    return tag("filter", matrix, id=INK, filterUnits="userSpaceOnUse", x=0, y=0, width=WIDTH, height=HEIGHT)


def darkened(drawing: str) -> str:
    """Draw something for the dark that was drawn for white paper."""
    return tag("g", drawing, filter=f"url(#{INK})")


PAPER, EDGE, OUTLINE = "#ffffff", "#d8dce2", "#5f6b7a"


def svg(board: Board, height: float = HEIGHT, *, dark: bool = False) -> str:
    """Draw a board, or as much of it as is above a height; one that is closed or empty is a blank canvas."""
    elements = board.elements if board.open else ()
    paper, edge = (DARK_PAPER, DARK_EDGE) if dark else (PAPER, EDGE)
    return tag(
        "svg",
        filters() if dark else "",
        tag("rect", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, rx=8, fill=paper, stroke=edge),
        *(drawn(element, dark=dark) for element in elements),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}",
        width=WIDTH,
        height=height,
        font_family=SANS,
        role="img",
    )


def drawn(element: Element, *, dark: bool = False) -> str:
    """Draw one element, whatever it holds: content that makes no sense is shown with the reason."""
    content = _content(element)
    if dark and element.kind != "code":  # which is light on dark on any paper
        content = darkened(content)
    return tag("g", content, id=element.id, data_kind=element.kind)


def _content(element: Element) -> str:
    drawing = element.drawing
    box = box_of(drawing)
    match drawing:
        case DrawText():
            return _text(drawing, box)
        case DrawShape():
            return _shape(drawing, box)
        case DrawChart():
            return chart(drawing, box)
        case DrawLatex():
            return written(drawing, box)
        case DrawTable():
            return table(drawing, box)
        case DrawLine():
            return stroke(drawing)
        case DrawCode():
            return panel(drawing, element.listing, box)
        case _:
            assert_never(drawing)


def _text(drawing: DrawText, box: Box) -> str:
    text = fitted(drawing.content, box.width, box.height, drawing.font_size)
    return "".join(
        line(row, box.x, box.y + text.size * (at * LEADING + 1), text.size, fill=ink(drawing.color))
        for at, row in enumerate(text.lines)
    )


def _shape(drawing: DrawShape, box: Box) -> str:
    fill = ink(drawing.fill_color)
    outline = OUTLINE if fill == "none" else None
    if drawing.shape == "rectangle":
        return tag(
            "rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=4, fill=fill, stroke=outline
        )
    if drawing.shape == "circle":
        across, down = box.width / 2, box.height / 2
        return tag(
            "ellipse", cx=box.x + across, cy=box.y + down, rx=across, ry=down, fill=fill, stroke=outline
        )
    corners = Point(box.x + box.width / 2, box.y), Point(box.right, box.bottom), Point(box.x, box.bottom)
    return tag("polygon", points=points(*corners), fill=fill, stroke=outline)
