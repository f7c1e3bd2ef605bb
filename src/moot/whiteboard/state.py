"""The state of a whiteboard, computed by replaying its actions."""

from collections.abc import Iterable
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from moot.types.actions import Action, name_of
from moot.types.drawing import ID_LENGTH, Clear, Close, Delete, Draw, DrawCode, Drawing, EditCode, Open
from moot.types.events import ActionTaken, Event, Seat, TextRetracted, TurnEnded, TurnStarted
from moot.whiteboard.code_listing import Listing, edited, listed, objection

MOST_ELEMENTS = 100


class Element(Struct, frozen=True, kw_only=True):
    """Something that was drawn, by whom if that is known; `listing` is there for code only."""

    id: str
    drawing: Drawing
    by: str | None = None
    listing: Listing = Listing()

    @property
    def kind(self) -> str:
        return kind_of(self.drawing)


class Board(Struct, frozen=True, kw_only=True):
    open: bool = False
    elements: tuple[Element, ...] = ()

    def element(self, id: str) -> Element | None:
        return next((element for element in self.elements if element.id == id), None)


EMPTY = Board()


class Entry(Struct, frozen=True, kw_only=True):
    """A line of the ledger: what somebody did, settled."""

    by: str | None = None
    action: Action


def kind_of(drawing: Drawing) -> str:
    return name_of(drawing).removeprefix("wb_draw_")


def settled(action: Action, board: Board) -> Action:
    """Give what is to be drawn on this board an id that is free there; this is the action to be kept."""
    return _identified(action, board) if isinstance(action, Draw) else action


def unknown_target(board: Board, action: Action) -> str | None:
    """Say why an action would change nothing here, in words that help whoever wanted it; None where it would."""
    match action:
        case Delete():
            return _absent(board, action.element_id)
        case EditCode():
            return _absent(board, action.element_id) or _uneditable(board, action)
        case Draw() if len(board.elements) >= MOST_ELEMENTS:
            return f"The whiteboard is full with {MOST_ELEMENTS} elements. Delete some, or clear it."
        case _:
            return None


def after(board: Board, action: Action, by: str | None = None) -> Board:
    """Do one action. Drawing opens the board; what finds nothing to work on changes nothing."""
    match action:
        case Open():
            return replace(board, open=True)
        case Close():
            return replace(board, open=False)
        case Clear():
            return replace(board, elements=())
        case Delete():
            return replace(
                board, elements=tuple(one for one in board.elements if one.id != action.element_id)
            )
        case EditCode():
            return replace(board, elements=tuple(_edited(one, action) for one in board.elements))
        case Draw() if len(board.elements) < MOST_ELEMENTS:
            return Board(open=True, elements=(*board.elements, _drawn(action, board, by)))
        case _:  # what is done with a slide
            return board


def replayed(ledger: Iterable[Entry], board: Board = EMPTY) -> Board:
    """Do what a ledger says, one after the other, beginning with an empty board or with the one before."""
    return reduce(lambda so_far, entry: after(so_far, entry.action, entry.by), ledger, board)


def _drawn(drawing: Drawing, board: Board, by: str | None) -> Element:
    action = _identified(drawing, board)
    listing = listed(action.code) if isinstance(action, DrawCode) else Listing()
    return Element(id=action.element_id or "", drawing=action, by=by, listing=listing)


def _identified(drawing: Drawing, board: Board) -> Drawing:
    taken = {element.id for element in board.elements}
    wanted = drawing.element_id or _next_of(kind_of(drawing), taken)
    return replace(drawing, element_id=_free(wanted, taken))


def _absent(board: Board, id: str) -> str | None:
    if board.element(id):
        return None
    there = ", ".join(element.id for element in board.elements) or "nothing"
    return f"There is no element {id} on the whiteboard; there is {there}."


def _uneditable(board: Board, edit: EditCode) -> str | None:
    element = board.element(edit.element_id)
    if element is None or not isinstance(element.drawing, DrawCode):
        return f"{edit.element_id} is no code. Delete it and draw it anew."
    why = objection(element.listing, edit)
    return f"{edit.element_id} {why}" if why else None


def _edited(element: Element, edit: EditCode) -> Element:
    if element.id != edit.element_id or not isinstance(element.drawing, DrawCode):
        return element
    listing = edited(element.listing, edit)
    code = "\n".join(line.text for line in listing.lines)
    return replace(element, listing=listing, drawing=replace(element.drawing, code=code))


def _next_of(kind: str, taken: Iterable[str]) -> str:
    numbers = (id.removeprefix(f"{kind}-") for id in taken if id.startswith(f"{kind}-"))
    highest = max((int(number) for number in numbers if number.isdecimal() and len(number) < 6), default=0)
    return f"{kind}-{highest + 1}"


def _free(wanted: str, taken: Iterable[str]) -> str:
    if wanted not in taken:
        return wanted
    suffixed = (f"{wanted[: ID_LENGTH - 4]}-{number}" for number in range(2, MOST_ELEMENTS + 3))
    return next(id for id in suffixed if id not in taken)


ACTS = (TurnStarted, ActionTaken, TextRetracted, TurnEnded)  # all that tells what was drawn


def drawn(events: Iterable[Event]) -> list[Entry]:
    """List what was done in a run; a turn that began anew or failed has done nothing."""
    done: list[tuple[Seat, Entry]] = []
    for event in events:
        match event:
            case ActionTaken(action=action):
                done.append((event.seat, Entry(by=event.participant, action=action)))
            case TurnStarted() | TextRetracted() | TurnEnded(status="failed"):
                done = [one for one in done if one[0] != event.seat]
            case _:
                pass
    return [entry for _, entry in done]
