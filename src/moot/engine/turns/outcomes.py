"""Turns the end of a turn into a stored message, a charge and an error text."""

import time
from collections.abc import Mapping

import msgspec

from moot.engine.turns.context import Scene
from moot.providers.keys import Key
from moot.providers.registry import Resolved
from moot.streaming.turn_stream import StreamResult
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.events import ENDED_BY, Answer, Reason, Seat, TurnEnded, TurnStatus
from moot.types.faults import Fault, Kind, fault
from moot.types.participants import Participant
from moot.types.primitives import new_id

LATE = "It was too slow, and was not waited for. Try it again, or choose a faster model."


def turn_message(scene: Scene, ended: TurnEnded) -> Message:
    """Make the message of a turn that ended; how its prompt was made is not known after a crash."""
    return Message(
        id=new_id("msg"),
        discussion=scene.discussion,
        run=scene.run,
        role="assistant",
        content=ended.message.text,
        thoughts=ended.message.thoughts,
        details=ended.message.details,
        script=ended.message.script or None,
        tools=ended.message.tools or None,
        participant=ended.participant,
        name=scene.plan.participant(ended.participant).name,
        stage=ended.stage,
        round=ended.round,
        status=ended.status,
        provider=ended.model.partition("/")[0],
        model=ended.model,
        usage=ended.usage,
        cost=ended.cost,
        latency=ended.latency,
        first_token=ended.first_token,
        fault=ended.fault,
        finish=ended.finish,
        audience=scene.plan.to,
        version_of=scene.plan.again.answer if scene.plan.again else None,
        created_at=time.time(),
    )


def charge_of(ended: TurnEnded) -> Charge:
    return Charge(
        purpose="synthesis" if ended.stage == "synthesis" else "answer",
        model=ended.model,
        usage=ended.usage,
        cost=ended.cost,
        participant=ended.participant,
    )


def stopped_words(reason: Reason | None) -> str:
    match reason:
        case "stopped_by_user":
            return "Stopped before it had answered."
        case "follow_up_interrupt":
            return "Interrupted by the next message."
        case "over_cap":
            return "The run had reached its cap."
        case "late":
            return LATE
    return "It gave no answer."


def refused(seat: Seat, who: Participant, error: UsageError) -> TurnEnded:
    return TurnEnded(
        participant=seat.participant,
        stage=seat.stage,
        round=seat.round,
        status="failed",
        message=Answer(),
        model=who.model,
        usage=Usage(),
        cost=0.0,
        fault=fault("auth", str(error), retryable=False),
    )


ADVICE: Mapping[Kind, str] = {
    "rate_limit": "Try again later, or choose another model.",
    "overloaded": "Try again later, or choose another model.",
    "timeout": "Try again, or choose a faster model.",
}


def status_of(result: StreamResult) -> TurnStatus:
    match result.status:
        case "completed" | "tool_call":
            return "completed"
        case "stopped_by_user" | "follow_up_interrupt" | "late" | "over_cap" as reason:
            return ENDED_BY[reason]
    return "partial" if was_shown(result) else "failed"


def was_shown(result: StreamResult) -> bool:
    return bool(result.text or result.script)


def explained(result: StreamResult, model: Resolved, key: Key | None) -> StreamResult:
    """Say who failed and, where a key was rejected, which one, so that its owner knows what to mend."""
    if result.fault is None:
        return result
    words = result.fault.message
    if model.provider.name not in words:
        words = f"{model.name}: {words}"
    if key is not None and result.fault.kind == "auth":
        words = f"{words} It came from {key.source}."
    return _saying(result, result.fault, words)


def giving_up(result: StreamResult, tries: int) -> StreamResult:
    if result.fault is None or not result.fault.retryable:
        return result
    return _saying(result, result.fault, f"{result.fault.message} Gave up after {tries} tries.")


def with_advice(result: StreamResult) -> StreamResult:
    """Say what to do about what failed, where the words do not say so yet."""
    trouble = result.fault
    if trouble is None or was_shown(result) or trouble.kind not in ADVICE or "Try again" in trouble.message:
        return result
    return _saying(result, trouble, f"{trouble.message} {ADVICE[trouble.kind]}")


def _saying(result: StreamResult, trouble: Fault, words: str) -> StreamResult:
    return msgspec.structs.replace(result, fault=msgspec.structs.replace(trouble, message=words))
