from collections.abc import Mapping

import pytest

from moot.engine.casting import Casting
from moot.model.errors import MissingKey, UnknownModel, UsageError
from moot.providers.catalogue import ProviderConfig
from moot.providers.registry import Registry, Resolved
from moot.store.database import Database
from moot.store.keys import ProviderKeys
from moot.store.sealer import Sealer
from tests.store.people import ANNA, BERT, settle

SEALER = Sealer("8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u")
OPENAI = "https://api.openai.com"
SHARED = {"OPENAI_API_KEY": "sk-of-the-server", "SECOND_KEY": "sk-the-second"}


@pytest.fixture
async def keys(database: Database) -> ProviderKeys:
    await settle(database)
    return ProviderKeys(database, SEALER)


def casting(
    keys: ProviderKeys,
    environment: dict[str, str] | None = None,
    fallback: Mapping[str, tuple[str, ...]] | None = None,
    **configs: ProviderConfig,
) -> Casting:
    return Casting(Registry(configs, environment or {}, stored_keys=True), keys, fallback or {})


def secrets(resolved: Resolved) -> list[str]:
    """List all keys that would be tried, in their order."""
    tried: dict[str, str] = {}
    while (key := resolved.keys.next(set(tried))) is not None:
        tried[key.source] = key.secret
    return list(tried.values())


async def test_a_model_is_found_at_its_provider(keys: ProviderKeys) -> None:
    (one,) = await casting(keys).models(ANNA, "scripted/echo")
    assert (one.name, one.model, one.provider.name) == ("scripted/echo", "echo", "scripted")


async def test_whoever_stored_a_key_is_served_with_it_alone(keys: ProviderKeys) -> None:
    await keys.put(ANNA, "openai", OPENAI, "sk-of-anna")
    two_keys = ProviderConfig(key_env=("OPENAI_API_KEY", "SECOND_KEY"))
    cast = casting(keys, SHARED, openai=two_keys)
    (own,) = await cast.models(ANNA, "openai/gpt-5-mini")
    (shared,) = await cast.models(BERT, "openai/gpt-5-mini")
    assert secrets(own) == ["sk-of-anna"]
    assert secrets(shared) == ["sk-of-the-server", "sk-the-second"]


async def test_what_is_shown_of_an_own_key_is_that_it_was_stored(keys: ProviderKeys) -> None:
    await keys.put(ANNA, "openai", OPENAI, "sk-of-anna")
    (one,) = await casting(keys).models(ANNA, "openai/gpt-5-mini")
    key = one.keys.next(set())
    assert key is not None
    assert key.source == "the key you stored for openai"
    assert "sk-of-anna" not in repr(key)


async def test_a_key_that_was_stored_for_another_address_is_not_sent_there(keys: ProviderKeys) -> None:
    await keys.put(ANNA, "openai", "https://elsewhere.example", "sk-of-anna")
    (one,) = await casting(keys, SHARED).models(ANNA, "openai/gpt-5-mini")
    assert secrets(one) == ["sk-of-the-server"]


async def test_a_key_that_is_taken_back_is_used_no_more(keys: ProviderKeys) -> None:
    cast = casting(keys)
    await keys.put(ANNA, "openai", OPENAI, "sk-of-anna")
    assert len(await cast.models(ANNA, "openai/gpt-5-mini")) == 1
    await keys.drop(ANNA, "openai")
    with pytest.raises(MissingKey, match="PUT /api/keys/openai"):
        await cast.models(ANNA, "openai/gpt-5-mini")


async def test_fallbacks_follow_in_their_order_and_each_once(keys: ProviderKeys) -> None:
    fallback = {
        "scripted/slow": ("scripted/steady", "scripted/slow", "scripted/echo", "scripted/steady"),
        "scripted/steady": ("scripted/unauthorized",),
    }
    chain = await casting(keys, fallback=fallback).models(ANNA, "scripted/slow")
    assert [one.name for one in chain] == ["scripted/slow", "scripted/steady", "scripted/echo"]


async def test_a_model_without_fallbacks_has_none(keys: ProviderKeys) -> None:
    chain = await casting(keys, fallback={"scripted/slow": ("scripted/echo",)}).models(
        ANNA, "scripted/steady"
    )
    assert [one.name for one in chain] == ["scripted/steady"]


async def test_those_that_cannot_be_asked_are_passed_over(keys: ProviderKeys) -> None:
    fallback = {"openai/gpt-5-mini": ("nobody/none", "anthropic/claude", "scripted/echo")}
    chain = await casting(keys, fallback=fallback).models(ANNA, "openai/gpt-5-mini")
    assert [one.name for one in chain] == ["scripted/echo"]


async def test_a_fallback_is_asked_with_the_askers_own_key_too(keys: ProviderKeys) -> None:
    await keys.put(ANNA, "openai", OPENAI, "sk-of-anna")
    cast = casting(keys, fallback={"scripted/slow": ("openai/gpt-5-mini",)})
    assert [secrets(one) for one in await cast.models(ANNA, "scripted/slow")] == [[], ["sk-of-anna"]]
    assert [one.name for one in await cast.models(BERT, "scripted/slow")] == ["scripted/slow"]


async def test_where_nobody_can_be_asked_it_is_said_why_the_first_cannot(keys: ProviderKeys) -> None:
    fallback = {"openai/gpt-5-mini": ("nobody/none", "anthropic/claude")}
    with pytest.raises(MissingKey, match="No key for openai: set OPENAI_API_KEY"):
        await casting(keys, fallback=fallback).models(ANNA, "openai/gpt-5-mini")


async def test_a_provider_that_nobody_knows_is_refused_with_a_hint(keys: ProviderKeys) -> None:
    with pytest.raises(UnknownModel, match=r"Did you mean anthropic/…\?"):
        await casting(keys).models(ANNA, "antropic/claude")
    with pytest.raises(UnknownModel, match=r"Providers are: .*scripted"):
        await casting(keys).models(ANNA, "zzz/claude")


async def test_a_key_that_cannot_be_read_any_more_is_to_be_stored_again(
    database: Database, keys: ProviderKeys
) -> None:
    await keys.put(ANNA, "openai", OPENAI, "sk-of-anna")
    after_the_secret_changed = ProviderKeys(database, Sealer("another-secret-of-32-characters-xyz"))
    cast = casting(after_the_secret_changed, SHARED, {"openai/gpt-5-mini": ("scripted/echo",)})
    assert [one.name for one in await cast.models(ANNA, "openai/gpt-5-mini")] == ["scripted/echo"]
    with pytest.raises(MissingKey, match="store it again with PUT /api/keys/openai"):
        await cast.models(ANNA, "openai/gpt-5")


async def test_a_key_for_one_call_is_used_alone_and_not_remembered(keys: ProviderKeys) -> None:
    cast = casting(keys, SHARED, {"openai/gpt-5-mini": ("scripted/echo",)})
    one = cast.once("openai/gpt-5-mini", "sk-for-once")
    assert (one.name, one.model, secrets(one)) == ("openai/gpt-5-mini", "gpt-5-mini", ["sk-for-once"])
    assert "sk-for-once" not in repr(one.keys.next(set()))
    (later,) = [other for other in await cast.models(ANNA, "openai/gpt-5-mini") if other.keys]
    assert secrets(later) == ["sk-of-the-server"]


async def test_a_key_for_one_call_is_not_sent_where_none_is_taken(keys: ProviderKeys) -> None:
    with pytest.raises(UsageError, match="scripted takes no key: leave apiKey out"):
        casting(keys).once("scripted/echo", "sk-for-once")
    with pytest.raises(UnknownModel, match="Did you mean anthropic"):
        casting(keys).once("antropic/claude", "sk-for-once")
