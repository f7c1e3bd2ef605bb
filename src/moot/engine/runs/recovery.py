"""What a crash left of a turn: words that readers have seen, of a turn that had no end.

Most such turns are spoken anew. Where the run is to end instead, they end with the words that were seen.
"""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.turns.context import Scene
from moot.engine.turns.outcomes import turn_message
from moot.engine.turns.token_estimates import estimate
from moot.store.runs.runs import Claim
from moot.streaming.lesson_turn import written
from moot.types.actions import Action
from moot.types.debate import IN_LANES, Lane
from moot.types.discussions import Message
from moot.types.events import (
    ENDED_BY,
    ActionTaken,
    Answer,
    Event,
    Reason,
    Seat,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.types.requests import ModelRequest
from moot.types.tools import ToolUse


class Remains(Struct, frozen=True):
    seat: Seat
    model: str
    answer: Answer = Answer()

    def ended(self, reason: Reason | None) -> TurnEnded:
        """End the turn with what was seen of it; without a reason nobody wanted it to end."""
        heard = (self.answer.script or self.answer.text) + self.answer.thoughts
        cut: TurnStatus = "partial" if self.answer.text or self.answer.script else "failed"
        return TurnEnded(
            participant=self.seat.participant,
            stage=self.seat.stage,
            round=self.seat.round,
            status=ENDED_BY[reason] if reason else cut,
            message=self.answer,
            model=self.model,
            usage=estimate(ModelRequest(model=self.model, messages=()), len(heard)),
            cost=None,
        )


def unfinished(events: Iterable[Event]) -> dict[Seat, Remains]:
    """Find the turns of a log that began and did not end."""
    models: dict[Seat, str] = {}
    lines: defaultdict[Seat, list[str | Action]] = defaultdict(list)
    thoughts: defaultdict[Seat, list[str]] = defaultdict(list)
    calls: defaultdict[Seat, dict[str, ToolUse]] = defaultdict(dict)
    for event in events:
        match event:
            case TurnStarted(model=model):
                models[event.seat] = model
                lines[event.seat], thoughts[event.seat], calls[event.seat] = [], [], {}
            case TextDelta(text=text):
                lines[event.seat].append(text)
            case ActionTaken(action=action):
                lines[event.seat].append(action)
            case ThoughtDelta(text=text):
                thoughts[event.seat].append(text)
            case ToolCalled(call_id=id):
                calls[event.seat][id] = _called(event, len(_text(lines[event.seat])))
            case ToolReturned(call_id=id) if id in calls[event.seat]:
                calls[event.seat][id] = replace(
                    calls[event.seat][id],
                    content=event.content,
                    is_error=event.is_error,
                    seconds=event.seconds,
                )
            case TextRetracted():
                lines[event.seat].clear()
            case TurnEnded():
                models.pop(event.seat, None)
            case _:
                pass
    return {
        at: Remains(at, model, _answer(lines[at], "".join(thoughts[at]), tuple(calls[at].values())))
        for at, model in models.items()
    }


def _answer(lines: list[str | Action], thoughts: str, tools: tuple[ToolUse, ...]) -> Answer:
    """Put together what was said and, where something was done as well, the script of both."""
    acted = any(not isinstance(line, str) for line in lines)
    return Answer(_text(lines), thoughts, script=written(lines) if acted else "", tools=tools)


def _text(lines: list[str | Action]) -> str:
    return "".join(line for line in lines if isinstance(line, str))


def _called(call: ToolCalled, said: int) -> ToolUse:
    return ToolUse(
        call_id=call.call_id,
        name=call.name,
        arguments=call.arguments,
        content="It was cut off before it had returned.",
        is_error=True,
        seconds=0.0,
        said=said,
    )


def message(claim: Claim, ended: TurnEnded) -> Message:
    made = turn_message(Scene(run=claim.run, discussion=claim.discussion, plan=claim.plan), ended)
    if ended.stage in IN_LANES:
        return replace(made, thread=ended.participant)
    return replace(made, role="synthesis") if ended.stage == "synthesis" else made


def lanes(ended: TurnEnded) -> list[Lane]:
    """Say how far a lane has come whose turn was cut off."""
    if ended.stage not in IN_LANES:
        return []
    return [
        Lane(participant=ended.participant, status="error", error="It was cut off before it had answered.")
    ]
