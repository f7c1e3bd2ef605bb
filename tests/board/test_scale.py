from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.board.scale import scale, shown

AMOUNTS = st.floats(-1e12, 1e12)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 8, (0, 2, 4, 6, 8)),
        (3, 97, (0, 20, 40, 60, 80, 100)),
        (-20, 90, (-50, 0, 50, 100)),
        (5, 5, (0, 1, 2, 3, 4, 5)),
        (0, 0, (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ],
)
def test_ticks_are_round_numbers_around_the_values(low: float, high: float, ticks: tuple[float, ...]) -> None:
    steps = 3 if low == -20 else 5
    assert scale(low, high, steps=steps, from_zero=True).ticks == pytest.approx(ticks)


def test_a_scale_need_not_begin_at_zero() -> None:
    assert scale(1000, 1029, steps=4, from_zero=False).ticks == pytest.approx((1000, 1010, 1020, 1030))
    assert scale(7, 7, steps=2, from_zero=False).ticks == pytest.approx((6, 7, 8))


@given(AMOUNTS, AMOUNTS, st.integers(2, 6), st.booleans())
def test_every_value_is_on_its_scale(one: float, other: float, steps: int, from_zero: bool) -> None:
    made = scale(min(one, other), max(one, other), steps=steps, from_zero=from_zero)
    for value in (one, other):
        assert -1e-6 <= made.part(value) <= 1 + 1e-6
    assert 2 <= len(made.ticks) <= 12
    assert all(isfinite(tick) for tick in made.ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (2000, "2000"),
        (15_000, "15k"),
        (1.5e6, "1.5M"),
        (-2e9, "-2G"),
        (3e12, "3T"),
    ],
)
def test_numbers_are_written_in_few_characters(value: float, text: str) -> None:
    assert shown(value) == text
