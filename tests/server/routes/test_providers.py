import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.providers.catalog import ProviderConfig
from moot.server.routes.providers import NewKey
from moot.store.database import Database
from tests.server.account_app import AccountApp, create_account_app
from tests.support.database_files import read_database_files
from tests.support.databases import open_migrated_database

CANARY = "sk-canary-0123456789"
SERVER_KEY = "sk-server-9876543210"


@pytest.fixture
async def account_app(database: Database) -> AsyncIterator[AccountApp]:
    async with create_account_app(
        database, environment={"GROQ_API_KEY": SERVER_KEY, "MISTRAL_API_KEY": "two\nlines"}
    ) as app:
        yield app


async def key_statuses(account_app: AccountApp, headers: dict[str, str]) -> dict[str, str]:
    reply = await account_app.client.get("/api/providers", headers=headers)
    return {provider["name"]: provider["key"] for provider in reply.json()}


async def test_list_providers_contains_key_status(account_app: AccountApp) -> None:
    ada = await account_app.create_token_headers("ada")
    listed = {p["name"]: p for p in (await account_app.client.get("/api/providers", headers=ada)).json()}
    assert listed["groq"] == {
        "name": "groq",
        "api": "openai",
        "origin": "https://api.groq.com",
        "key": "server",
        "variables": ["GROQ_API_KEY"],
        "stored_at": None,
    }
    keys = {name: provider["key"] for name, provider in listed.items()}
    assert keys["anthropic"] == keys["lab"] == keys["mistral"] == "missing"
    assert keys["ollama"] == keys["local"] == keys["scripted"] == keys["bare"] == "not needed"
    assert listed["local"]["origin"] == ""


async def test_own_key_takes_precedence_over_server_key(account_app: AccountApp) -> None:
    ada, bob = await account_app.create_token_headers("ada"), await account_app.create_token_headers("bob")
    for provider in ("groq", "lab"):
        stored = await account_app.client.put(f"/api/keys/{provider}", json={"key": CANARY}, headers=ada)
        assert (stored.status_code, stored.content) == (204, b"")
    assert (await key_statuses(account_app, ada))["groq"] == (await key_statuses(account_app, ada))["lab"] == "own"
    assert (await key_statuses(account_app, bob))["groq"] == "server"
    assert (await key_statuses(account_app, bob))["lab"] == "missing"
    assert (await account_app.client.delete("/api/keys/groq", headers=ada)).status_code == 204
    assert (await key_statuses(account_app, ada))["groq"] == "server"


async def test_delete_key_finds_only_own_key(account_app: AccountApp) -> None:
    ada, bob = await account_app.create_token_headers("ada"), await account_app.create_token_headers("bob")
    await account_app.client.put("/api/keys/lab", json={"key": CANARY}, headers=ada)
    for provider in ("lab", "groq", "unknown", "%00"):
        reply = await account_app.client.delete(f"/api/keys/{provider}", headers=bob)
        assert reply.status_code == 404
    assert (await key_statuses(account_app, ada))["lab"] == "own"


@pytest.mark.parametrize("provider", ["ollama", "local", "scripted", "bare"])
async def test_store_key_is_rejected_for_provider_without_key(sqlite_account_app: AccountApp, provider: str) -> None:
    ada = await sqlite_account_app.create_token_headers("ada")
    reply = await sqlite_account_app.client.put(f"/api/keys/{provider}", json={"key": CANARY}, headers=ada)
    assert reply.status_code == 400
    assert CANARY not in reply.text


@pytest.mark.parametrize("provider", ["unknown", "%00", "lab'--"])
async def test_key_of_unknown_provider_is_not_found(sqlite_account_app: AccountApp, provider: str) -> None:
    ada = await sqlite_account_app.create_token_headers("ada")
    path = f"/api/keys/{provider}"
    put = await sqlite_account_app.client.put(path, json={"key": CANARY}, headers=ada)
    dropped = await sqlite_account_app.client.delete(path, headers=ada)
    assert (put.status_code, dropped.status_code) == (404, 404)
    assert CANARY not in put.text


@pytest.mark.parametrize(
    "key",
    [
        "",
        " ",
        f"{CANARY}\n",
        f"{CANARY} x",
        f" {CANARY}",
        f"{CANARY}é",
        CANARY * 30,
        5,
        None,
        [CANARY],
    ],
)
async def test_invalid_key_is_rejected_and_never_logged(
    sqlite_account_app: AccountApp, key: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ada = await sqlite_account_app.create_token_headers("ada")
    reply = await sqlite_account_app.client.put("/api/keys/lab", json={"key": key}, headers=ada)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "key")
    assert CANARY not in reply.text + caplog.text
    assert (await key_statuses(sqlite_account_app, ada))["lab"] == "missing"


async def test_stored_key_is_ignored_after_provider_address_changes(database: Database) -> None:
    async with create_account_app(database) as account_app:
        ada = await account_app.create_token_headers("ada")
        await account_app.client.put("/api/keys/lab", json={"key": CANARY}, headers=ada)
    moved = ProviderConfig(api="openai", base_url="http://evil.example/v1", key_env="LAB_KEY")
    async with create_account_app(database, lab=moved) as account_app:
        assert (await key_statuses(account_app, ada))["lab"] == "missing"


async def test_stored_key_appears_in_no_response_log_or_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        create_account_app(database, environment={"GROQ_API_KEY": SERVER_KEY}) as account_app,
    ):
        ada = await account_app.create_token_headers("ada")
        replies = [
            await account_app.client.put("/api/keys/lab", json={"key": CANARY}, headers=ada),
            await account_app.client.put("/api/keys/lab", json={"key": CANARY, "more": 1}, headers=ada),
            await account_app.client.put(
                "/api/keys/lab",
                content=f'{{"key": "{CANARY}"',
                headers=ada | {"Content-Type": "application/json"},
            ),
            await account_app.client.get("/api/providers", headers=ada),
            await account_app.client.get("/api/me", headers=ada),
            await account_app.client.delete("/api/keys/lab", headers=ada),
        ]
        stored = read_database_files(tmp_path)
    assert [reply.status_code for reply in replies] == [204, 400, 400, 200, 200, 204]
    for reply in replies:
        assert CANARY not in reply.text
        assert SERVER_KEY not in reply.text
        assert CANARY not in repr(reply.headers)
    assert CANARY not in caplog.text
    assert CANARY.encode() not in stored
    assert SERVER_KEY.encode() not in stored


def test_new_key_repr_hides_key() -> None:
    assert CANARY not in repr(NewKey(CANARY))
