"""The board as SVG: one group for each element, made of shapes and escaped text only."""

from typing import assert_never

from moot.board.dark import DARK_EDGE, DARK_PAPER, darkened, filters
from moot.board.canvas import HEIGHT, WIDTH, Box, Point, box_of
from moot.board.chart import chart
from moot.board.latex import written
from moot.board.lettering import LEADING, SANS, fitted, line
from moot.board.markup import ink, points, tag
from moot.board.panel import panel
from moot.board.replay import Board, Element
from moot.board.stroke import stroke
from moot.board.table import table
from moot.model.drawings import DrawChart, DrawCode, DrawLatex, DrawLine, DrawShape, DrawTable, DrawText

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
