"""What the agents of a directed discussion are told: how to answer, what is on the board, and what the others just said."""

from collections.abc import Mapping, Sequence

from moot.prompts.parts import PromptPiece
from moot.prompts.templates import load_template, render_template
from moot.prompts.visibility import messages_visible_to_all
from moot.streaming.lesson_turn import encode_lesson_items as performed
from moot.streaming.lesson_turn import parse_lesson_actions
from moot.types.action_docs import describe_actions
from moot.types.actions import get_action_name
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.modes import PREVIEW_CHARACTERS, LessonRole
from moot.types.participants import Participant
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
    """Say who one is, what one may do, and in which form to answer."""
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


def lesson_instructions(messages: Sequence[Message], run: str, participant: str, max_chars: int) -> str:  # noqa: ARG001 - a Brief
    """Tell somebody what is on the board, and what the others have said since the user spoke."""
    others = [
        m for m in messages if m.run == run and m.participant not in {None, participant} and _is_valid_turn(m)
    ]
    names = {m.participant: m.name for m in messages if m.participant and m.name}
    board = replay_messages(messages_visible_to_all(messages, [participant]))
    return render_lesson_state(board, [(m.name or "", m.content) for m in others if m.content.strip()], names)


def render_lesson_state(board: Board, peers: Sequence[tuple[str, str]], names: Mapping[str, str]) -> str:
    """Say how things stand at the beginning of a turn; `peers` are names, and what they said."""
    previews = "\n".join(f"- {name}: {' '.join(words.split())[:PREVIEW_CHARACTERS]}" for name, words in peers)
    return render_template("now_in_lesson", {"board": describe_board(board, names), "peers": previews})


def replay_messages(messages: Sequence[Message]) -> Board:
    """Replay all that was drawn; what a turn did that failed is void."""
    return replay_actions(board_entries(messages))


def board_entries(messages: Sequence[Message]) -> list[RecordedAction]:
    """List what was done in turns that count."""
    return [
        RecordedAction(participant=m.participant, action=action)
        for m in messages
        if m.script and _is_valid_turn(m)
        for action in parse_lesson_actions(m.script)
    ]


def own_turn_pieces(message: Message) -> list[PromptPiece]:
    """Give somebody its own turn back as the array that it wrote, and say where it was interrupted."""
    array = Text(message.script or performed([message.content]))
    spoken = PromptPiece("assistant", "own", array, message.name, message.id)
    if message.status == "completed":
        return [spoken]
    return [spoken, PromptPiece("user", "filler", Text(load_template("interrupted")))]


def turn_action_names(message: Message) -> tuple[str, ...]:
    """Name what somebody did in a turn."""
    if not message.script or not _is_valid_turn(message):
        return ()
    return tuple(map(get_action_name, parse_lesson_actions(message.script)))


def _is_valid_turn(message: Message) -> bool:
    return message.status != "failed"
