"""The state of a whiteboard, computed by replaying its actions."""

from collections.abc import Iterable
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from moot.types.actions import Action, get_action_name
from moot.types.drawing import (
    MAX_ELEMENT_ID_LENGTH,
    ClearWhiteboard,
    CloseWhiteboard,
    DeleteElement,
    Draw,
    DrawAction,
    DrawCode,
    EditCode,
    OpenWhiteboard,
)
from moot.types.events import ActionTaken
from moot.whiteboard.code_listing import CodeListing, create_listing, edit_listing, find_edit_problem

MAX_ELEMENTS = 100


class Element(Struct, frozen=True, kw_only=True):
    """An element on the whiteboard."""

    id: str
    drawing: DrawAction
    participant: str | None = None  # participant id; None: unknown
    listing: CodeListing = CodeListing()  # empty unless it is a code element

    @property
    def kind(self) -> str:
        return drawing_kind(self.drawing)


class Board(Struct, frozen=True, kw_only=True):
    open: bool = False
    elements: tuple[Element, ...] = ()

    def find_element(self, id: str) -> Element | None:
        return next((element for element in self.elements if element.id == id), None)


EMPTY_BOARD = Board()


class RecordedAction(Struct, frozen=True, kw_only=True):
    """An entry of the action log, with its element id assigned."""

    participant: str | None = None  # participant id; None: unknown
    action: Action


def drawing_kind(drawing: DrawAction) -> str:
    return get_action_name(drawing).removeprefix("wb_draw_")


def assign_element_id(action: Action, board: Board) -> Action:
    """Return the action to store. Draw actions get an id that is unused on this board."""
    return _with_element_id(action, board) if isinstance(action, Draw) else action


def find_action_problem(board: Board, action: Action) -> str | None:
    """Return an error message if the action would have no effect; None if it is valid."""
    match action:
        case DeleteElement():
            return _missing_element_problem(board, action.element_id)
        case EditCode():
            return _missing_element_problem(board, action.element_id) or _edit_code_problem(board, action)
        case Draw() if len(board.elements) >= MAX_ELEMENTS:
            return f"The whiteboard is full with {MAX_ELEMENTS} elements. Delete some, or clear it."
        case _:
            return None


def apply_action(board: Board, action: Action, participant: str | None = None) -> Board:
    """Return the new state. Draw actions open the board; actions on unknown element ids have no effect."""
    match action:
        case OpenWhiteboard():
            return replace(board, open=True)
        case CloseWhiteboard():
            return replace(board, open=False)
        case ClearWhiteboard():
            return replace(board, elements=())
        case DeleteElement():
            return replace(board, elements=tuple(one for one in board.elements if one.id != action.element_id))
        case EditCode():
            return replace(board, elements=tuple(_edit_element(one, action) for one in board.elements))
        case Draw() if len(board.elements) < MAX_ELEMENTS:
            return Board(open=True, elements=(*board.elements, _create_element(action, board, participant)))
        case _:  # slide actions, or the board is full
            return board


def replay_actions(actions: Iterable[RecordedAction | ActionTaken], board: Board = EMPTY_BOARD) -> Board:
    """Apply actions in order, starting from `board`."""
    return reduce(lambda state, entry: apply_action(state, entry.action, entry.participant), actions, board)


def _create_element(drawing: DrawAction, board: Board, participant: str | None) -> Element:
    action = _with_element_id(drawing, board)
    listing = create_listing(action.code) if isinstance(action, DrawCode) else CodeListing()
    return Element(id=action.element_id or "", drawing=action, participant=participant, listing=listing)


def _with_element_id(drawing: DrawAction, board: Board) -> DrawAction:
    taken = {element.id for element in board.elements}
    wanted = drawing.element_id or _next_element_id(drawing_kind(drawing), taken)
    return replace(drawing, element_id=_unused_element_id(wanted, taken))


def _missing_element_problem(board: Board, id: str) -> str | None:
    if board.find_element(id):
        return None
    existing = ", ".join(element.id for element in board.elements) or "nothing"
    return f"There is no element {id} on the whiteboard; there is {existing}."


def _edit_code_problem(board: Board, edit: EditCode) -> str | None:
    element = board.find_element(edit.element_id)
    if element is None or not isinstance(element.drawing, DrawCode):
        return f"{edit.element_id} is not a code element. Delete it and draw it again."
    problem = find_edit_problem(element.listing, edit)
    return f"{edit.element_id} {problem}" if problem else None


def _edit_element(element: Element, edit: EditCode) -> Element:
    if element.id != edit.element_id or not isinstance(element.drawing, DrawCode):
        return element
    listing = edit_listing(element.listing, edit)
    code = "\n".join(line.text for line in listing.lines)
    return replace(element, listing=listing, drawing=replace(element.drawing, code=code))


def _next_element_id(kind: str, used_ids: Iterable[str]) -> str:
    numbers = (id.removeprefix(f"{kind}-") for id in used_ids if id.startswith(f"{kind}-"))
    highest = max((int(number) for number in numbers if number.isdecimal() and len(number) < 6), default=0)
    return f"{kind}-{highest + 1}"


def _unused_element_id(preferred: str, used_ids: Iterable[str]) -> str:
    if preferred not in used_ids:
        return preferred
    suffixed = (f"{preferred[: MAX_ELEMENT_ID_LENGTH - 4]}-{number}" for number in range(2, MAX_ELEMENTS + 3))
    return next(id for id in suffixed if id not in used_ids)
