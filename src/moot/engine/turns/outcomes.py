"""Converts the end of a turn into a stored message, a charge and error messages."""

import time
from collections.abc import Mapping

from msgspec.structs import asdict, replace

from moot.providers.keys import Key
from moot.providers.registry import ResolvedModel
from moot.streaming.turn_stream import StreamResult
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.events import STATUS_BY_STOP_REASON, Answer, StopReason, TurnEnded, TurnKey, TurnStatus
from moot.types.faults import Fault, FaultKind, make_fault
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.run_plan import RunPlan

LATE_MESSAGE = "It was too slow. The others continued without it. Retry it, or choose a faster model."


def turn_message(run: str, discussion: str, plan: RunPlan, turn_end: TurnEnded) -> Message:
    """Build the message of a turn. The caller adds the fields of the prompt, which are unknown after a crash."""
    return Message(
        id=new_id("msg"),
        discussion=discussion,
        run=run,
        role="assistant",
        content=turn_end.message.text,
        thoughts=turn_end.message.thoughts,
        details=turn_end.message.details,
        lesson_items=turn_end.message.lesson_items or None,
        tools=turn_end.message.tools or None,
        participant=turn_end.participant,
        name=plan.find_participant(turn_end.participant).name,
        stage=turn_end.stage,
        round=turn_end.round,
        status=turn_end.status,
        provider=turn_end.model.partition("/")[0],
        model=turn_end.model,
        usage=turn_end.usage,
        cost_usd=turn_end.cost_usd,
        latency_seconds=turn_end.latency_seconds,
        first_token_seconds=turn_end.first_token_seconds,
        fault=turn_end.fault,
        finish_reason=turn_end.finish_reason,
        visible_to=plan.to,
        version_of=plan.regenerate.answer if plan.regenerate else None,
        created_at=time.time(),
    )


def turn_charge(turn_end: TurnEnded) -> Charge:
    return Charge(
        purpose="synthesis" if turn_end.stage == "synthesis" else "answer",
        model=turn_end.model,
        usage=turn_end.usage,
        cost_usd=turn_end.cost_usd,
        participant=turn_end.participant,
    )


def stop_message(reason: StopReason | None) -> str:
    match reason:
        case "stopped_by_user":
            return "Stopped before it had answered."
        case "follow_up_interrupt":
            return "Interrupted by the next message."
        case "max_cost":
            return "The run had reached its spending limit."
        case "late":
            return LATE_MESSAGE
    return "It gave no answer."


def rejection_turn_end(turn_key: TurnKey, participant: Participant, error: UsageError) -> TurnEnded:
    return TurnEnded(
        **asdict(turn_key),
        status="failed",
        message=Answer(),
        model=participant.model,
        usage=Usage(),
        cost_usd=0.0,
        fault=make_fault("auth", str(error), retryable=False),
    )


FAULT_ADVICE: Mapping[FaultKind, str] = {
    "rate_limit": "Try again later, or choose another model.",
    "overloaded": "Try again later, or choose another model.",
    "timeout": "Try again, or choose a faster model.",
}


def turn_status(result: StreamResult) -> TurnStatus:
    match result.status:
        case "completed" | "tool_call":
            return "completed"
        case "stopped_by_user" | "follow_up_interrupt" | "late" | "max_cost" as reason:
            return STATUS_BY_STOP_REASON[reason]
    return "partial" if has_visible_text(result) else "failed"


def has_visible_text(result: StreamResult) -> bool:
    return bool(result.text or result.lesson_items)


def explain_fault(result: StreamResult, model: ResolvedModel, key: Key | None) -> StreamResult:
    """Add the model name and, for a rejected key, its source, so that the user knows which key to fix."""
    if result.fault is None:
        return result
    message = result.fault.message
    if model.provider.name not in message:
        message = f"{model.name}: {message}"
    if key is not None and result.fault.kind == "auth":
        message = f"{message} It came from {key.source}."
    return _with_fault_message(result, result.fault, message)


def add_attempt_count(result: StreamResult, tries: int) -> StreamResult:
    if result.fault is None or not result.fault.retryable:
        return result
    return _with_fault_message(result, result.fault, f"{result.fault.message} Gave up after {tries} tries.")


def add_advice(result: StreamResult) -> StreamResult:
    """Add what the user can do, unless the message says so or the turn has text."""
    fault = result.fault
    if fault is None or has_visible_text(result) or fault.kind not in FAULT_ADVICE or "Try again" in fault.message:
        return result
    return _with_fault_message(result, fault, f"{fault.message} {FAULT_ADVICE[fault.kind]}")


def _with_fault_message(result: StreamResult, fault: Fault, message: str) -> StreamResult:
    return replace(result, fault=replace(fault, message=message))
