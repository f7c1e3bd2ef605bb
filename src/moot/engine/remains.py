"""What a crash left of a turn: words that readers have seen, of a turn that had no end.

Most such turns are spoken anew. Where the run is to end instead, they end with the words that were seen.
"""

import time
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.estimate import estimate
from moot.model.discussions import Message
from moot.model.events import (
    Answer,
    Event,
    Seat,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.model.ids import new_id
from moot.model.requests import ModelRequest
from moot.store.runs import Claim
from moot.streams.stop import Reason

ENDED: dict[Reason, TurnStatus] = {"stopped_by_user": "stopped", "follow_up_interrupt": "interrupted"}


class Remains(Struct, frozen=True):
    seat: Seat
    model: str
    answer: Answer = Answer()

    def ended(self, reason: Reason | None) -> TurnEnded:
        """End the turn with what was seen of it; without a reason nobody wanted it to end."""
        heard = self.answer.text + self.answer.thoughts
        cut: TurnStatus = "partial" if self.answer.text else "failed"
        return TurnEnded(
            participant=self.seat.participant,
            stage=self.seat.stage,
            round=self.seat.round,
            status=ENDED[reason] if reason else cut,
            message=self.answer,
            model=self.model,
            usage=estimate(ModelRequest(model=self.model, messages=()), heard),
            cost=None,
        )


def unfinished(events: Iterable[Event]) -> dict[Seat, Remains]:
    """Find the turns of a log that began and did not end."""
    left: dict[Seat, Remains] = {}
    for event in events:
        match event:
            case TurnStarted():
                left[seat(event)] = Remains(seat(event), event.model)
            case TextDelta() | ThoughtDelta() | TextRetracted():
                left[seat(event)] = _grown(left[seat(event)], event)
            case TurnEnded():
                left.pop(seat(event), None)
            case _:
                pass
    return left


def seat(event: TurnStarted | TextDelta | ThoughtDelta | TextRetracted | TurnEnded) -> Seat:
    return Seat(event.participant, event.stage, event.round)


def _grown(left: Remains, event: TextDelta | ThoughtDelta | TextRetracted) -> Remains:
    said = left.answer
    match event:
        case TextDelta(text=text):
            said = replace(said, text=said.text + text)
        case ThoughtDelta(text=text):
            said = replace(said, thoughts=said.thoughts + text)
        case TextRetracted():
            said = replace(said, text="")
    return replace(left, answer=said)


def message(claim: Claim, ended: TurnEnded) -> Message:
    """Make the message of a turn that was ended so; what it was asked with is not known any more."""
    return Message(
        id=new_id("msg"),
        discussion=claim.discussion,
        run=claim.run,
        role="assistant",
        content=ended.message.text,
        thoughts=ended.message.thoughts,
        participant=ended.participant,
        name=claim.plan.participant(ended.participant).name,
        stage=ended.stage,
        round=ended.round,
        status=ended.status,
        provider=ended.model.partition("/")[0],
        model=ended.model,
        usage=ended.usage,
        audience=claim.plan.to,
        created_at=time.time(),
    )
