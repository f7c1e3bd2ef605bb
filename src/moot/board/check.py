"""What is wrong with the layout of a board, in words that an agent can act upon."""

from itertools import combinations

from moot.board.canvas import CANVAS, Box, Point, box_of
from moot.board.replay import Board, Element
from moot.model.drawings import DrawLine

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
