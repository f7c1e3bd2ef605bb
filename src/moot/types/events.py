"""The events of a run: the one thing every reader (terminal, page, Discord, tests) consumes.

An event is made without its number; the log that takes it in stamps the run, the number and the time.
`TurnStarted` and `TextRetracted` tell readers to discard what they showed of that turn's text.
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from moot.types.actions import Action
from moot.types.billing import Charge
from moot.types.chunks import FinishReason, Usage
from moot.types.debate import DebateClaims, DebateSummary, Ranking
from moot.types.faults import Fault
from moot.types.participants import Participant
from moot.types.tools import ApprovalOutcome, ToolUse

TurnStatus = Literal["completed", "stopped", "interrupted", "partial", "failed"]
RunStatus = Literal["completed", "stopped", "interrupted", "failed"]
StopReason = Literal[
    "stopped_by_user", "follow_up_interrupt", "late", "over_cap"
]  # why a run, or a turn, is not let finish
NoticeKind = Literal[
    "retry",
    "waiting",
    "next_key",
    "fallback",
    "asked_again",
    "resumed",
    "gave_up",
    "retried",
    "lead_replaced",
    "agreed",
    "cap",
    "missing",
    "recap",
    "tools",
    "still_working",
]

ANSWERED_STATUSES: frozenset[TurnStatus] = frozenset(
    {"completed", "partial"}
)  # there are words that can be used
STATUS_BY_STOP_REASON: Mapping[StopReason, Literal["stopped", "interrupted", "failed"]] = {
    "stopped_by_user": "stopped",
    "follow_up_interrupt": "interrupted",
    "late": "failed",
    "over_cap": "stopped",
}


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class _Event(Struct, frozen=True, kw_only=True, tag_field="type", tag=_snake_case):
    run: str = ""
    seq: int = 0
    at: float = 0.0


class TurnKey(Struct, frozen=True):
    """Where in a run a turn takes place."""

    participant: str
    stage: str = "answer"
    round: int = 0


class _TurnEvent(_Event, frozen=True, kw_only=True):
    participant: str
    stage: str
    round: int

    @property
    def turn_key(self) -> TurnKey:
        return TurnKey(self.participant, self.stage, self.round)


class Answer(Struct, frozen=True):
    """What a participant said, with thoughts and details kept apart from the text.

    `script` is the array of speech and actions, as JSON, that it said it in, if that is how it speaks; `tools` is what
    it called on the way.
    """

    text: str = ""
    thoughts: str = ""
    details: str = ""
    script: str = ""
    tools: tuple[ToolUse, ...] = ()


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
    """The model wants to call a tool, `server/tool`; what comes of it is told as a `ToolReturned`."""

    call_id: str
    name: str
    arguments: str


class ApprovalWanted(_TurnEvent, frozen=True, kw_only=True):
    """The call has effects, and somebody is asked whether it may be made; `seconds` is how long.

    `again` is where a crash cut the turn off after it had called this tool: its effects may be there already.
    """

    call_id: str
    name: str
    seconds: float
    again: bool = False


class ApprovalGiven(_TurnEvent, frozen=True, kw_only=True, tag="approval"):
    """What became of the question; the call is made where the answer is to allow it."""

    call_id: str
    answer: ApprovalOutcome


class ToolReturned(_TurnEvent, frozen=True, kw_only=True, tag="tool_result"):
    """What came of a call, as far as it is shown; the model may have been told more of it."""

    call_id: str
    name: str
    content: str
    is_error: bool
    seconds: float


class ActionTaken(_TurnEvent, frozen=True, kw_only=True, tag="action"):
    """Something that was done beside speaking; it is void with the rest of its turn, where that begins anew or fails."""

    id: str
    action: Action


class ActionDropped(_TurnEvent, frozen=True, kw_only=True):
    """Something that could not be done, and why."""

    name: str
    reason: str


class Notice(_Event, frozen=True, kw_only=True):
    """Something the user should know and need not act upon; `charge` is what was paid for nothing."""

    kind: NoticeKind
    message: str
    participant: str | None = None
    charge: Charge | None = None


class TurnEnded(_TurnEvent, frozen=True, kw_only=True):
    """Cost is in US dollars, None where the price is unknown; times are seconds."""

    status: TurnStatus
    message: Answer
    model: str
    usage: Usage
    cost: float | None
    finish: FinishReason | None = None
    fault: Fault | None = None
    first_token: float | None = None
    latency: float = 0.0


class Prompted(_TurnEvent, frozen=True, kw_only=True):
    """A participant is told something that people are not shown unasked; `message` is its id."""

    message: str


class _AnalysisResult(_Event, frozen=True, kw_only=True):
    """Something that was found out in a run. `basis` is a digest of what was asked, and of all that it rests on."""

    basis: str
    model: str = ""
    usage: Usage = Usage()
    cost: float | None = 0.0


class Agreed(_AnalysisResult, frozen=True, kw_only=True):
    """Whether the first answers agree; `saved` is what the debate would have cost, about."""

    agree: bool
    reason: str
    saved: float | None = None


class SummaryMade(_AnalysisResult, frozen=True, kw_only=True, tag="summary"):
    summary: DebateSummary


class LedgerMade(_AnalysisResult, frozen=True, kw_only=True, tag="ledger"):
    ledger: DebateClaims


class BallotCast(_AnalysisResult, frozen=True, kw_only=True, tag="ballot"):
    """One participant's order of the others' answers, the best first, ties together."""

    participant: str
    order: tuple[tuple[str, ...], ...]


class RankingMade(_AnalysisResult, frozen=True, kw_only=True, tag="ranking"):
    ranking: Ranking


class Decided(_AnalysisResult, frozen=True, kw_only=True, tag="decision"):
    """Who has the word in a turn, and why: a participant's id, the user (who is asked to speak) or nobody any more."""

    turn: int
    next: str
    reason: str
    by: Literal["rules", "model"] = "rules"


class Recapped(_AnalysisResult, frozen=True, kw_only=True, tag="recap"):
    """The `message` refers to another `discussion` by its `title`, and comes with a `recap` of it, here an id."""

    message: str
    title: str
    discussion: str
    recap: str


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
    | ApprovalWanted
    | ApprovalGiven
    | ToolReturned
    | ActionTaken
    | ActionDropped
    | Notice
    | TurnEnded
    | Prompted
    | Agreed
    | SummaryMade
    | LedgerMade
    | BallotCast
    | RankingMade
    | Decided
    | Recapped
    | RunEnded
)
AnalysisResult = Agreed | SummaryMade | LedgerMade | BallotCast | RankingMade | Decided | Recapped
ANALYSIS_RESULTS = (Agreed, SummaryMade, LedgerMade, BallotCast, RankingMade, Decided, Recapped)
