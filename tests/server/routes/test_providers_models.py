from collections.abc import AsyncIterator
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from moot.providers.catalog import ProviderConfig
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS
from moot.server.routes import providers
from moot.store.billing.usage import TokenRates
from moot.types.model_info import TokenCount
from tests.server.account_app import AccountApp, create_account_app
from tests.support.databases import open_migrated_database
from tests.support.provider_turns import API_KEY, ProviderServerSetup

UNREACHABLE_URL = "http://127.0.0.1:9/v1"
UNREACHABLE_SERVERS = {f"{name}_BASE_URL": UNREACHABLE_URL for name in ("OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM")}


@pytest.fixture(autouse=True)
def _long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give providers time to list their models on a busy machine."""
    monkeypatch.setattr(providers, "LIST_MODELS_SECONDS", 60.0)


@pytest.fixture
async def account_app(tmp_path: Path, provider_server: ProviderServerSetup) -> AsyncIterator[AccountApp]:
    """A server with its own key for one provider, and none for another."""
    base_url = f"{provider_server.url}/v1"
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        create_account_app(
            database,
            environment={"GIVEN_KEY": API_KEY, "BROKEN_KEY": "two\nlines", **UNREACHABLE_SERVERS},
            given=ProviderConfig(api="openai", base_url=base_url, key_env="GIVEN_KEY"),
            asked=ProviderConfig(api="openai", base_url=base_url, key_env="ASKED_KEY"),
            broken=ProviderConfig(api="openai", base_url=base_url, key_env="BROKEN_KEY"),
            vague=ProviderConfig(base_url=base_url),
        ) as app,
    ):
        yield app


async def list_models(account_app: AccountApp, headers: dict[str, str], query: str = "") -> dict[str, Any]:
    reply = await account_app.client.get(f"/api/models{query}", headers=headers)
    assert reply.status_code == 200, reply.text
    return {one["provider"]: one for one in reply.json()}


async def test_every_provider_lists_models_or_error(account_app: AccountApp) -> None:
    found = await list_models(account_app, await account_app.create_token_headers("ada"))
    assert found["given"] == {
        "provider": "given",
        "key": "server",
        "ready": True,
        "note": None,
        "models": sorted(f"given/{name}" for name in BUILT_IN_SCRIPTS),
        "default_model": None,
        "token_rates": {},
        "error": None,
    }
    assert "scripted/echo" in found["scripted"]["models"]
    assert (found["ollama"]["key"], found["ollama"]["models"]) == ("not needed", [])
    assert found["ollama"]["error"] == "Cannot connect to ollama at 127.0.0.1:9. Is it running?"
    assert (found["asked"]["key"], found["asked"]["models"]) == ("missing", [])
    assert "ASKED_KEY" in found["asked"]["error"]
    assert "BROKEN_KEY has a line break" in found["broken"]["error"]
    assert "needs api" in found["vague"]["error"]


async def test_provider_readiness_depends_on_key_and_reachability(
    tmp_path: Path, provider_server: ProviderServerSetup
) -> None:
    environment = UNREACHABLE_SERVERS | {"OLLAMA_BASE_URL": f"{provider_server.url}/v1", "GIVEN_KEY": API_KEY}
    given = ProviderConfig(api="openai", base_url=f"{provider_server.url}/v1", key_env="GIVEN_KEY")
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        create_account_app(database, environment=environment, given=given) as account_app,
    ):
        found = await list_models(account_app, await account_app.create_token_headers("ada"))
    key_states = {name: (one["ready"], one["key"]) for name, one in found.items()}
    assert key_states["ollama"] == key_states["scripted"] == (True, "not needed")
    assert key_states["given"] == (True, "server")
    assert key_states["vllm"] == (False, "not needed")
    assert key_states["anthropic"] == (False, "missing")


def test_default_model_is_one_of_listed_models() -> None:
    assert providers.find_default_model("one", ["one/big", "one/small", "one/small-new"], "small") == "one/small"
    assert providers.find_default_model("one", ["one/big", "one/small-2026"], "small") == "one/small-2026"
    assert providers.find_default_model("one", ["one/big"], "small") is None
    assert providers.find_default_model("one", ["one/big"], None) is None


async def test_demonstration_providers_have_note(account_app: AccountApp) -> None:
    found = await list_models(account_app, await account_app.create_token_headers("ada"))
    assert {name for name, one in found.items() if one["note"]} == {"local", "scripted"}
    assert "tiny demonstration model" in found["local"]["note"]


async def test_own_key_is_used_to_list_models(account_app: AccountApp, provider_server: ProviderServerSetup) -> None:
    ada, bob = await account_app.create_token_headers("ada"), await account_app.create_token_headers("bob")
    await account_app.client.put("/api/keys/asked", json={"key": "sk-of-ada"}, headers=ada)
    (own,) = (await list_models(account_app, ada, "?provider=asked")).values()
    assert (own["key"], own["error"], "asked/echo" in own["models"]) == ("own", None, True)
    assert (await list_models(account_app, bob, "?provider=asked"))["asked"]["key"] == "missing"


async def test_provider_query_lists_only_that_provider(account_app: AccountApp) -> None:
    ada = await account_app.create_token_headers("ada")
    assert list(await list_models(account_app, ada, "?provider=scripted")) == ["scripted"]
    refused = await account_app.client.get("/api/models?provider=nobody", headers=ada)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "provider")


async def test_silent_provider_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "LIST_MODELS_SECONDS", 0.05)
    with create_server(("127.0.0.1", 0)) as silent:
        mute = ProviderConfig(api="openai", base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        async with (
            open_migrated_database("sqlite", tmp_path) as database,
            create_account_app(database, mute=mute) as account_app,
        ):
            found = await list_models(account_app, await account_app.create_token_headers("ada"), "?provider=mute")
    assert found["mute"]["error"] == "mute did not answer within 0.05 s."


async def test_provider_models_contain_recorded_token_rates(
    account_app: AccountApp,
) -> None:
    await TokenRates(account_app.database).add_counts(
        {"scripted/echo": TokenCount(300_000, 100_000), "gone/x": TokenCount(4, 1)}
    )
    found = await list_models(account_app, await account_app.create_token_headers("ada"), "?provider=scripted")
    assert found["scripted"]["token_rates"] == {"scripted/echo": {"characters_per_token": 3.005, "tokens": 100_000}}
