"""Short functions that make the events of a run."""

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

KEY_REJECTED = make_fault("auth", "Key rejected for openai (HTTP 401).")
CONNECTION_BROKE = make_fault("network", "The connection broke.")
HOSTILE_TEXT = "a\x1b[31mb\x1b]0;title\x07c\x9b2Jd\x08\x7fe\rf\tg\nh"
STRIPPED_TEXT = "a[31mb]0;titlec2Jdef\tg\nh"


class FakeTerminal(StringIO):
    """A terminal, as far as a reader can tell."""

    def isatty(self) -> bool:
        return True


def run_started(*models: str) -> Event:
    return RunStarted(participants=make_participants(models))


def round_started(round: int) -> Event:
    return StageStarted(stage="round", round=round)


def turn_started(participant: str, model: str = "a/one", attempt: int = 1) -> Event:
    return TurnStarted(participant=participant, stage="answer", round=0, attempt=attempt, model=model)


def text_delta(participant: str, text: str) -> Event:
    return TextDelta(participant=participant, stage="answer", round=0, text=text)


def thought_delta(participant: str, text: str) -> Event:
    return ThoughtDelta(participant=participant, stage="answer", round=0, text=text)


def text_retracted(participant: str) -> Event:
    return TextRetracted(participant=participant, stage="answer", round=0)


def notice_event(message: str, participant: str | None = None) -> Event:
    return Notice(kind="retry", message=message, participant=participant)


def turn_ended(
    participant: str,
    text: str = "",
    *,
    details: str = "",
    model: str = "a/one",
    status: TurnStatus = "completed",
    finish: FinishReason | None = "stop",
    error: Fault | None = None,
    usage: Usage | None = None,
    cost: float | None = 0.0,
    first_token: float | None = 0.5,
) -> TurnEnded:
    return TurnEnded(
        participant=participant,
        stage="answer",
        round=0,
        status=status,
        message=Answer(text, details=details),
        model=model,
        usage=usage or Usage(10, 20),
        cost_usd=cost,
        finish_reason=finish,
        fault=error,
        first_token_seconds=first_token,
        latency_seconds=2.0,
    )
