"""Turns of a lesson in which something is drawn, as events tell of them."""

from moot.streaming.lesson_turn import written
from moot.types.actions import Action
from moot.types.chunks import Usage
from moot.types.drawing import DrawText
from moot.types.events import ActionTaken, Answer, Event, Seat, TurnEnded, TurnStarted, TurnStatus


def at(seat: Seat) -> dict[str, object]:
    return {"participant": seat.participant, "stage": seat.stage, "round": seat.round}


FIRST, SECOND = Seat("alpha", "turn", 0), Seat("beta", "turn", 1)


def started(seat: Seat, attempt: int = 1) -> Event:
    return TurnStarted(**at(seat), attempt=attempt, model="a/one")  # type: ignore[arg-type]


def text(words: str, id: str) -> Action:
    return DrawText(content=words, x=10, y=10, element_id=id)


def does(seat: Seat, action: Action) -> Event:
    return ActionTaken(**at(seat), id="act_1", action=action)  # type: ignore[arg-type]


def ended(seat: Seat, *lines: str | Action, status: TurnStatus = "completed") -> TurnEnded:
    return TurnEnded(
        **at(seat),  # type: ignore[arg-type]
        status=status,
        message=Answer("".join(one for one in lines if isinstance(one, str)), script=written(lines)),
        model="a/one",
        usage=Usage(),
        cost=0.0,
    )
