import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from moot.server.rate_limits import RateLimits, client_address
from moot.settings import RateSettings
from moot.store.database import Database
from moot.store.rate_limits import RateLimiter
from moot.store.schema.discussions import discussion
from moot.store.schema.server import rate_limit
from moot.types.accounts import Caller
from moot.types.errors import RateLimited
from tests.server.account_app import PASSWORD, create_account_app
from tests.support.databases import ON_BOTH_DATABASES, open_migrated_database


@ON_BOTH_DATABASES
async def test_requests_beyond_limit_get_retry_after(database: Database) -> None:
    async with create_account_app(database, requests_per_minute=3) as account_app:
        ada, bob = await account_app.create_token_headers("ada"), await account_app.create_token_headers("bob")
        replies = [await account_app.client.get("/api/me", headers=ada) for _ in range(4)]
        assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 21
        assert (await account_app.client.get("/api/me", headers=bob)).status_code == 200


@ON_BOTH_DATABASES
async def test_anonymous_requests_are_counted_by_address(database: Database) -> None:
    async with create_account_app(database, requests_per_minute=2) as account_app:
        assert [(await account_app.client.get("/healthz")).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer moot_wrong"}, {"Cookie": "moot_session=old"}])
async def test_unauthorized_requests_are_counted_by_address(tmp_path: Path, headers: dict[str, str]) -> None:
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        create_account_app(database, requests_per_minute=3) as account_app,
    ):
        ada = await account_app.create_token_headers("ada")
        replies = [await account_app.client.get("/api/me", headers=headers) for _ in range(4)]
        assert [reply.status_code for reply in replies] == [401, 401, 401, 429]
        assert int(replies[-1].headers["retry-after"]) >= 1
        assert (await account_app.client.get("/api/me", headers=ada)).status_code == 200, "others are not counted"


@ON_BOTH_DATABASES
async def test_messages_have_separate_limit_per_account(database: Database) -> None:
    async with create_account_app(database, message_rate=(5, 5)) as account_app:
        ada, bob = await account_app.create_token_headers("ada"), await account_app.create_token_headers("bob")
        replies = await asyncio.gather(*(account_app.create_discussion(ada) for _ in range(20)))
        assert sorted(reply.status_code for reply in replies) == [201] * 5 + [429] * 15
        assert all("retry-after" in reply.headers for reply in replies if reply.status_code == 429)
        assert (await account_app.client.get("/api/me", headers=ada)).status_code == 200
        assert (await account_app.create_discussion(bob)).status_code == 201


@ON_BOTH_DATABASES
async def test_limits_are_shared_by_tokens_of_account(database: Database) -> None:
    async with create_account_app(database, message_rate=(2, 2), requests_per_minute=3) as account_app:
        ada = await account_app.create_token_headers("ada")
        caller = Caller(account="ada", tenant="ada", name="ada", kind="local")
        secret, _ = await account_app.accounts.create_token(caller, "second")
        second = {"Authorization": f"Bearer {secret}"}
        replies = [await account_app.create_discussion(who) for who in (ada, second, second)]
        assert [reply.status_code for reply in replies] == [201, 201, 429]
        assert (await account_app.client.get("/api/me", headers=second)).status_code == 429


@ON_BOTH_DATABASES
async def test_message_burst_counts_create_send_and_continue(database: Database) -> None:
    async with create_account_app(database, message_rate=(10, 3)) as account_app:
        ada = await account_app.create_token_headers("ada")
        opened = await account_app.create_discussion(ada)
        path = f"/api/discussions/{opened.json()['discussion']['id']}"
        sent = await account_app.client.post(f"{path}/messages", json={"message": "And?"}, headers=ada)
        continued = await account_app.client.post(f"{path}/continue", json={}, headers=ada)
        assert [sent.status_code, continued.status_code] == [202, 409], "a run is still live"
        refused = await account_app.create_discussion(ada)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "6")
        assert "Too many messages" in refused.json()["detail"]


@ON_BOTH_DATABASES
async def test_debate_message_counts_as_message_and_debate(database: Database) -> None:
    async with create_account_app(database, debate_rate=(5, 1)) as account_app:
        ada = await account_app.create_token_headers("ada")
        id = (await account_app.create_discussion(ada)).json()["discussion"]["id"]
        async with database.write() as connection:
            await connection.execute(update(discussion).where(discussion.c.id == id).values(mode="debate"))
        limits: RateLimits = account_app.app.state["rate_limits"]
        await limits.count_run_start("ada", "debate")
        sent = await account_app.client.post(f"/api/discussions/{id}/messages", json={"message": "And?"}, headers=ada)
        assert (sent.status_code, sent.headers["retry-after"]) == (429, "12")
        assert "Too many debates" in sent.json()["detail"]
        assert (await account_app.create_discussion(ada)).status_code == 201, (
            "other messages are not counted as debates"
        )


@ON_BOTH_DATABASES
async def test_model_requests_have_separate_limit(database: Database) -> None:
    async with create_account_app(database, model_requests_per_minute=2) as account_app:
        ada = await account_app.create_token_headers("ada")
        path = "/api/models?provider=scripted"
        replies = [await account_app.client.get(path, headers=ada) for _ in range(3)]
        assert [reply.status_code for reply in replies] == [200, 200, 429]
        assert (await account_app.create_discussion(ada)).status_code == 201


@ON_BOTH_DATABASES
async def test_login_attempts_are_limited(database: Database) -> None:
    async with create_account_app(database, logins_per_minute=3) as account_app:
        await account_app.accounts.create_account("ada", PASSWORD)
        replies = [await account_app.log_in("ada", "wrong password") for _ in range(3)]
        assert [reply.status_code for reply in replies] == [401] * 3
        assert (await account_app.log_in("ada", PASSWORD)).status_code == 429


def create_strict_limits(database: Database) -> RateLimits:
    return RateLimits(RateLimiter(database), RateSettings(), logins_per_minute=2)


@ON_BOTH_DATABASES
async def test_logins_are_counted_by_name_and_by_address(database: Database) -> None:
    counted = create_strict_limits(database)
    for address in ("10.0.0.1", "10.0.0.2"):
        await counted.count_login("ada", address)
    with pytest.raises(RateLimited):
        await counted.count_login("ada", "10.0.0.3")
    await counted.count_login("bob", "10.0.0.1")
    with pytest.raises(RateLimited):
        await counted.count_login("cleo", "10.0.0.1")


@ON_BOTH_DATABASES
async def test_login_name_is_not_stored_as_plain_text(database: Database) -> None:
    counted = create_strict_limits(database)
    await counted.count_login("my password by mistake\x00", "10.0.0.1")
    async with database.read() as connection:
        names = (await connection.execute(select(rate_limit.c.name))).scalars().all()
    assert len(names) == 2
    assert "mistake" not in repr(names)


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
        (None, "here"),
    ],
)
def test_client_address_is_ipv4_or_ipv6_network(host: str | None, counted: str) -> None:
    connection: Any = SimpleNamespace(client=SimpleNamespace(host=host) if host else None)
    assert client_address(connection) == counted
