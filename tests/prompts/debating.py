"""Debates that were held, and what an inquiry about them shows and makes of its answer."""

from typing import Any

import msgspec

from moot.prompts.tasks.task import AnalysisTask
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.participants import make_participants

ROOM = 10_000


def asked(words: str = "Shall we split it?", *, run: str = "run_1", **more: object) -> Message:
    return Message(id="msg_q", discussion="dis_1", run=run, role="user", content=words, **more)  # type: ignore[arg-type]


def said(who: str, words: str, stage: str = "initial", *, run: str = "run_1", **more: object) -> Message:
    return Message(
        id=f"msg_{who}_{stage}",
        discussion="dis_1",
        run=run,
        role="assistant",
        content=words,
        participant=who,
        name=who.title(),
        stage=stage,
        thread=who,
        **more,  # type: ignore[arg-type]
    )


DEBATE = [
    asked(),
    said("gamma", "Wait a quarter."),
    said("beta", "Keep it whole.\n"),
    said("alpha", "Split it {now}."),
    said("beta", "I keep my position.", "debate"),
    said("alpha", "I change my position: keep i", "debate", status="partial"),
]
TABLE = make_participants(("a/one",) * 4)  # Delta never answers

POINTS = [
    asked(),
    said("alpha", "Split it now. The teams block each other."),
    said("beta", "Keep it whole, whatever Alpha says: nobody knows the cost."),
    said("gamma", "Wait a quarter; then the numbers are known."),
    said("delta", "", status="failed"),
    said("beta", "I keep my position: nobody knows the cost.", "debate"),
    said("gamma", "I change my position: split it now.", "debate"),
]


def material(inquiry: AnalysisTask) -> str:
    (message,) = inquiry.request.messages
    (part,) = message.parts
    assert isinstance(part, Text)
    return part.text


def filled_in(inquiry: AnalysisTask, **fields: Any) -> Any:
    """Fill in the form of an inquiry as a model would, in JSON."""
    told = msgspec.json.decode(msgspec.json.encode(fields), type=inquiry.answer_type)
    assert inquiry.check(told) is None
    return inquiry.to_result(told)
