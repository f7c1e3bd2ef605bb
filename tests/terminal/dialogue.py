"""The events of a run, said briefly, so that a test of a reader reads as a dialogue."""

from io import StringIO

from moot.types.chunks import FinishReason, Usage
from moot.types.events import (
    Answer,
    Event,
    Notice,
    RunStarted,
    StageStarted,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.types.faults import Fault, make_fault
from moot.types.participants import make_participants

REJECTED = make_fault("auth", "Key rejected for openai (HTTP 401).")
BROKE = make_fault("network", "The connection broke.")
HOSTILE = "a\x1b[31mb\x1b]0;title\x07c\x9b2Jd\x08\x7fe\rf\tg\nh"
HARMLESS = "a[31mb]0;titlec2Jdef\tg\nh"


class Screen(StringIO):
    """A terminal, as far as a reader can tell."""

    def isatty(self) -> bool:
        return True


def sits_down(*models: str) -> Event:
    return RunStarted(participants=make_participants(models))


def opens(round: int) -> Event:
    return StageStarted(stage="round", round=round)


def begins(who: str, model: str = "a/one", attempt: int = 1) -> Event:
    return TurnStarted(participant=who, stage="answer", round=0, attempt=attempt, model=model)


def says(who: str, text: str) -> Event:
    return TextDelta(participant=who, stage="answer", round=0, text=text)


def thinks(who: str, text: str) -> Event:
    return ThoughtDelta(participant=who, stage="answer", round=0, text=text)


def retracts(who: str) -> Event:
    return TextRetracted(participant=who, stage="answer", round=0)


def notice(message: str, who: str | None = None) -> Event:
    return Notice(kind="retry", message=message, participant=who)


def ends(
    who: str,
    text: str = "",
    *,
    details: str = "",
    model: str = "a/one",
    status: TurnStatus = "completed",
    finish: FinishReason | None = "stop",
    trouble: Fault | None = None,
    usage: Usage | None = None,
    cost: float | None = 0.0,
    first_token: float | None = 0.5,
) -> TurnEnded:
    return TurnEnded(
        participant=who,
        stage="answer",
        round=0,
        status=status,
        message=Answer(text, details=details),
        model=model,
        usage=usage or Usage(10, 20),
        cost=cost,
        finish=finish,
        fault=trouble,
        first_token=first_token,
        latency=2.0,
    )
