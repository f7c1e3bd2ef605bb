"""What was drawn in a run, by what is told of it."""

from collections.abc import Iterable

from moot.board.replay import Entry
from moot.model.events import ActionTaken, Event, Seat, TextRetracted, TurnEnded, TurnStarted

ACTS = (TurnStarted, ActionTaken, TextRetracted, TurnEnded)  # all that tells what was drawn


def drawn(events: Iterable[Event]) -> list[Entry]:
    """List what was done in a run; a turn that began anew or failed has done nothing."""
    done: list[tuple[Seat, Entry]] = []
    for event in events:
        match event:
            case ActionTaken(action=action):
                done.append((event.seat, Entry(by=event.participant, action=action)))
            case TurnStarted() | TextRetracted() | TurnEnded(status="failed"):
                done = [one for one in done if one[0] != event.seat]
            case _:
                pass
    return [entry for _, entry in done]
