"""Turns that were streaming when the process died, rebuilt from the event log.

`RunManager` resumes the run, and `TurnRunner` calls the model of such a turn again. If the run ends instead, they end
with the text that clients already received.
"""

from collections.abc import Iterable

from msgspec.structs import asdict, replace

from moot.engine.turns.outcomes import turn_message
from moot.engine.turns.token_estimates import estimate_usage
from moot.store.runs.runs import RunLease
from moot.streaming.lesson_turn import encode_lesson_items
from moot.types.debate import LANE_STAGES, Lane
from moot.types.discussions import Message
from moot.types.events import Answer, Event, TurnEnded, TurnKey
from moot.types.requests import ModelRequest
from moot.types.run_state import ToolCallState, TurnState, fold_events
from moot.types.tools import ToolUse


def find_interrupted_turns(events: Iterable[Event]) -> dict[TurnKey, TurnEnded]:
    """Return an end for each turn that started and did not end, with the text that clients have received of it.

    A second start event of a turn discards the text before it.
    """
    return {turn.key: _turn_end(turn) for turn in fold_events(events).live_turns if turn.attempt}


def _turn_end(turn: TurnState) -> TurnEnded:
    """The usage is an estimate of the output only, and the cost is unknown."""
    items = [part if isinstance(part, str) else part.action for part in turn.parts]
    lesson_items = encode_lesson_items(items) if any(turn.actions) else ""
    tools = tuple(map(_tool_use, turn.calls.values()))
    received = (lesson_items or turn.text) + turn.thoughts
    return TurnEnded(
        **asdict(turn.key),
        status="partial" if turn.text or lesson_items else "failed",
        message=Answer(turn.text, turn.thoughts, lesson_items=lesson_items, tools=tools),
        model=turn.model,
        usage=estimate_usage(ModelRequest(model=turn.model, messages=()), len(received)),
        cost_usd=None,
    )


def _tool_use(state: ToolCallState) -> ToolUse:
    call, result = state.call, state.result
    return ToolUse(
        call_id=call.call_id,
        name=call.name,
        arguments=call.arguments,
        content=result.content if result else "It was cut off before it had returned.",
        is_error=result.is_error if result else True,
        seconds=result.seconds if result else 0.0,
        text_offset=state.text_offset,
    )


def interrupted_message(lease: RunLease, turn_end: TurnEnded) -> Message:
    message = turn_message(lease.run, lease.discussion, lease.plan, turn_end)
    if turn_end.stage in LANE_STAGES:
        return replace(message, thread=turn_end.participant)
    return replace(message, role="synthesis") if turn_end.stage == "synthesis" else message


def interrupted_lanes(turn_end: TurnEnded) -> list[Lane]:
    if turn_end.stage not in LANE_STAGES:
        return []
    return [Lane(participant=turn_end.participant, status="error", error="It was interrupted before it had answered.")]
