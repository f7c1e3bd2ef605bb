"""Prompts of a directed discussion (lesson): role, answer format, whiteboard state and recent turns."""

from collections.abc import Mapping, Sequence

from moot.prompts.library import load_template, render_template
from moot.prompts.parts import PromptPiece
from moot.prompts.visibility import messages_visible_to_all
from moot.streaming.lesson_turn import encode_lesson_items as performed
from moot.streaming.lesson_turn import parse_lesson_actions
from moot.types.action_docs import describe_actions
from moot.types.actions import get_action_name
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.modes import PREVIEW_CHARACTERS
from moot.types.participants import LessonRole, Participant
from moot.types.run_plan import RunPlan
from moot.whiteboard.describe import describe_board
from moot.whiteboard.state import Board, RecordedAction, replay_actions

ANSWER_LENGTHS: Mapping[LessonRole | None, int] = {"teacher": 100, "assistant": 80, "student": 50, None: 80}
ROLE_TEMPLATES: Mapping[LessonRole | None, str] = {
    "teacher": "lesson_teacher",
    "assistant": "lesson_assistant",
    "student": "lesson_student",
    None: "lesson_anybody",
}


def lesson_identity(plan: RunPlan, participant: Participant) -> str:
    """Role, allowed actions and answer format for one participant."""
    others = [
        f"{other.name} ({other.role or 'participant'})"
        for other in plan.responding_participants
        if other.id != participant.id
    ]
    values = {
        "name": participant.name,
        "others": ", ".join(others),
        "part": load_template(ROLE_TEMPLATES[participant.role]),
        "topic": plan.directed.topic,
        "length": str(ANSWER_LENGTHS[participant.role]),
        "actions": describe_actions(participant.role),
    }
    return render_template("in_lesson", values)


def lesson_instructions(messages: Sequence[Message], run: str, participant: str, max_chars: int) -> str:  # noqa: ARG001 - shared signature
    """Whiteboard state, and the turns of other participants in this run."""
    others = [m for m in messages if m.run == run and m.participant not in {None, participant} and _is_valid_turn(m)]
    names = {m.participant: m.name for m in messages if m.participant and m.name}
    board = replay_messages(messages_visible_to_all(messages, [participant]))
    return render_lesson_state(board, [(m.name or "", m.content) for m in others if m.content.strip()], names)


def render_lesson_state(board: Board, peers: Sequence[tuple[str, str]], names: Mapping[str, str]) -> str:
    """`peers`: pairs of name and message text. `names`: participant id -> name."""
    previews = "\n".join(f"- {name}: {' '.join(words.split())[:PREVIEW_CHARACTERS]}" for name, words in peers)
    return render_template("now_in_lesson", {"board": describe_board(board, names), "peers": previews})


def replay_messages(messages: Sequence[Message]) -> Board:
    """Replay the actions of all turns that did not fail."""
    return replay_actions(board_entries(messages))


def board_entries(messages: Sequence[Message]) -> list[RecordedAction]:
    """Actions of all turns that did not fail, in message order."""
    return [
        RecordedAction(participant=m.participant, action=action)
        for m in messages
        if m.lesson_items and _is_valid_turn(m)
        for action in parse_lesson_actions(m.lesson_items)
    ]


def own_turn_pieces(message: Message) -> list[PromptPiece]:
    """Render the turn as the JSON array that the model wrote. An interrupted turn gets a note."""
    array = Text(message.lesson_items or performed([message.content]))
    spoken = PromptPiece("assistant", "own", array, message.name, message.id)
    if message.status == "completed":
        return [spoken]
    return [spoken, PromptPiece("user", "filler", Text(load_template("interrupted")))]


def turn_action_names(message: Message) -> tuple[str, ...]:
    """Return an empty tuple for a failed turn."""
    if not message.lesson_items or not _is_valid_turn(message):
        return ()
    return tuple(map(get_action_name, parse_lesson_actions(message.lesson_items)))


def _is_valid_turn(message: Message) -> bool:
    return message.status != "failed"
