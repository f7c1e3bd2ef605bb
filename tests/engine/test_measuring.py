from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.engine.measuring import Measuring, measured
from moot.model.measures import Counted, Measure
from moot.model.profiles import Profile
from moot.providers.catalogue import ProviderConfig
from moot.providers.registry import Registry
from moot.store.database import Database
from moot.store.token_rates import TokenRates
from tests.databases import migrated

VAGUE = ProviderConfig(base_url="http://127.0.0.1:9/v1")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with migrated("sqlite", tmp_path) as database:
        await TokenRates(database).add({"openai/gpt-4o": Counted(300_000, 100_000)})
        yield database


def measuring(database: Database, **fallback: tuple[str, ...]) -> Measuring:
    others = {name.replace("__", "/"): models for name, models in fallback.items()}
    return Measuring(TokenRates(database), Registry({"vague": VAGUE}, {}), others)


async def test_of_a_model_nobody_counted_nothing_is_known(database: Database) -> None:
    assert await measuring(database).of(["scripted/echo", "openai/gpt-4o-mini"], "single") == {}


async def test_a_model_counts_as_it_was_seen_to(database: Database) -> None:
    found = await measuring(database).of(["openai/gpt-4o"], "single")
    assert found == {"openai/gpt-4o": Measure(characters_per_token=3.005)}


async def test_where_something_has_to_fit_the_window_is_known_too(database: Database) -> None:
    found = await measuring(database).of(["openai/gpt-4o", "local/demo"], "advisors")
    assert found["openai/gpt-4o"] == Measure(characters_per_token=3.005, context=128_000)
    assert found["local/demo"].context is not None
    assert found["local/demo"].context < 10_000


async def test_it_has_to_fit_those_who_may_be_asked_instead(database: Database) -> None:
    wide = await measuring(database).of(["openai/gpt-4o"], "advisors")
    narrow = await measuring(database, openai__gpt_4o=()).of(["openai/gpt-4o"], "advisors")
    assert wide == narrow
    both = Measuring(TokenRates(database), Registry({}, {}), {"openai/gpt-4o": ("local/demo",)})
    found = (await both.of(["openai/gpt-4o"], "advisors"))["openai/gpt-4o"]
    assert found.context == (await both.of(["local/demo"], "advisors"))["local/demo"].context


async def test_a_provider_that_is_gone_or_set_up_wrongly_keeps_nobody_waiting(database: Database) -> None:
    assert await measuring(database).of(["gone/model", "vague/model"], "advisors") == {}


def test_the_smallest_window_counts_and_the_first_says_how_long_an_answer_is() -> None:
    profiles = [Profile(default_max_tokens=100), Profile(context=9000), Profile(context=5000)]
    assert measured(profiles, 2.0) == Measure(characters_per_token=2.0, context=5000, answer=100)
    assert measured([]) == Measure()
