import asyncio

import pytest

from moot.store.billing import token_rates
from moot.store.billing.token_rates import TokenRates
from moot.store.database import Database
from moot.types.model_info import TokenCount


async def characters_per_token(database: Database, model: str = "a/one") -> float:
    return (await TokenRates(database).rates_by_model([model]))[model].characters_per_token


async def test_counts_are_summed_by_model(database: Database) -> None:
    rates = TokenRates(database)
    await rates.add_counts({"a/one": TokenCount(3000, 1000), "b/two": TokenCount(20_000, 10_000)})
    await rates.add_counts({"a/one": TokenCount(6000, 2000)})
    await rates.add_counts({})
    found = await rates.rates_by_model(["a/one", "b/two", "c/never"])
    assert {model: one.tokens for model, one in found.items()} == {"a/one": 3000, "b/two": 10_000}
    assert found["b/two"].characters_per_token == pytest.approx(2.1, abs=0.01)


async def test_few_short_answers_barely_change_prior_rate(database: Database) -> None:
    await TokenRates(database).add_counts({"a/one": TokenCount(8, 8)})
    assert await characters_per_token(database) == pytest.approx(4.0, abs=0.1)


async def test_many_counts_override_prior_rate(database: Database) -> None:
    await TokenRates(database).add_counts({"a/one": TokenCount(150_000, 100_000)})
    assert await characters_per_token(database) == pytest.approx(1.5, abs=0.02)


async def test_rate_follows_a_model_that_changes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_rates, "DECAY_TOKENS", 10_000)
    rates = TokenRates(database)
    for _ in range(20):
        await rates.add_counts({"a/one": TokenCount(20_000, 4000)})
    assert await characters_per_token(database) == pytest.approx(5.0, abs=0.1)
    for _ in range(20):
        await rates.add_counts({"a/one": TokenCount(8000, 4000)})
    assert await characters_per_token(database) == pytest.approx(2.0, abs=0.1)
    (found,) = (await rates.rates_by_model(["a/one"])).values()
    assert found.tokens < 20_000, "and the past is bounded"


async def test_concurrent_counts_are_not_lost(database: Database) -> None:
    rates = TokenRates(database)
    both = {"b/two": TokenCount(40, 10), "a/one": TokenCount(40, 10)}
    await asyncio.gather(*(rates.add_counts(both) for _ in range(20)))
    found = await rates.rates_by_model(["a/one", "b/two"])
    assert [one.tokens for one in found.values()] == [200, 200]


@pytest.mark.parametrize(
    ("counted", "plausible"),
    [
        (TokenCount(40, 10), True),
        (TokenCount(10, 10), True),
        (TokenCount(0, 0), False),
        (TokenCount(1000, 1), False),
    ],
)
def test_implausible_rates_are_detected(counted: TokenCount, plausible: bool) -> None:
    assert counted.is_plausible == plausible
