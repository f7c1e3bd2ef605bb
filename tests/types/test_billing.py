import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.billing import SMALLEST_AMOUNT_USD, Spending, format_usd, sum_costs
from moot.types.chunks import Usage

COSTS = st.floats(0, 1_000_000)
NONZERO_AMOUNTS = st.floats(SMALLEST_AMOUNT_USD, 1_000_000)


def parse_usd(text: str) -> float:
    return float(text.removeprefix("$").replace(",", ""))


@given(st.lists(COSTS, max_size=5))
def test_sum_costs_adds_known_costs(costs: list[float]) -> None:
    assert sum_costs(costs) == pytest.approx(sum(costs))
    assert sum_costs(iter(costs)) == sum_costs(costs)


@given(st.lists(COSTS, max_size=5), st.data())
def test_sum_costs_is_unknown_when_one_cost_is_unknown(costs: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(costs)))
    assert sum_costs([*costs[:place], None, *costs[place:]]) is None


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0.0, "$0"),
        (1e-17, "less than $0.000001"),
        (0.000001, "$0.000001"),
        (0.00001234, "$0.0000123"),
        (0.0009999, "$0.001"),
        (0.01, "$0.01"),
        (0.0123, "$0.0123"),
        (0.5, "$0.50"),
        (0.99999, "$1.00"),
        (1.00404, "$1.004"),
        (5, "$5.00"),
        (1_000_000, "$1,000,000.00"),
    ],
)
def test_format_usd_uses_as_many_digits_as_needed(amount: float, words: str) -> None:
    assert format_usd(amount) == words


@given(st.integers(1, 100_000_000))
def test_format_usd_writes_cents_with_two_digits(cents: int) -> None:
    assert format_usd(cents / 100) == f"${cents / 100:,.2f}"


@given(NONZERO_AMOUNTS)
def test_format_usd_is_close_to_amount(amount: float) -> None:
    assert parse_usd(format_usd(amount)) == pytest.approx(amount, rel=0.005, abs=0)


@given(NONZERO_AMOUNTS, st.floats(1.011, 10))
def test_format_usd_distinguishes_amounts_one_percent_apart(amount: float, times: float) -> None:
    assert parse_usd(format_usd(amount)) < parse_usd(format_usd(amount * times))


@given(st.floats(0, 1, exclude_min=True))
def test_format_usd_writes_zero_only_for_zero(amount: float) -> None:
    assert set(format_usd(amount)) & set("123456789")


def test_spending_converts_to_usage() -> None:
    spent = Spending(
        calls=1,
        input=1,
        output=2,
        reasoning=3,
        cached=4,
        cache_written=5,
        estimated=True,
        cost_usd=0.0,
        unpriced_calls=1,
    )
    assert spent.usage == Usage(1, 2, 3, 4, 5, estimated=True)
