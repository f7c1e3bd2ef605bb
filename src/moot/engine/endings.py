"""What is kept of a turn that ended: its message, what it cost, and the words for one that gave no answer."""

import time

from moot.engine.scene import Scene
from moot.model.chunks import Usage
from moot.model.discussions import Message
from moot.model.errors import UsageError
from moot.model.events import Answer, Reason, Seat, TurnEnded
from moot.model.faults import fault
from moot.model.ids import new_id
from moot.model.money import Charge
from moot.model.participants import Participant

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
