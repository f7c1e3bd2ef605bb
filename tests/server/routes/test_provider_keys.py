import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.providers.catalog import ProviderConfig
from moot.server.routes.provider_keys import NewKey
from moot.store.database import Database
from tests.databases import migrated
from tests.server.house import House, built
from tests.store.raw import raw

CANARY = "sk-canary-0123456789"
SERVER = "sk-server-9876543210"


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    async with built(
        database, environment={"GROQ_API_KEY": SERVER, "MISTRAL_API_KEY": "two\nlines"}
    ) as house:
        yield house


async def statuses(house: House, who: dict[str, str]) -> dict[str, str]:
    reply = await house.client.get("/api/providers", headers=who)
    return {provider["name"]: provider["key"] for provider in reply.json()}


async def test_every_provider_says_whether_there_is_a_key(house: House) -> None:
    ada = await house.bearer("ada")
    listed = {p["name"]: p for p in (await house.client.get("/api/providers", headers=ada)).json()}
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


async def test_a_key_of_one_s_own_comes_before_the_server_s(house: House) -> None:
    ada, bob = await house.bearer("ada"), await house.bearer("bob")
    for provider in ("groq", "lab"):
        stored = await house.client.put(f"/api/keys/{provider}", json={"key": CANARY}, headers=ada)
        assert (stored.status_code, stored.content) == (204, b"")
    assert (await statuses(house, ada))["groq"] == (await statuses(house, ada))["lab"] == "own"
    assert (await statuses(house, bob))["groq"] == "server"
    assert (await statuses(house, bob))["lab"] == "missing"
    assert (await house.client.delete("/api/keys/groq", headers=ada)).status_code == 204
    assert (await statuses(house, ada))["groq"] == "server"


async def test_only_one_s_own_key_can_be_deleted(house: House) -> None:
    ada, bob = await house.bearer("ada"), await house.bearer("bob")
    await house.client.put("/api/keys/lab", json={"key": CANARY}, headers=ada)
    for provider in ("lab", "groq", "unknown", "%00"):
        reply = await house.client.delete(f"/api/keys/{provider}", headers=bob)
        assert reply.status_code == 404
    assert (await statuses(house, ada))["lab"] == "own"


@pytest.mark.parametrize("provider", ["ollama", "local", "scripted", "bare"])
async def test_a_provider_that_takes_no_key_gets_none(cottage: House, provider: str) -> None:
    ada = await cottage.bearer("ada")
    reply = await cottage.client.put(f"/api/keys/{provider}", json={"key": CANARY}, headers=ada)
    assert reply.status_code == 400
    assert CANARY not in reply.text


@pytest.mark.parametrize("provider", ["unknown", "%00", "lab'--"])
async def test_a_provider_that_is_not_there_is_not_found(cottage: House, provider: str) -> None:
    ada = await cottage.bearer("ada")
    path = f"/api/keys/{provider}"
    put = await cottage.client.put(path, json={"key": CANARY}, headers=ada)
    dropped = await cottage.client.delete(path, headers=ada)
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
async def test_what_cannot_be_a_key_is_refused_unseen(
    cottage: House, key: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ada = await cottage.bearer("ada")
    reply = await cottage.client.put("/api/keys/lab", json={"key": key}, headers=ada)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "key")
    assert CANARY not in reply.text + caplog.text
    assert (await statuses(cottage, ada))["lab"] == "missing"


async def test_a_key_that_was_stored_for_another_address_is_not_one_s_own(database: Database) -> None:
    async with built(database) as house:
        ada = await house.bearer("ada")
        await house.client.put("/api/keys/lab", json={"key": CANARY}, headers=ada)
    moved = ProviderConfig(api="openai", base_url="http://evil.example/v1", key_env="LAB_KEY")
    async with built(database, lab=moved) as house:
        assert (await statuses(house, ada))["lab"] == "missing"


async def test_a_key_is_nowhere_to_be_seen_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        migrated("sqlite", tmp_path) as database,
        built(database, environment={"GROQ_API_KEY": SERVER}) as house,
    ):
        ada = await house.bearer("ada")
        replies = [
            await house.client.put("/api/keys/lab", json={"key": CANARY}, headers=ada),
            await house.client.put("/api/keys/lab", json={"key": CANARY, "more": 1}, headers=ada),
            await house.client.put(
                "/api/keys/lab",
                content=f'{{"key": "{CANARY}"',
                headers=ada | {"Content-Type": "application/json"},
            ),
            await house.client.get("/api/providers", headers=ada),
            await house.client.get("/api/me", headers=ada),
            await house.client.delete("/api/keys/lab", headers=ada),
        ]
        stored = raw(tmp_path)
    assert [reply.status_code for reply in replies] == [204, 400, 400, 200, 200, 204]
    for reply in replies:
        assert CANARY not in reply.text
        assert SERVER not in reply.text
        assert CANARY not in repr(reply.headers)
    assert CANARY not in caplog.text
    assert CANARY.encode() not in stored
    assert SERVER.encode() not in stored


def test_a_key_does_not_show_itself() -> None:
    assert CANARY not in repr(NewKey(CANARY))
