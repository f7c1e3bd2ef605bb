"""Events of a run: the stream that all clients (terminal, page, Discord, tests) consume.

The event writer sets `run`, `seq` and `at`; code that creates an event leaves the default values.
On `TurnStarted` and `TextRetracted` a client discards the text of that turn.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import UNSET, Struct, UnsetType

from moot.types.actions import Action
from moot.types.billing import Charge
from moot.types.chunks import FinishReason, Usage
from moot.types.debate import DebateClaims, DebateSummary, Ranking
from moot.types.faults import Fault
from moot.types.participants import Participant
from moot.types.tools import ApprovalOutcome, ToolUse

TurnStatus = Literal["completed", "stopped", "interrupted", "partial", "failed"]
RunStatus = Literal["completed", "stopped", "interrupted", "failed"]
StopReason = Literal["stopped_by_user", "follow_up_interrupt", "late", "max_cost"]  # why a run or a turn was cancelled
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
    "max_cost",
    "missing",
    "reference_summary",
    "tools",
    "still_working",
]

ANSWERED_STATUSES: frozenset[TurnStatus] = frozenset({"completed", "partial"})  # the message has usable text
STATUS_BY_STOP_REASON: Mapping[StopReason, Literal["stopped", "interrupted", "failed"]] = {
    "stopped_by_user": "stopped",
    "follow_up_interrupt": "interrupted",
    "late": "failed",
    "max_cost": "stopped",
}


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class _Event(Struct, frozen=True, kw_only=True, tag_field="type", tag=_snake_case):
    run: str = ""
    seq: int = 0
    at: float = 0.0


class TurnKey(Struct, frozen=True):
    """Identifies a turn within a run."""

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
    """Parsed response of a participant."""

    text: str = ""
    thoughts: str = ""
    details: str = ""  # `<details>` blocks, removed from `text`
    lesson_items: str = ""  # directed mode: JSON array of text and action objects
    tools: tuple[ToolUse, ...] = ()  # tool calls of the turn


class RunStarted(_Event, frozen=True, kw_only=True):
    participants: tuple[Participant, ...]
    regenerates: str | UnsetType = UNSET  # id of the answer that the run makes a new version of


class StageStarted(_Event, frozen=True, kw_only=True):
    stage: str
    round: int = 0


class TurnStarted(_TurnEvent, frozen=True, kw_only=True):
    """A request to a model starts. Text of earlier attempts in this turn is void."""

    attempt: int  # from 1, counts retries and fallback models
    model: str


class TextDelta(_TurnEvent, frozen=True, kw_only=True):
    text: str


class ThoughtDelta(_TurnEvent, frozen=True, kw_only=True):
    text: str


class TextRetracted(_TurnEvent, frozen=True, kw_only=True):
    """The text of this turn was reasoning. `ThoughtDelta` events repeat it."""


class ToolCalled(_TurnEvent, frozen=True, kw_only=True, tag="tool_call"):
    """The model requests a tool call. A `ToolReturned` event with the same `call_id` follows."""

    call_id: str
    name: str  # `server/tool`
    arguments: str  # JSON


class ApprovalRequested(_TurnEvent, frozen=True, kw_only=True):
    """A tool call with effects waits for a person's approval."""

    call_id: str
    name: str
    timeout_seconds: float  # timeout of the approval request
    repeated: bool = False  # a crash interrupted the turn after this call; its effects may already exist


class ApprovalResolved(_TurnEvent, frozen=True, kw_only=True):
    """The approval request is resolved. The call runs only if the value of `outcome` allows it."""

    call_id: str
    outcome: ApprovalOutcome


class ToolReturned(_TurnEvent, frozen=True, kw_only=True, tag="tool_result"):
    """A tool call returned a result or an error."""

    call_id: str
    name: str
    content: str  # truncated for display; the model may receive a longer string
    is_error: bool
    seconds: float


class ActionTaken(_TurnEvent, frozen=True, kw_only=True, tag="action"):
    """An agent performed an action. Void if its turn restarts, is retracted or fails."""

    id: str
    action: Action


class ActionRejected(_TurnEvent, frozen=True, kw_only=True):
    """An action was rejected."""

    name: str
    reason: str  # error message


class Notice(_Event, frozen=True, kw_only=True):
    """Information for the user that requires no response."""

    kind: NoticeKind
    message: str
    participant: str | None = None
    charge: Charge | None = None  # cost of a failed request


class TurnEnded(_TurnEvent, frozen=True, kw_only=True):
    status: TurnStatus
    message: Answer
    model: str
    usage: Usage
    cost_usd: float | None  # US dollars; None: price unknown
    finish_reason: FinishReason | None = None
    fault: Fault | None = None
    first_token_seconds: float | None = None  # seconds until the first token
    latency_seconds: float = 0.0  # seconds


class InstructionsSent(_TurnEvent, frozen=True, kw_only=True):
    """A participant received hidden instructions."""

    message: str  # id of the hidden message


class _AnalysisResult(_Event, frozen=True, kw_only=True):
    """Result of an analysis task in a run."""

    cache_key: str  # cache key: digest of the task and its input messages
    model: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = 0.0


class AgreementChecked(_AnalysisResult, frozen=True, kw_only=True):
    """Result of the agreement check on the initial answers."""

    agree: bool
    reason: str
    saved_usd: float | None = None  # estimated cost of the skipped debate in US dollars; None: unknown


class SummaryMade(_AnalysisResult, frozen=True, kw_only=True, tag="summary"):
    summary: DebateSummary


class ClaimsExtracted(_AnalysisResult, frozen=True, kw_only=True, tag="claims"):
    claims: DebateClaims


class VoteCast(_AnalysisResult, frozen=True, kw_only=True, tag="vote"):
    """One participant's vote on the other answers."""

    participant: str
    ranking: tuple[tuple[str, ...], ...]  # groups of tied participant ids, best first


class RankingMade(_AnalysisResult, frozen=True, kw_only=True, tag="ranking"):
    ranking: Ranking


class SpeakerSelected(_AnalysisResult, frozen=True, kw_only=True):
    """Directed mode: the next speaker is selected."""

    turn: int
    next: str  # participant id, `USER` or `END`
    reason: str
    decided_by: Literal["rules", "model"] = "rules"


class ReferenceSummarized(_AnalysisResult, frozen=True, kw_only=True):
    """A message references another discussion, and a summary of it is available for prompts."""

    message: str  # id of the message
    title: str  # of the referenced discussion, as written in the message
    discussion: str  # id of the referenced discussion
    summary: str  # id of the summary


class RunEnded(_Event, frozen=True, kw_only=True):
    status: RunStatus


AnalysisResult = (
    AgreementChecked | SummaryMade | ClaimsExtracted | VoteCast | RankingMade | SpeakerSelected | ReferenceSummarized
)
ANALYSIS_RESULTS: tuple[type[AnalysisResult], ...] = get_args(AnalysisResult)
Event = (
    RunStarted
    | StageStarted
    | TurnStarted
    | TextDelta
    | ThoughtDelta
    | TextRetracted
    | ToolCalled
    | ApprovalRequested
    | ApprovalResolved
    | ToolReturned
    | ActionTaken
    | ActionRejected
    | Notice
    | TurnEnded
    | InstructionsSent
    | AnalysisResult
    | RunEnded
)
