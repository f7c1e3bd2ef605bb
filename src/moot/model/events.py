"""The events of a run: the one thing every reader (terminal, page, Discord, tests) consumes.

An event is made without its number; the log that takes it in stamps the run, the number and the time.
`TurnStarted` and `TextRetracted` tell readers to discard what they showed of that turn's text.
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from moot.model.chunks import Finish, Usage
from moot.model.faults import Fault
from moot.model.participants import Participant

TurnStatus = Literal["completed", "stopped", "interrupted", "partial", "failed"]
RunStatus = Literal["completed", "stopped", "interrupted", "failed"]
Reason = Literal["stopped_by_user", "follow_up_interrupt"]  # why a run, or a turn, is not let finish
NoticeKind = Literal["retry", "waiting", "next_key", "fallback", "asked_again", "resumed", "gave_up"]

ENDED_BY: Mapping[Reason, Literal["stopped", "interrupted"]] = {
    "stopped_by_user": "stopped",
    "follow_up_interrupt": "interrupted",
}


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class _Event(Struct, frozen=True, kw_only=True, tag_field="type", tag=_snake_case):
    run: str = ""
    seq: int = 0
    at: float = 0.0


class Seat(Struct, frozen=True):
    """Where in a run a turn takes place."""

    participant: str
    stage: str = "answer"
    round: int = 0


class _TurnEvent(_Event, frozen=True, kw_only=True):
    participant: str
    stage: str
    round: int

    @property
    def seat(self) -> Seat:
        return Seat(self.participant, self.stage, self.round)


class Answer(Struct, frozen=True):
    """What a participant said, with thoughts and details kept apart from the text."""

    text: str = ""
    thoughts: str = ""
    details: str = ""


class RunStarted(_Event, frozen=True, kw_only=True):
    participants: tuple[Participant, ...]


class StageStarted(_Event, frozen=True, kw_only=True):
    stage: str
    round: int = 0


class TurnStarted(_TurnEvent, frozen=True, kw_only=True):
    """`model` is asked for the `attempt`-th time in this turn; earlier text of the turn is void."""

    attempt: int
    model: str


class TextDelta(_TurnEvent, frozen=True, kw_only=True):
    text: str


class ThoughtDelta(_TurnEvent, frozen=True, kw_only=True):
    text: str


class TextRetracted(_TurnEvent, frozen=True, kw_only=True):
    """The turn's text so far turned out to be thought; it comes again as `ThoughtDelta`."""


class ToolCalled(_TurnEvent, frozen=True, kw_only=True, tag="tool_call"):
    call_id: str
    name: str
    arguments: str


class Notice(_Event, frozen=True, kw_only=True):
    """Something the user should know and need not act upon."""

    kind: NoticeKind
    message: str
    participant: str | None = None


class TurnEnded(_TurnEvent, frozen=True, kw_only=True):
    """Cost is in US dollars, None where the price is unknown; times are seconds."""

    status: TurnStatus
    message: Answer
    model: str
    usage: Usage
    cost: float | None
    finish: Finish | None = None
    fault: Fault | None = None
    first_token: float | None = None
    latency: float = 0.0


class RunEnded(_Event, frozen=True, kw_only=True):
    status: RunStatus


Event = (
    RunStarted
    | StageStarted
    | TurnStarted
    | TextDelta
    | ThoughtDelta
    | TextRetracted
    | ToolCalled
    | Notice
    | TurnEnded
    | RunEnded
)
