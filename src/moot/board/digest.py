"""The board in a few words, for prompts: what is on it, where, by which id, and what is wrong with it."""

from collections.abc import Mapping
from typing import assert_never

from moot.board.canvas import HEIGHT, WIDTH, box_of
from moot.board.check import problems
from moot.board.code import Listing
from moot.board.replay import Board, Element
from moot.model.drawings import DrawChart, DrawCode, DrawLatex, DrawLine, DrawShape, DrawTable, DrawText

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
