"""Renders a whiteboard to SVG, for light and dark pages."""

from typing import assert_never

from moot.types.drawing import DrawChart, DrawCode, DrawLatex, DrawLine, DrawShape, DrawTable, DrawText
from moot.whiteboard.geometry import CANVAS_HEIGHT, CANVAS_WIDTH, Box, Point, bounding_box
from moot.whiteboard.render.charts import render_chart
from moot.whiteboard.render.code import render_code_panel
from moot.whiteboard.render.elements import format_points, render_line, svg_colour, svg_tag
from moot.whiteboard.render.latex import render_formula
from moot.whiteboard.render.table import render_table
from moot.whiteboard.render.text import LEADING, SANS_FAMILY, fit_text, render_text_line
from moot.whiteboard.state import Board, Element

DARK_PAPER, DARK_EDGE = "#1c1e21", "#34383d"
DARK_FILTER_ID = "dark-ink"
DARKEST, LIGHTEST = 0.11, 0.93  # brightness of white and of black after the filter
# Inverting brightness also rotates the hue by 180 degrees; this matrix rotates it back.
HUE_ROTATION = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))


def render_dark_filter() -> str:
    """Return the SVG filter element that dark elements reference by id."""
    span = LIGHTEST - DARKEST
    rows = [[*(-span * share for share in row), 0.0, LIGHTEST] for row in HUE_ROTATION]
    rows.append([0.0, 0.0, 0.0, 1.0, 0.0])
    values = " ".join(f"{value:.3f}" for row in rows for value in row)
    matrix = svg_tag("feColorMatrix", values=values, color_interpolation_filters="sRGB")
    # Fixed size: with the default, relative to the element, a horizontal line has height 0 and is not rendered.
    return svg_tag(
        "filter",
        matrix,
        id=DARK_FILTER_ID,
        filterUnits="userSpaceOnUse",
        x=0,
        y=0,
        width=CANVAS_WIDTH,
        height=CANVAS_HEIGHT,
    )


def apply_dark_filter(drawing: str) -> str:
    return svg_tag("g", drawing, filter=f"url(#{DARK_FILTER_ID})")


PAPER, EDGE, OUTLINE = "#ffffff", "#d8dce2", "#5f6b7a"


def render_svg(board: Board, height: float = CANVAS_HEIGHT, *, dark: bool = False) -> str:
    """Return the SVG string, cropped at `height`. A closed board renders as an empty canvas."""
    elements = board.elements if board.open else ()
    paper, edge = (DARK_PAPER, DARK_EDGE) if dark else (PAPER, EDGE)
    return svg_tag(
        "svg",
        render_dark_filter() if dark else "",
        svg_tag("rect", x=0.5, y=0.5, width=CANVAS_WIDTH - 1, height=height - 1, rx=8, fill=paper, stroke=edge),
        *(render_element(element, dark=dark) for element in elements),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {CANVAS_WIDTH} {height:g}",
        width=CANVAS_WIDTH,
        height=height,
        font_family=SANS_FAMILY,
        role="img",
    )


def render_element(element: Element, *, dark: bool = False) -> str:
    """Never raises on invalid content: renders a placeholder with the error message."""
    content = _render_content(element)
    if dark and element.kind != "code":  # code panels are dark in both modes
        content = apply_dark_filter(content)
    return svg_tag("g", content, id=element.id, data_kind=element.kind)


def _render_content(element: Element) -> str:
    drawing = element.drawing
    box = bounding_box(drawing)
    match drawing:
        case DrawText():
            return _render_text(drawing, box)
        case DrawShape():
            return _render_shape(drawing, box)
        case DrawChart():
            return render_chart(drawing, box)
        case DrawLatex():
            return render_formula(drawing, box)
        case DrawTable():
            return render_table(drawing, box)
        case DrawLine():
            return render_line(drawing)
        case DrawCode():
            return render_code_panel(drawing, element.listing, box)
        case _:
            assert_never(drawing)


def _render_text(drawing: DrawText, box: Box) -> str:
    text = fit_text(drawing.content, box.width, box.height, drawing.font_size)
    return "".join(
        render_text_line(row, box.x, box.y + text.size * (at * LEADING + 1), text.size, fill=svg_colour(drawing.color))
        for at, row in enumerate(text.lines)
    )


def _render_shape(drawing: DrawShape, box: Box) -> str:
    fill = svg_colour(drawing.fill_color)
    outline = OUTLINE if fill == "none" else None
    if drawing.shape == "rectangle":
        return svg_tag("rect", **box._asdict(), rx=4, fill=fill, stroke=outline)
    if drawing.shape == "circle":
        across, down = box.width / 2, box.height / 2
        return svg_tag("ellipse", cx=box.x + across, cy=box.y + down, rx=across, ry=down, fill=fill, stroke=outline)
    corners = Point(box.x + box.width / 2, box.y), Point(box.right, box.bottom), Point(box.x, box.bottom)
    return svg_tag("polygon", points=format_points(*corners), fill=fill, stroke=outline)
