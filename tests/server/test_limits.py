import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select

from moot.model.accounts import Caller
from moot.model.errors import Busy
from moot.server import limits
from moot.server.limits import RateLimits, Recent, address
from moot.store.database import Database
from moot.store.rates import Rates
from moot.store.schema import rate
from tests.databases import migrated
from tests.server.house import PASSWORD, built


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_in_memory_the_count_is_the_same_as_in_the_database() -> None:
    clock = Clock()
    recent = Recent(clock)
    assert [recent.take("ada", 3) is None for _ in range(5)] == [True, True, True, False, False]
    assert recent.take("ada", 3) == pytest.approx(20, abs=0.01)
    clock.now += 20
    assert [recent.take("ada", 3) is None for _ in range(2)] == [True, False]
    assert recent.take("bob", 3) is None
    clock.now += 3600
    assert [recent.take("ada", 3) is None for _ in range(4)] == [True, True, True, False]


def test_memory_is_bounded_and_keeps_who_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMEMBERED", 3)
    recent = Recent(Clock())
    assert recent.take("ada", 1) is None
    for n in range(50):
        recent.take(f"visitor {n}", 1)
        assert recent.take("ada", 1) is not None
    assert len(recent._free_at) == 3


async def test_calls_beyond_the_limit_are_told_when_to_come_back(database: Database) -> None:
    async with built(database, calls_a_minute=3) as house:
        ada, bob = await house.bearer("ada"), await house.bearer("bob")
        replies = [await house.client.get("/api/me", headers=ada) for _ in range(4)]
        assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 21
        assert (await house.client.get("/api/me", headers=bob)).status_code == 200


async def test_whoever_is_not_known_is_counted_by_address(database: Database) -> None:
    async with built(database, calls_a_minute=2) as house:
        assert [(await house.client.get("/healthz")).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer moot_wrong"}, {"Cookie": "moot_session=old"}]
)
async def test_whoever_is_refused_is_counted_by_address(tmp_path: Path, headers: dict[str, str]) -> None:
    async with migrated("sqlite", tmp_path) as database, built(database, calls_a_minute=3) as house:
        ada = await house.bearer("ada")
        replies = [await house.client.get("/api/me", headers=headers) for _ in range(4)]
        assert [reply.status_code for reply in replies] == [401, 401, 401, 429]
        assert int(replies[-1].headers["retry-after"]) >= 1
        assert (await house.client.get("/api/me", headers=ada)).status_code == 200, "others are not counted"


async def test_calls_that_start_models_have_a_limit_of_their_own(database: Database) -> None:
    async with built(database, starts_a_minute=5) as house:
        ada, bob = await house.bearer("ada"), await house.bearer("bob")
        replies = await asyncio.gather(*(house.ask(ada) for _ in range(20)))
        assert sorted(reply.status_code for reply in replies) == [201] * 5 + [429] * 15
        assert all("retry-after" in reply.headers for reply in replies if reply.status_code == 429)
        assert (await house.client.get("/api/me", headers=ada)).status_code == 200
        assert (await house.ask(bob)).status_code == 201


async def test_another_token_of_the_same_account_does_not_help(database: Database) -> None:
    async with built(database, starts_a_minute=2, calls_a_minute=3) as house:
        ada = await house.bearer("ada")
        caller = Caller(account="ada", tenant="ada", name="ada", kind="local")
        secret, _ = await house.accounts.make_token(caller, "second")
        second = {"Authorization": f"Bearer {secret}"}
        replies = [await house.ask(who) for who in (ada, second, second)]
        assert [reply.status_code for reply in replies] == [201, 201, 429]
        assert (await house.client.get("/api/me", headers=second)).status_code == 429


async def test_passwords_cannot_be_tried_without_end(database: Database) -> None:
    async with built(database, logins_a_minute=3) as house:
        await house.accounts.add("ada", PASSWORD)
        replies = [await house.log_in("ada", "wrong password") for _ in range(3)]
        assert [reply.status_code for reply in replies] == [401] * 3
        assert (await house.log_in("ada", PASSWORD)).status_code == 429


async def test_log_ins_are_counted_by_name_and_by_address(database: Database) -> None:
    counted = RateLimits(Rates(database), calls_a_minute=9, starts_a_minute=9, logins_a_minute=2)
    for place in ("10.0.0.1", "10.0.0.2"):
        await counted.log_in("ada", place)
    with pytest.raises(Busy):
        await counted.log_in("ada", "10.0.0.3")
    await counted.log_in("bob", "10.0.0.1")
    with pytest.raises(Busy):
        await counted.log_in("cleo", "10.0.0.1")


async def test_a_name_that_was_tried_is_not_kept_in_words(database: Database) -> None:
    counted = RateLimits(Rates(database), calls_a_minute=9, starts_a_minute=9)
    await counted.log_in("my password by mistake\x00", "10.0.0.1")
    async with database.read() as connection:
        names = (await connection.execute(select(rate.c.name))).scalars().all()
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
def test_one_household_is_one_address(host: str | None, counted: str) -> None:
    connection: Any = SimpleNamespace(client=SimpleNamespace(host=host) if host else None)
    assert address(connection) == counted
