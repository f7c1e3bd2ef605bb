"""A whiteboard described in text for a prompt, and the layout problems found on it."""

from collections.abc import Mapping
from itertools import combinations
from typing import assert_never

from moot.types.drawing import DrawChart, DrawCode, DrawLatex, DrawLine, DrawShape, DrawTable, DrawText
from moot.whiteboard.code_listing import Listing
from moot.whiteboard.geometry import CANVAS, HEIGHT, WIDTH, Box, Point, box_of
from moot.whiteboard.state import Board, Element

OVERLAP = 0.3  # of the smaller
TOUCH = 6  # a line may end at the edge of a box, or a little way in
MOST_PROBLEMS = 8


def problems(board: Board) -> tuple[str, ...]:
    """List what overlaps, what is crossed by a line and what is off the canvas, the first few of them."""
    lines = [element for element in board.elements if isinstance(element.drawing, DrawLine)]
    boxes = [element for element in board.elements if not isinstance(element.drawing, DrawLine)]
    found = [
        *(_off_canvas(element) for element in board.elements),
        *(_overlap(one, other) for one, other in combinations(boxes, 2)),
        *(_crossing(line, box) for line in lines for box in boxes),
    ]
    return tuple(problem for problem in found if problem)[:MOST_PROBLEMS]


def _off_canvas(element: Element) -> str | None:
    box = box_of(element.drawing)
    if box.x >= 0 and box.y >= 0 and box.right <= CANVAS.right and box.bottom <= CANVAS.bottom:
        return None
    return (
        f"{element.id} is off the canvas ({_span(box)}): "
        f"keep x within 0 to {CANVAS.width} and y within 0 to {CANVAS.height}."
    )


def _overlap(one: Element, other: Element) -> str | None:
    first, second = box_of(one.drawing), box_of(other.drawing)
    if _labels(one, other) or _labels(other, one):
        return None
    part = first.shared(second) / min(first.area, second.area)
    if part < OVERLAP:
        return None
    return f"{one.id} and {other.id} overlap by {part:.0%} of the smaller: move one of them."


def _labels(words: Element, shape: Element) -> bool:
    """Words that lie wholly on a shape are its label, and meant to be there."""
    if words.kind not in {"text", "latex"} or shape.kind != "shape":
        return False
    inner, outer = box_of(words.drawing), box_of(shape.drawing)
    return inner.shared(outer) >= inner.area * 0.99


def _crossing(line: Element, element: Element) -> str | None:
    drawing = line.drawing
    if not isinstance(drawing, DrawLine):
        return None
    start, end = Point(drawing.start_x, drawing.start_y), Point(drawing.end_x, drawing.end_y)
    if not crosses(start, end, box_of(element.drawing).within(TOUCH)):
        return None
    return f"{line.id} goes through {element.id}: end it at the edge, or lead it around."


def crosses(start: Point, end: Point, box: Box) -> bool:
    """Tell whether a straight line goes through the inside of a box (after Liang and Barsky)."""
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


def _span(box: Box) -> str:
    return f"x {box.x:.0f} to {box.right:.0f}, y {box.y:.0f} to {box.bottom:.0f}"


CROWDED = 5  # more than so many are too many
SHOWN = 30
PREVIEW = 60
LINES_SHOWN = 40
LINE_LENGTH = 100
LONGEST = 8000  # characters: it is read with every turn
NOBODY: Mapping[str, str] = {}


def digest(board: Board, names: Mapping[str, str] = NOBODY) -> str:
    """Tell an agent how the board stands; `names` are those of the participants who drew, by their ids."""
    state = "open" if board.open else "closed"
    if not board.elements:
        return f"The whiteboard ({WIDTH} x {HEIGHT}) is {state} and empty."
    count = len(board.elements)
    told = [
        f"The whiteboard ({WIDTH} x {HEIGHT}) is {state}, with {count} element{'s' if count > 1 else ''}:"
    ]
    told += [_told(element, names) for element in board.elements[:SHOWN]]
    if count > SHOWN:
        told.append(f"- and {count - SHOWN} more")
    if count > CROWDED:
        told.append("It is crowded: delete or clear what is no longer needed before you draw more.")
    told += [f"Mend this: {problem}" for problem in problems(board)]
    return _cut("\n".join(told))


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}\n(There is more.)"


def _told(element: Element, names: Mapping[str, str]) -> str:
    by = f", by {names.get(element.by, element.by)}" if element.by else ""
    return f"- {element.id}: {_content(element)}, {_place(element)}{by}{_lines(element.listing)}"


def _content(element: Element) -> str:
    match drawing := element.drawing:
        case DrawText():
            return f'text "{_preview(drawing.content)}"'
        case DrawShape():
            return f"{drawing.shape} {drawing.fill_color}"
        case DrawChart():
            labels = f" over {_preview(', '.join(drawing.data.labels))}" if drawing.data.labels else ""
            return f"{drawing.chart_type} chart{labels}"
        case DrawLatex():
            return f"formula {_preview(drawing.latex)}"
        case DrawTable():
            rows, columns = len(drawing.data), max(len(row) for row in drawing.data)
            return f"table of {rows} x {columns}, headed {_preview(' | '.join(drawing.data[0]))}"
        case DrawLine():
            return "arrow" if "arrow" in drawing.points else "line"
        case DrawCode():
            named = _preview(drawing.file_name or drawing.language)
            return f"code {named}".rstrip()
        case _:
            assert_never(drawing)


def _place(element: Element) -> str:
    drawing = element.drawing
    if isinstance(drawing, DrawLine):
        return f"from ({drawing.start_x:.0f}, {drawing.start_y:.0f}) to ({drawing.end_x:.0f}, {drawing.end_y:.0f})"
    box = box_of(drawing)
    return f"at ({box.x:.0f}, {box.y:.0f}), {box.width:.0f} x {box.height:.0f}"


def _lines(listing: Listing) -> str:
    shown = [f"\n  {line.id}: {line.text[:LINE_LENGTH]}" for line in listing.lines[:LINES_SHOWN]]
    if len(listing.lines) > LINES_SHOWN:
        shown.append(f"\n  and on to {listing.lines[-1].id}")
    return "".join(shown)


def _preview(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW else f"{line[: PREVIEW - 1]}…"
