"""Turns that were streaming when the process died, rebuilt from the event log.

`RunManager` resumes the run, and `TurnRunner` calls the model of such a turn again. If the run ends instead, they end with the text that clients already received.
"""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.turns.context import RunContext
from moot.engine.turns.outcomes import turn_message
from moot.engine.turns.token_estimates import estimate_usage
from moot.store.runs.runs import RunLease
from moot.streaming.lesson_turn import encode_lesson_items
from moot.types.actions import Action
from moot.types.debate import LANE_STAGES, Lane
from moot.types.discussions import Message
from moot.types.events import (
    STATUS_BY_STOP_REASON,
    ActionTaken,
    Answer,
    Event,
    StopReason,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnKey,
    TurnStarted,
    TurnStatus,
)
from moot.types.requests import ModelRequest
from moot.types.tools import ToolUse


class InterruptedTurn(Struct, frozen=True):
    """A turn with a start event and no end event, and the answer that clients have received of it."""

    turn_key: TurnKey
    model: str
    answer: Answer = Answer()

    def turn_end_event(self, reason: StopReason | None) -> TurnEnded:
        """Build an end event with the received text. `reason` is None after a crash, without a stop request.

        The usage is an estimate of the output only, and the cost is unknown.
        """
        received = (self.answer.script or self.answer.text) + self.answer.thoughts
        cut: TurnStatus = "partial" if self.answer.text or self.answer.script else "failed"
        return TurnEnded(
            participant=self.turn_key.participant,
            stage=self.turn_key.stage,
            round=self.turn_key.round,
            status=STATUS_BY_STOP_REASON[reason] if reason else cut,
            message=self.answer,
            model=self.model,
            usage=estimate_usage(ModelRequest(model=self.model, messages=()), len(received)),
            cost=None,
        )


def find_interrupted_turns(events: Iterable[Event]) -> dict[TurnKey, InterruptedTurn]:
    """Return turns that started and did not end. A second start event of a turn discards the text before it."""
    models: dict[TurnKey, str] = {}
    lines: defaultdict[TurnKey, list[str | Action]] = defaultdict(list)
    thoughts: defaultdict[TurnKey, list[str]] = defaultdict(list)
    calls: defaultdict[TurnKey, dict[str, ToolUse]] = defaultdict(dict)
    for event in events:
        match event:
            case TurnStarted(model=model):
                models[event.turn_key] = model
                lines[event.turn_key], thoughts[event.turn_key], calls[event.turn_key] = [], [], {}
            case TextDelta(text=text):
                lines[event.turn_key].append(text)
            case ActionTaken(action=action):
                lines[event.turn_key].append(action)
            case ThoughtDelta(text=text):
                thoughts[event.turn_key].append(text)
            case ToolCalled(call_id=id):
                calls[event.turn_key][id] = _interrupted_tool_use(event, len(_join_speech(lines[event.turn_key])))
            case ToolReturned(call_id=id) if id in calls[event.turn_key]:
                calls[event.turn_key][id] = replace(
                    calls[event.turn_key][id],
                    content=event.content,
                    is_error=event.is_error,
                    seconds=event.seconds,
                )
            case TextRetracted():
                lines[event.turn_key].clear()
            case TurnEnded():
                models.pop(event.turn_key, None)
            case _:
                pass
    return {
        at: InterruptedTurn(at, model, _build_answer(lines[at], "".join(thoughts[at]), tuple(calls[at].values())))
        for at, model in models.items()
    }


def _build_answer(lines: list[str | Action], thoughts: str, tools: tuple[ToolUse, ...]) -> Answer:
    acted = any(not isinstance(line, str) for line in lines)
    return Answer(_join_speech(lines), thoughts, script=encode_lesson_items(lines) if acted else "", tools=tools)


def _join_speech(lines: list[str | Action]) -> str:
    return "".join(line for line in lines if isinstance(line, str))


def _interrupted_tool_use(call: ToolCalled, text_length: int) -> ToolUse:
    return ToolUse(
        call_id=call.call_id,
        name=call.name,
        arguments=call.arguments,
        content="It was cut off before it had returned.",
        is_error=True,
        seconds=0.0,
        said=text_length,
    )


def interrupted_message(lease: RunLease, turn_end: TurnEnded) -> Message:
    message = turn_message(RunContext(run=lease.run, discussion=lease.discussion, plan=lease.plan), turn_end)
    if turn_end.stage in LANE_STAGES:
        return replace(message, thread=turn_end.participant)
    return replace(message, role="synthesis") if turn_end.stage == "synthesis" else message


def interrupted_lanes(turn_end: TurnEnded) -> list[Lane]:
    if turn_end.stage not in LANE_STAGES:
        return []
    return [
        Lane(
            participant=turn_end.participant,
            status="error",
            error="It was interrupted before it had answered.",
        )
    ]
