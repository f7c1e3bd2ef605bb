"""Parser for a lesson turn: a JSON array of speech and whiteboard actions, applied while it streams.

Speech streams as text. An action is applied when its object is complete, or rejected with a reason.
A rejected action does not end the turn.
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
from moot.types.participants import LessonRole
from moot.types.primitives import new_id
from moot.whiteboard.state import Board, apply_action, assign_element_id, find_action_problem


class ActionPerformed(Struct, frozen=True):
    id: str
    action: Action


class RejectedAction(Struct, frozen=True):
    """An action that is unknown, invalid or not allowed for the role. Users see the reason."""

    name: str
    reason: str


class SpeechItem(Struct, frozen=True, tag_field="type", tag="text"):
    content: str


class ActionItem(Struct, frozen=True, tag_field="type", tag="action"):
    name: str
    params: dict[str, object] = {}


LessonItem = SpeechItem | ActionItem


class LessonTurnParser:
    """Parses one turn, and applies its actions to `board`."""

    def __init__(self, role: LessonRole | None, board: Board) -> None:
        self.board = board
        self._role = role
        self._array_parser = JsonArrayParser()
        self._items: list[str | Action] = []

    def create_successor(self) -> "LessonTurnParser":
        """Return a new parser that starts with the board of this one."""
        return LessonTurnParser(self._role, self.board)

    @property
    def text(self) -> str:
        """The speech, without actions."""
        return "".join(line for line in self._items if isinstance(line, str))

    @property
    def lesson_items(self) -> str:
        """The accepted items as a JSON array; an empty string if there are none."""
        return encode_lesson_items(self._items) if self._items else ""

    def feed(self, text: str) -> list[TextPiece | ActionPerformed | RejectedAction]:
        return [piece for one in self._array_parser.feed(text) for piece in self._process_piece(one)]

    def close(self) -> list[TextPiece | ActionPerformed | RejectedAction]:
        return [piece for one in self._array_parser.close() for piece in self._process_piece(one)]

    def _process_piece(self, piece: SpeechDelta | ObjectItem) -> list[TextPiece | ActionPerformed | RejectedAction]:
        if isinstance(piece, SpeechDelta):
            text = piece.text.replace("\0", "")  # PostgreSQL rejects NUL in a string
            self._items += [text] if text else []
            return [TextPiece(text)] if text else []
        name, params = action_name_and_params(piece) or ("", {})
        try:
            action = assign_element_id(parse_action(name, params, self._role), self.board)
        except InvalidAction as error:
            return [RejectedAction(name[:100], str(error))]
        if (problem := find_action_problem(self.board, action)) is not None:
            return [RejectedAction(name, problem)]
        self.board = apply_action(self.board, action)
        self._items.append(action)
        return [ActionPerformed(new_id("act"), action)]


def encode_lesson_items(items: Sequence[str | Action]) -> str:
    """Serialize to the JSON format that the model writes. Adjacent strings become one text item."""
    array: list[LessonItem] = []
    for _, neighbours in groupby(items, key=lambda line: isinstance(line, str)):
        run = list(neighbours)
        if speech := [line for line in run if isinstance(line, str)]:
            array.append(SpeechItem("".join(speech)))
        array += [
            ActionItem(get_action_name(line), get_action_params(line)) for line in run if not isinstance(line, str)
        ]
    return msgspec.json.encode(array).decode()


def concatenate_lesson_items(first: str, second: str) -> str:
    """Concatenate two serialized arrays; each may be an empty string."""
    lines = [line for one in (first, second) if one for line in msgspec.json.decode(one, type=list[msgspec.Raw])]
    return msgspec.json.encode(lines).decode() if lines else ""


def extract_speech(array: str) -> str:
    parser = JsonArrayParser()
    return "".join(one.text for one in [*parser.feed(array), *parser.close()] if isinstance(one, SpeechDelta))


@lru_cache(maxsize=4096)  # each later turn of the lesson parses the same strings again
def parse_lesson_actions(lesson_items: str) -> tuple[Action, ...]:
    """Parse stored items. The role is not checked again: `teacher` may use every action."""
    lines = msgspec.json.decode(lesson_items, type=list[LessonItem])
    return tuple(parse_action(line.name, line.params, "teacher") for line in lines if isinstance(line, ActionItem))
