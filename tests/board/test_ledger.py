from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.board.ledger import ACTS, drawn
from moot.model.actions import name_of
from moot.model.drawings import Clear, Open
from moot.model.events import ActionDropped, Event, RunEnded, TextDelta, TextRetracted, TurnStatus
from tests.board.acting import FIRST, SECOND, at, does, ended, started, text


def names(events: Sequence[Event]) -> list[str]:
    return [f"{entry.by} {name_of(entry.action)}" for entry in drawn(events)]


def test_what_was_done_is_listed_in_its_order_with_whose_it_is() -> None:
    log = [started(FIRST), does(FIRST, Open()), ended(FIRST), started(SECOND), does(SECOND, Clear())]
    assert names(log) == ["alpha wb_open", "beta wb_clear"]


@pytest.mark.parametrize(
    "void",
    [
        started(FIRST, 2),
        TextRetracted(**at(FIRST)),  # type: ignore[arg-type]
        ended(FIRST, status="failed"),
    ],
)
def test_a_turn_that_began_anew_or_failed_has_done_nothing(void: Event) -> None:
    log = [started(SECOND), does(SECOND, Clear()), started(FIRST), does(FIRST, Open()), void]
    assert names(log) == ["beta wb_clear"]


@pytest.mark.parametrize("status", ["completed", "partial", "stopped", "interrupted"])
def test_a_turn_that_ended_otherwise_has_done_what_it_did(status: TurnStatus) -> None:
    assert names([started(FIRST), does(FIRST, Open()), ended(FIRST, status=status)]) == ["alpha wb_open"]


def test_what_was_left_out_or_said_draws_nothing() -> None:
    said = TextDelta(**at(FIRST), text="wb_open")  # type: ignore[arg-type]
    dropped = ActionDropped(**at(FIRST), name="wb_open", reason="No.")  # type: ignore[arg-type]
    assert drawn([started(FIRST), said, dropped]) == []


LOG = st.lists(
    st.sampled_from(
        [
            *(started(seat) for seat in (FIRST, SECOND)),
            *(does(seat, text("a", id)) for seat in (FIRST, SECOND) for id in ("a", "b")),
            ended(FIRST),
            ended(SECOND, status="failed"),
            RunEnded(status="completed"),
        ]
    ),
    max_size=20,
)


@given(LOG)
def test_these_kinds_of_events_are_all_that_tells_what_was_drawn(log: list[Event]) -> None:
    assert drawn(log) == drawn([event for event in log if isinstance(event, ACTS)])
