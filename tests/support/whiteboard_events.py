"""Turns of a lesson in which something is drawn, as events tell of them."""

from moot.streaming.lesson_turn import encode_lesson_items
from moot.types.actions import Action
from moot.types.chunks import Usage
from moot.types.drawing import DrawText
from moot.types.events import ActionTaken, Answer, Event, TurnEnded, TurnKey, TurnStarted, TurnStatus


def turn_fields(turn_key: TurnKey) -> dict[str, object]:
    return {"participant": turn_key.participant, "stage": turn_key.stage, "round": turn_key.round}


FIRST_TURN, SECOND_TURN = TurnKey("alpha", "turn", 0), TurnKey("beta", "turn", 1)


def turn_started(turn_key: TurnKey, attempt: int = 1) -> Event:
    return TurnStarted(**turn_fields(turn_key), attempt=attempt, model="a/one")  # type: ignore[arg-type]


def draw_text(content: str, id: str) -> Action:
    return DrawText(content=content, x=10, y=10, element_id=id)


def action_taken(turn_key: TurnKey, action: Action) -> Event:
    return ActionTaken(**turn_fields(turn_key), id="act_1", action=action)  # type: ignore[arg-type]


def turn_ended(turn_key: TurnKey, *lines: str | Action, status: TurnStatus = "completed") -> TurnEnded:
    return TurnEnded(
        **turn_fields(turn_key),  # type: ignore[arg-type]
        status=status,
        message=Answer("".join(one for one in lines if isinstance(one, str)), lesson_items=encode_lesson_items(lines)),
        model="a/one",
        usage=Usage(),
        cost_usd=0.0,
    )
