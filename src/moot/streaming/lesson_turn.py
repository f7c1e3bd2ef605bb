"""A turn in a lesson: an array in which speech and silent actions interleave, performed while it is written.

Speech is said as it grows; an action is taken when it is complete, or dropped with the reason, and the speech goes on.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import msgspec
from msgspec import Struct

from moot.streaming.json_array.parser import JsonArrayParser, ObjectItem, SpeechDelta, action_name_and_params
from moot.streaming.reasoning_tags import TextPiece
from moot.types.actions import Action, get_action_name, get_action_params, parse_action
from moot.types.errors import InvalidAction
from moot.types.modes import LessonRole
from moot.types.primitives import new_id
from moot.whiteboard.state import Board, apply_action, assign_element_id, find_action_problem


class ActionPerformed(Struct, frozen=True):
    id: str
    action: Action


class RejectedAction(Struct, frozen=True):
    """An action that is unknown, wrong or not allowed, and why it was not taken."""

    name: str
    reason: str


class SpeechItem(Struct, frozen=True, tag_field="type", tag="text"):
    content: str


class ActionItem(Struct, frozen=True, tag_field="type", tag="action"):
    name: str
    params: dict[str, object] = {}


LessonItem = SpeechItem | ActionItem


class LessonTurnParser:
    def __init__(self, role: LessonRole | None, board: Board) -> None:
        self.board = board
        self._role = role
        self._array_parser = JsonArrayParser()
        self._items: list[str | Action] = []

    def create_successor(self) -> "LessonTurnParser":
        """Begin another act on the board that this one leaves."""
        return LessonTurnParser(self._role, self.board)

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(line for line in self._items if isinstance(line, str))

    @property
    def lesson_items(self) -> str:
        """The array as it was performed; nothing, if nothing was."""
        return encode_lesson_items(self._items) if self._items else ""

    def feed(self, text: str) -> list[TextPiece | ActionPerformed | RejectedAction]:
        return [piece for one in self._array_parser.feed(text) for piece in self._process_piece(one)]

    def close(self) -> list[TextPiece | ActionPerformed | RejectedAction]:
        return [piece for one in self._array_parser.close() for piece in self._process_piece(one)]

    def _process_piece(
        self, piece: SpeechDelta | ObjectItem
    ) -> list[TextPiece | ActionPerformed | RejectedAction]:
        if isinstance(piece, SpeechDelta):
            text = piece.text.replace("\0", "")  # which no database keeps
            self._items += [text] if text else []
            return [TextPiece(text)] if text else []
        name, params = action_name_and_params(piece) or ("", {})
        try:
            action = assign_element_id(parse_action(name, params, self._role), self.board)
        except InvalidAction as refused:
            return [RejectedAction(name[:100], str(refused))]
        if (words := find_action_problem(self.board, action)) is not None:
            return [RejectedAction(name, words)]
        self.board = apply_action(self.board, action)
        self._items.append(action)
        return [ActionPerformed(new_id("act"), action)]


def encode_lesson_items(items: Sequence[str | Action]) -> str:
    """Write down what was performed as the array that it came from."""
    array: list[LessonItem] = []
    for _, neighbours in groupby(items, key=lambda line: isinstance(line, str)):
        run = list(neighbours)
        if speech := [line for line in run if isinstance(line, str)]:
            array.append(SpeechItem("".join(speech)))
        array += [
            ActionItem(get_action_name(line), get_action_params(line))
            for line in run
            if not isinstance(line, str)
        ]
    return msgspec.json.encode(array).decode()


def concatenate_lesson_items(first: str, second: str) -> str:
    """Put two arrays together."""
    lines = [
        line for one in (first, second) if one for line in msgspec.json.decode(one, type=list[msgspec.Raw])
    ]
    return msgspec.json.encode(lines).decode() if lines else ""


def extract_speech(array: str) -> str:
    """Return only the speech of an array, whole."""
    reader = JsonArrayParser()
    return "".join(one.text for one in [*reader.feed(array), *reader.close()] if isinstance(one, SpeechDelta))


@lru_cache(maxsize=4096)
def parse_lesson_actions(lesson_items: str) -> tuple[Action, ...]:
    """Read the actions of a turn out of what was kept of it: the same again with every turn that follows."""
    lines = msgspec.json.decode(lesson_items, type=list[LessonItem])
    return tuple(
        parse_action(line.name, line.params, "teacher") for line in lines if isinstance(line, ActionItem)
    )
