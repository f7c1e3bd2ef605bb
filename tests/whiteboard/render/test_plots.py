from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.drawing import ChartData
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.plots import (
    compute_scale,
    format_tick,
    render_bars,
    render_curves,
    render_scatter,
)
from tests.whiteboard.markup_parsing import Node, parse_markup

BOX = Box(0, 0, 300, 200)
COLOURS = ("#111", "#222", "#333")
DATA = ChartData(labels=("a", "b"), series=((1, 2), (4, -2)))


def attribute_value(node: Node, name: str) -> float:
    return float(node.get(name) or "nan")


def test_column_heights_match_values() -> None:
    one, two, four, below = parse_markup(render_bars(DATA, BOX, 12, COLOURS, horizontal=False)).iter("rect")
    unit = attribute_value(one, "height")
    assert attribute_value(two, "height") == pytest.approx(2 * unit, abs=0.05)
    assert attribute_value(four, "height") == pytest.approx(4 * unit, abs=0.05)
    assert attribute_value(below, "y") == pytest.approx(attribute_value(one, "y") + unit, abs=0.05)


def test_bar_lengths_match_values_with_first_on_top() -> None:
    one, two, *_ = parse_markup(render_bars(DATA, BOX, 12, COLOURS, horizontal=True)).iter("rect")
    assert attribute_value(two, "width") == pytest.approx(2 * attribute_value(one, "width"), abs=0.05)
    assert attribute_value(one, "y") < attribute_value(two, "y")


def test_line_chart_has_dot_for_each_value() -> None:
    tree = parse_markup(render_curves(DATA, BOX, 12, COLOURS, filled=False))
    assert len(list(tree.iter("polyline"))) == 2
    assert len(list(tree.iter("circle"))) == 4
    assert list(tree.iter("polygon")) == []


def test_area_chart_is_filled() -> None:
    assert len(list(parse_markup(render_curves(DATA, BOX, 12, COLOURS, filled=True)).iter("polygon"))) == 2


def test_scatter_plots_series_against_first() -> None:
    data = ChartData(series=((10, 20, 30), (1, 2, 3)))
    places = [
        (attribute_value(dot, "cx"), attribute_value(dot, "cy"))
        for dot in parse_markup(render_scatter(data, BOX, 12, COLOURS)).iter("circle")
    ]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_scatter_of_single_series_uses_index() -> None:
    assert len(list(parse_markup(render_scatter(ChartData(series=((5, 3, 4),)), BOX, 12, COLOURS)).iter("circle"))) == 3


def test_wide_labels_are_slanted() -> None:
    long = ChartData(labels=("Mathematics",) * 5, series=((1, 2, 3, 4, 5),))
    turned = [
        node
        for node in parse_markup(render_bars(long, BOX, 12, COLOURS, horizontal=False)).iter("text")
        if node.get("transform")
    ]
    assert [node.text for node in turned] == ["Mathematics"] * 5


def test_crowded_labels_are_thinned_out() -> None:
    many = ChartData(labels=tuple(map(str, range(50))), series=(tuple(map(float, range(50))),))
    written = [node.text for node in parse_markup(render_curves(many, BOX, 12, COLOURS, filled=False)).iter("text")]
    assert "49" not in written
    assert len(written) < 30


NUMBERS = st.floats(-1e12, 1e12)


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
def test_scale_ticks_are_round_numbers(low: float, high: float, ticks: tuple[float, ...]) -> None:
    steps = 3 if low == -20 else 5
    assert compute_scale(low, high, steps=steps, from_zero=True).ticks == pytest.approx(ticks)


def test_scale_can_start_above_zero() -> None:
    assert compute_scale(1000, 1029, steps=4, from_zero=False).ticks == pytest.approx((1000, 1010, 1020, 1030))
    assert compute_scale(7, 7, steps=2, from_zero=False).ticks == pytest.approx((6, 7, 8))


@given(NUMBERS, NUMBERS, st.integers(2, 6), st.booleans())
def test_every_value_is_within_scale(one: float, other: float, steps: int, from_zero: bool) -> None:
    made = compute_scale(min(one, other), max(one, other), steps=steps, from_zero=from_zero)
    for value in (one, other):
        assert -1e-6 <= made.relative_position(value) <= 1 + 1e-6
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
def test_format_tick_is_short(value: float, text: str) -> None:
    assert format_tick(value) == text
