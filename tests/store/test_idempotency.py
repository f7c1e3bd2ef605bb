import asyncio

import pytest
from msgspec import Struct
from sqlalchemy import func, select, update

from moot.store.database import Database
from moot.store.idempotency import (
    MAX_REQUEST_SECONDS,
    RETENTION_SECONDS,
    hash_request,
    release_idempotency_key,
    reserve_idempotency_key,
    reserve_key_for_slow_request,
    store_idempotent_reply,
)
from moot.store.schema import idempotency
from moot.types.errors import Conflict
from tests.store.people import ANNA, BERT, settle


class Reply(Struct, frozen=True):
    words: str
    number: int


class Desk:
    """Answers requests, and counts how often it had to do something for it."""

    def __init__(self, database: Database) -> None:
        self.done = 0
        self._database = database

    async def ask(self, request: object, key: str = "key", tenant: str = ANNA) -> Reply:
        async with self._database.write() as connection:
            if (
                earlier := await reserve_idempotency_key(
                    self._database, connection, tenant, key, request, Reply
                )
            ) is not None:
                return earlier
            await asyncio.sleep(0)
            self.done += 1
            reply = Reply(f"done: {request}", self.done)
            await store_idempotent_reply(connection, tenant, key, reply)
            if request == "fail":
                raise ZeroDivisionError
        return reply


@pytest.fixture
async def desk(database: Database) -> Desk:
    await settle(database)
    return Desk(database)


async def test_36_a_request_that_comes_again_gets_the_reply_of_the_first(desk: Desk) -> None:
    first = await desk.ask("tea")
    assert await desk.ask("tea") == first == Reply("done: tea", 1)
    assert desk.done == 1


async def test_36_requests_that_come_at_once_are_done_once(desk: Desk) -> None:
    replies = await asyncio.gather(*(desk.ask("tea") for _ in range(10)))
    assert set(replies) == {Reply("done: tea", 1)}
    assert desk.done == 1


async def test_another_request_with_the_same_key_is_refused(desk: Desk) -> None:
    first = await desk.ask("tea")
    with pytest.raises(Conflict, match="used for another request"):
        await desk.ask("coffee")
    assert await desk.ask("tea") == first
    assert desk.done == 1


async def test_keys_are_each_tenant_s_own(desk: Desk) -> None:
    await desk.ask("tea", tenant=ANNA)
    assert await desk.ask("coffee", tenant=BERT) == Reply("done: coffee", 2)
    assert await desk.ask("coffee", key="another") == Reply("done: coffee", 3)


async def test_what_failed_may_be_tried_again_with_the_same_key(desk: Desk) -> None:
    with pytest.raises(ZeroDivisionError):
        await desk.ask("fail")
    assert await desk.ask("tea") == Reply("done: tea", 2)


async def test_of_two_at_once_the_second_is_done_where_the_first_fails(desk: Desk) -> None:
    ends = await asyncio.gather(desk.ask("fail"), desk.ask("fail"), desk.ask("fail"), return_exceptions=True)
    assert [type(end) for end in ends] == [ZeroDivisionError] * 3


async def test_replies_are_forgotten_after_a_day(database: Database, desk: Desk) -> None:
    await desk.ask("tea", key="old")
    await desk.ask("tea", key="young")
    async with database.write() as connection:
        aged = update(idempotency).where(idempotency.c.key == "old")
        await connection.execute(aged.values(created_at=idempotency.c.created_at - RETENTION_SECONDS - 1))
    assert await desk.ask("coffee", key="old") == Reply("done: coffee", 3)
    assert await desk.ask("tea", key="young") == Reply("done: tea", 2)
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(idempotency))).scalar() == 2


def test_a_fingerprint_tells_requests_apart() -> None:
    asked = [Reply("tea", 1), Reply("tea", 2), ("tea", 1), "tea", None]
    assert len({hash_request(one) for one in asked}) == len(asked)
    assert hash_request(Reply("tea", 1)) == hash_request(Reply("tea", 1))


async def test_what_takes_a_while_is_refused_until_there_is_a_reply_or_nothing_came(
    database: Database,
) -> None:
    await settle(database)
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", Reply) is None
    with pytest.raises(Conflict, match="still being answered"):
        await reserve_key_for_slow_request(database, ANNA, "slow", "tea", Reply)
    await release_idempotency_key(database, ANNA, "slow")
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", Reply) is None
    async with database.write() as connection:
        await store_idempotent_reply(connection, ANNA, "slow", Reply("tea", 1))
    await release_idempotency_key(database, ANNA, "slow")
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", Reply) == Reply("tea", 1)


async def test_a_key_whose_server_has_died_can_be_used_again(database: Database) -> None:
    await settle(database)
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", Reply) is None
    async with database.write() as connection:
        await connection.execute(
            update(idempotency).values(created_at=idempotency.c.created_at - MAX_REQUEST_SECONDS - 1)
        )
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", Reply) is None
