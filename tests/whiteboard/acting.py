"""Turns of a lesson in which something is drawn, as events tell of them."""

from moot.streaming.lesson_turn import encode_lesson_items
from moot.types.actions import Action
from moot.types.chunks import Usage
from moot.types.drawing import DrawText
from moot.types.events import ActionTaken, Answer, Event, TurnEnded, TurnKey, TurnStarted, TurnStatus


def at(seat: TurnKey) -> dict[str, object]:
    return {"participant": seat.participant, "stage": seat.stage, "round": seat.round}


FIRST, SECOND = TurnKey("alpha", "turn", 0), TurnKey("beta", "turn", 1)


def started(seat: TurnKey, attempt: int = 1) -> Event:
    return TurnStarted(**at(seat), attempt=attempt, model="a/one")  # type: ignore[arg-type]


def text(words: str, id: str) -> Action:
    return DrawText(content=words, x=10, y=10, element_id=id)


def does(seat: TurnKey, action: Action) -> Event:
    return ActionTaken(**at(seat), id="act_1", action=action)  # type: ignore[arg-type]


def ended(seat: TurnKey, *lines: str | Action, status: TurnStatus = "completed") -> TurnEnded:
    return TurnEnded(
        **at(seat),  # type: ignore[arg-type]
        status=status,
        message=Answer(
            "".join(one for one in lines if isinstance(one, str)), script=encode_lesson_items(lines)
        ),
        model="a/one",
        usage=Usage(),
        cost=0.0,
    )
