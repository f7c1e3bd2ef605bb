"""What came of asking a model: how the turn ended, and words that say who failed and what to do."""

from collections.abc import Mapping

import msgspec

from moot.model.events import ENDED_BY, TurnStatus
from moot.model.faults import Fault, Kind
from moot.providers.keys import Key
from moot.providers.registry import Resolved
from moot.streams.turn import StreamResult

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
