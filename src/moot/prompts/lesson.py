"""What the agents of a directed discussion are told: how to answer, what is on the board, and what the others just said."""

from collections.abc import Mapping, Sequence

from moot.prompts.parts import Piece
from moot.prompts.templates import filled, written
from moot.prompts.visibility import shared
from moot.streaming.lesson_turn import actions_of
from moot.streaming.lesson_turn import written as performed
from moot.types.action_docs import described
from moot.types.actions import name_of
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.modes import PREVIEW, LessonRole
from moot.types.participants import Participant
from moot.types.run_plan import Plan
from moot.whiteboard.describe import digest
from moot.whiteboard.state import Board, Entry, replayed

LENGTHS: Mapping[LessonRole | None, int] = {"teacher": 100, "assistant": 80, "student": 50, None: 80}
PARTS: Mapping[LessonRole | None, str] = {
    "teacher": "lesson_teacher",
    "assistant": "lesson_assistant",
    "student": "lesson_student",
    None: "lesson_anybody",
}


def lesson(plan: Plan, who: Participant) -> str:
    """Say who one is, what one may do, and in which form to answer."""
    others = [
        f"{other.name} ({other.role or 'participant'})" for other in plan.speaking if other.id != who.id
    ]
    values = {
        "name": who.name,
        "others": ", ".join(others),
        "part": written(PARTS[who.role]),
        "topic": plan.directed.topic,
        "length": str(LENGTHS[who.role]),
        "actions": described(who.role),
    }
    return filled("in_lesson", values)


def now_in_lesson(said: Sequence[Message], run: str, participant: str, room: int) -> str:  # noqa: ARG001 - a Brief
    """Tell somebody what is on the board, and what the others have said since the user spoke."""
    others = [m for m in said if m.run == run and m.participant not in {None, participant} and _counts(m)]
    names = {m.participant: m.name for m in said if m.participant and m.name}
    board = board_of(shared(said, [participant]))
    return now(board, [(m.name or "", m.content) for m in others if m.content.strip()], names)


def now(board: Board, peers: Sequence[tuple[str, str]], names: Mapping[str, str]) -> str:
    """Say how things stand at the beginning of a turn; `peers` are names, and what they said."""
    previews = "\n".join(f"- {name}: {' '.join(words.split())[:PREVIEW]}" for name, words in peers)
    return filled("now_in_lesson", {"board": digest(board, names), "peers": previews})


def board_of(said: Sequence[Message]) -> Board:
    """Replay all that was drawn; what a turn did that failed is void."""
    return replayed(acts_of(said))


def acts_of(said: Sequence[Message]) -> list[Entry]:
    """List what was done in turns that count."""
    return [
        Entry(by=m.participant, action=action)
        for m in said
        if m.script and _counts(m)
        for action in actions_of(m.script)
    ]


def own_turn(message: Message) -> list[Piece]:
    """Give somebody its own turn back as the array that it wrote, and say where it was interrupted."""
    array = Text(message.script or performed([message.content]))
    spoken = Piece("assistant", "own", array, message.name, message.id)
    if message.status == "completed":
        return [spoken]
    return [spoken, Piece("user", "filler", Text(written("interrupted")))]


def actions_in(message: Message) -> tuple[str, ...]:
    """Name what somebody did in a turn."""
    if not message.script or not _counts(message):
        return ()
    return tuple(map(name_of, actions_of(message.script)))


def _counts(message: Message) -> bool:
    return message.status != "failed"
