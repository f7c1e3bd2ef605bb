"""Sample debates, and helpers for analysis tasks about them."""

from typing import Any

import msgspec

from moot.prompts.tasks.task import AnalysisTask
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.participants import make_participants

MAX_CHARS = 10_000


def make_user_message(text: str = "Shall we split it?", *, run: str = "run_1", **fields: object) -> Message:
    return Message(id="msg_q", discussion="dis_1", run=run, role="user", content=text, **fields)  # type: ignore[arg-type]


def make_answer(
    participant_id: str, text: str, stage: str = "initial", *, run: str = "run_1", **fields: object
) -> Message:
    return Message(
        id=f"msg_{participant_id}_{stage}",
        discussion="dis_1",
        run=run,
        role="assistant",
        content=text,
        participant=participant_id,
        name=participant_id.title(),
        stage=stage,
        thread=participant_id,
        **fields,  # type: ignore[arg-type]
    )


DEBATE_MESSAGES = [
    make_user_message(),
    make_answer("gamma", "Wait a quarter."),
    make_answer("beta", "Keep it whole.\n"),
    make_answer("alpha", "Split it {now}."),
    make_answer("beta", "I keep my position.", "debate"),
    make_answer("alpha", "I change my position: keep i", "debate", status="partial"),
]
FOUR_PARTICIPANTS = make_participants(("a/one",) * 4)  # Delta never answers

MESSAGES_WITH_CLAIMS = [
    make_user_message(),
    make_answer("alpha", "Split it now. The teams block each other."),
    make_answer("beta", "Keep it whole, whatever Alpha says: nobody knows the cost."),
    make_answer("gamma", "Wait a quarter; then the numbers are known."),
    make_answer("delta", "", status="failed"),
    make_answer("beta", "I keep my position: nobody knows the cost.", "debate"),
    make_answer("gamma", "I change my position: split it now.", "debate"),
]


def task_material(task: AnalysisTask) -> str:
    (message,) = task.request.messages
    (part,) = message.parts
    assert isinstance(part, Text)
    return part.text


def task_result(task: AnalysisTask, **fields: Any) -> Any:
    """Return the result of a task for an answer with these fields, in JSON as a model writes it."""
    answer = msgspec.json.decode(msgspec.json.encode(fields), type=task.answer_type)
    assert task.check(answer) is None
    return task.to_result(answer)
