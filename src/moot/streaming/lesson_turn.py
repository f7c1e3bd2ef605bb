"""A turn in a lesson: an array in which speech and silent actions interleave, performed while it is written.

Speech is said as it grows; an action is taken when it is complete, or dropped with the reason, and the speech goes on.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import msgspec
from msgspec import Struct

from moot.streaming.json_array.parser import ArrayReader, Grown, Item, action_of
from moot.streaming.reasoning_tags import Said
from moot.types.actions import Action, name_of, params_of, read_action
from moot.types.errors import ActionRefused
from moot.types.modes import LessonRole
from moot.types.primitives import new_id
from moot.whiteboard.state import Board, after, settled, unknown_target


class Took(Struct, frozen=True):
    id: str
    action: Action


class Dropped(Struct, frozen=True):
    """An action that is unknown, wrong or not allowed, and why it was not taken."""

    name: str
    reason: str


class Speech(Struct, frozen=True, tag_field="type", tag="text"):
    content: str


class Deed(Struct, frozen=True, tag_field="type", tag="action"):
    name: str
    params: dict[str, object] = {}


Line = Speech | Deed


class Act:
    def __init__(self, role: LessonRole | None, board: Board) -> None:
        self.board = board
        self._role = role
        self._reader = ArrayReader()
        self._lines: list[str | Action] = []

    def sequel(self) -> "Act":
        """Begin another act on the board that this one leaves."""
        return Act(self._role, self.board)

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(line for line in self._lines if isinstance(line, str))

    @property
    def script(self) -> str:
        """The array as it was performed; nothing, if nothing was."""
        return written(self._lines) if self._lines else ""

    def feed(self, text: str) -> list[Said | Took | Dropped]:
        return [piece for one in self._reader.feed(text) for piece in self._performed(one)]

    def close(self) -> list[Said | Took | Dropped]:
        return [piece for one in self._reader.close() for piece in self._performed(one)]

    def _performed(self, one: Grown | Item) -> list[Said | Took | Dropped]:
        if isinstance(one, Grown):
            text = one.text.replace("\0", "")  # which no database keeps
            self._lines += [text] if text else []
            return [Said(text)] if text else []
        name, params = action_of(one) or ("", {})
        try:
            action = settled(read_action(name, params, self._role), self.board)
        except ActionRefused as refused:
            return [Dropped(name[:100], str(refused))]
        if (words := unknown_target(self.board, action)) is not None:
            return [Dropped(name, words)]
        self.board = after(self.board, action)
        self._lines.append(action)
        return [Took(new_id("act"), action)]


def written(lines: Sequence[str | Action]) -> str:
    """Write down what was performed as the array that it came from."""
    array: list[Line] = []
    for _, neighbours in groupby(lines, key=lambda line: isinstance(line, str)):
        run = list(neighbours)
        if speech := [line for line in run if isinstance(line, str)]:
            array.append(Speech("".join(speech)))
        array += [Deed(name_of(line), params_of(line)) for line in run if not isinstance(line, str)]
    return msgspec.json.encode(array).decode()


def both(script: str, more: str) -> str:
    """Put two arrays together."""
    lines = [
        line for one in (script, more) if one for line in msgspec.json.decode(one, type=list[msgspec.Raw])
    ]
    return msgspec.json.encode(lines).decode() if lines else ""


def spoken_in(array: str) -> str:
    """Return only the speech of an array, whole."""
    reader = ArrayReader()
    return "".join(one.text for one in [*reader.feed(array), *reader.close()] if isinstance(one, Grown))


@lru_cache(maxsize=4096)
def actions_of(script: str) -> tuple[Action, ...]:
    """Read the actions of a turn out of what was kept of it: the same again with every turn that follows."""
    lines = msgspec.json.decode(script, type=list[Line])
    return tuple(read_action(line.name, line.params, "teacher") for line in lines if isinstance(line, Deed))
