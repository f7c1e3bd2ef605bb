"""Text description of a whiteboard for prompts, with a list of layout problems.

Models read the strings of this module.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import assert_never

from moot.types.drawing import DrawChart, DrawCode, DrawLatex, DrawLine, DrawShape, DrawTable, DrawText
from moot.whiteboard.code_listing import CodeListing
from moot.whiteboard.geometry import CANVAS, CANVAS_HEIGHT, CANVAS_WIDTH, Box, Point, bounding_box
from moot.whiteboard.state import Board, Element

MAX_OVERLAP = 0.3  # fraction of the smaller element
LINE_END_TOLERANCE = 6  # a line may end this far inside a box
MAX_PROBLEMS = 8


def find_layout_problems(board: Board) -> tuple[str, ...]:
    """Return at most `MAX_PROBLEMS` messages: elements off the canvas, overlaps, lines through elements."""
    lines = [element for element in board.elements if isinstance(element.drawing, DrawLine)]
    boxes = [element for element in board.elements if not isinstance(element.drawing, DrawLine)]
    found = [
        *(_off_canvas_problem(element) for element in board.elements),
        *(_overlap_problem(one, other) for one, other in combinations(boxes, 2)),
        *(_crossing_problem(line, box) for line in lines for box in boxes),
    ]
    return tuple(problem for problem in found if problem)[:MAX_PROBLEMS]


def _off_canvas_problem(element: Element) -> str | None:
    box = bounding_box(element.drawing)
    if box.x >= 0 and box.y >= 0 and box.right <= CANVAS.right and box.bottom <= CANVAS.bottom:
        return None
    return (
        f"{element.id} is off the canvas (x {box.x:.0f} to {box.right:.0f}, y {box.y:.0f} to {box.bottom:.0f}): "
        f"keep x within 0 to {CANVAS.width} and y within 0 to {CANVAS.height}."
    )


def _overlap_problem(one: Element, other: Element) -> str | None:
    first, second = bounding_box(one.drawing), bounding_box(other.drawing)
    if _is_label_of(one, other) or _is_label_of(other, one):
        return None
    part = first.overlap_area(second) / min(first.area, second.area)
    if part < MAX_OVERLAP:
        return None
    return f"{one.id} and {other.id} overlap by {part:.0%} of the smaller: move one of them."


def _is_label_of(words: Element, shape: Element) -> bool:
    """Text inside a shape is its label and no layout error."""
    if words.kind not in {"text", "latex"} or shape.kind != "shape":
        return False
    inner, outer = bounding_box(words.drawing), bounding_box(shape.drawing)
    return inner.overlap_area(outer) >= inner.area * 0.99


def _crossing_problem(line: Element, element: Element) -> str | None:
    drawing = line.drawing
    if not isinstance(drawing, DrawLine):
        return None
    start, end = Point(drawing.start_x, drawing.start_y), Point(drawing.end_x, drawing.end_y)
    if not line_crosses_box(start, end, bounding_box(element.drawing).inset_by(LINE_END_TOLERANCE)):
        return None
    return f"{line.id} goes through {element.id}: end it at the edge, or lead it around."


def line_crosses_box(start: Point, end: Point, box: Box) -> bool:
    """Return whether a line segment intersects the inside of a box (Liang-Barsky algorithm)."""
    across, down = end.x - start.x, end.y - start.y
    sides = (
        (-across, start.x - box.x),
        (across, box.right - start.x),
        (-down, start.y - box.y),
        (down, box.bottom - start.y),
    )
    enters, leaves = 0.0, 1.0
    for slope, room in sides:
        if slope == 0:
            if room <= 0:
                return False
        elif slope < 0:
            enters = max(enters, room / slope)
        else:
            leaves = min(leaves, room / slope)
    return enters < leaves


CROWDED_THRESHOLD = 5  # with more elements the text asks the agent to delete some
MAX_ELEMENTS_DESCRIBED = 30
MAX_PREVIEW_CHARS = 60
MAX_CODE_LINES_DESCRIBED = 40
MAX_CODE_LINE_CHARS = 100
MAX_DESCRIPTION_CHARS = 8000  # every turn sends the description, so it must cost few tokens
NO_NAMES: Mapping[str, str] = {}


def describe_board(board: Board, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the description as a string. `names` maps participant ids to names."""
    state = "open" if board.open else "closed"
    if not board.elements:
        return f"The whiteboard ({CANVAS_WIDTH} x {CANVAS_HEIGHT}) is {state} and empty."
    count = len(board.elements)
    lines = [
        f"The whiteboard ({CANVAS_WIDTH} x {CANVAS_HEIGHT}) is {state}, with {count} element{'s' if count > 1 else ''}:"
    ]
    lines += [_describe_element(element, names) for element in board.elements[:MAX_ELEMENTS_DESCRIBED]]
    if count > MAX_ELEMENTS_DESCRIBED:
        lines.append(f"- and {count - MAX_ELEMENTS_DESCRIBED} more")
    if count > CROWDED_THRESHOLD:
        lines.append("It is crowded: delete or clear what is no longer needed before you draw more.")
    lines += [f"Mend this: {problem}" for problem in find_layout_problems(board)]
    words = "\n".join(lines)
    return words if len(words) <= MAX_DESCRIPTION_CHARS else f"{words[:MAX_DESCRIPTION_CHARS]}\n(There is more.)"


def _describe_element(element: Element, names: Mapping[str, str]) -> str:
    by = f", by {names.get(element.participant, element.participant)}" if element.participant else ""
    return f"- {element.id}: {_describe_content(element)}, {_describe_position(element)}{by}{_describe_lines(element.listing)}"


def _describe_content(element: Element) -> str:
    match drawing := element.drawing:
        case DrawText():
            return f'text "{_preview_text(drawing.content)}"'
        case DrawShape():
            return f"{drawing.shape} {drawing.fill_color}"
        case DrawChart():
            labels = f" over {_preview_text(', '.join(drawing.data.labels))}" if drawing.data.labels else ""
            return f"{drawing.chart_type} chart{labels}"
        case DrawLatex():
            return f"formula {_preview_text(drawing.latex)}"
        case DrawTable():
            rows, columns = len(drawing.data), max(len(row) for row in drawing.data)
            return f"table of {rows} x {columns}, headed {_preview_text(' | '.join(drawing.data[0]))}"
        case DrawLine():
            return "arrow" if "arrow" in drawing.points else "line"
        case DrawCode():
            named = _preview_text(drawing.file_name or drawing.language)
            return f"code {named}".rstrip()
        case _:
            assert_never(drawing)


def _describe_position(element: Element) -> str:
    drawing = element.drawing
    if isinstance(drawing, DrawLine):
        return f"from ({drawing.start_x:.0f}, {drawing.start_y:.0f}) to ({drawing.end_x:.0f}, {drawing.end_y:.0f})"
    box = bounding_box(drawing)
    return f"at ({box.x:.0f}, {box.y:.0f}), {box.width:.0f} x {box.height:.0f}"


def _describe_lines(listing: CodeListing) -> str:
    shown = [f"\n  {line.id}: {line.text[:MAX_CODE_LINE_CHARS]}" for line in listing.lines[:MAX_CODE_LINES_DESCRIBED]]
    if len(listing.lines) > MAX_CODE_LINES_DESCRIBED:
        shown.append(f"\n  and on to {listing.lines[-1].id}")
    return "".join(shown)


def _preview_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_PREVIEW_CHARS else f"{line[: MAX_PREVIEW_CHARS - 1]}…"
