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
from moot.store.schema.server import idempotency_key
from moot.types.errors import Conflict
from tests.support.accounts import ANNA, BERT, create_accounts


class SampleReply(Struct, frozen=True):
    words: str
    number: int


class RequestHandler:
    """Answers requests and counts how often it executes one."""

    def __init__(self, database: Database) -> None:
        self.executed = 0
        self._database = database

    async def handle_request(self, request: object, key: str = "key", tenant: str = ANNA) -> SampleReply:
        async with self._database.write() as connection:
            if (
                earlier := await reserve_idempotency_key(self._database, connection, tenant, key, request, SampleReply)
            ) is not None:
                return earlier
            await asyncio.sleep(0)
            self.executed += 1
            reply = SampleReply(f"done: {request}", self.executed)
            await store_idempotent_reply(connection, tenant, key, reply)
            if request == "fail":
                raise ZeroDivisionError
        return reply


@pytest.fixture
async def handler(database: Database) -> RequestHandler:
    await create_accounts(database)
    return RequestHandler(database)


async def test_repeated_request_gets_first_reply(handler: RequestHandler) -> None:
    first = await handler.handle_request("tea")
    assert await handler.handle_request("tea") == first == SampleReply("done: tea", 1)
    assert handler.executed == 1


async def test_concurrent_requests_are_executed_once(handler: RequestHandler) -> None:
    replies = await asyncio.gather(*(handler.handle_request("tea") for _ in range(10)))
    assert set(replies) == {SampleReply("done: tea", 1)}
    assert handler.executed == 1


async def test_key_is_rejected_for_another_request(handler: RequestHandler) -> None:
    first = await handler.handle_request("tea")
    with pytest.raises(Conflict, match="used for another request"):
        await handler.handle_request("coffee")
    assert await handler.handle_request("tea") == first
    assert handler.executed == 1


async def test_keys_belong_to_their_tenant(handler: RequestHandler) -> None:
    await handler.handle_request("tea", tenant=ANNA)
    assert await handler.handle_request("coffee", tenant=BERT) == SampleReply("done: coffee", 2)
    assert await handler.handle_request("coffee", key="another") == SampleReply("done: coffee", 3)


async def test_failed_request_can_be_retried_with_same_key(handler: RequestHandler) -> None:
    with pytest.raises(ZeroDivisionError):
        await handler.handle_request("fail")
    assert await handler.handle_request("tea") == SampleReply("done: tea", 2)


async def test_concurrent_requests_are_each_executed_when_all_fail(handler: RequestHandler) -> None:
    ends = await asyncio.gather(
        handler.handle_request("fail"),
        handler.handle_request("fail"),
        handler.handle_request("fail"),
        return_exceptions=True,
    )
    assert [type(end) for end in ends] == [ZeroDivisionError] * 3


async def test_replies_expire_after_a_day(database: Database, handler: RequestHandler) -> None:
    await handler.handle_request("tea", key="old")
    await handler.handle_request("tea", key="young")
    async with database.write() as connection:
        aged = update(idempotency_key).where(idempotency_key.c.key == "old")
        await connection.execute(aged.values(created_at=idempotency_key.c.created_at - RETENTION_SECONDS - 1))
    assert await handler.handle_request("coffee", key="old") == SampleReply("done: coffee", 3)
    assert await handler.handle_request("tea", key="young") == SampleReply("done: tea", 2)
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(idempotency_key))).scalar() == 2


def test_hash_request_distinguishes_requests() -> None:
    asked = [SampleReply("tea", 1), SampleReply("tea", 2), ("tea", 1), "tea", None]
    assert len({hash_request(one) for one in asked}) == len(asked)
    assert hash_request(SampleReply("tea", 1)) == hash_request(SampleReply("tea", 1))


async def test_slow_request_reserves_key_until_reply_or_release(
    database: Database,
) -> None:
    await create_accounts(database)
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) is None
    with pytest.raises(Conflict, match="still being answered"):
        await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply)
    await release_idempotency_key(database, ANNA, "slow")
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) is None
    async with database.write() as connection:
        await store_idempotent_reply(connection, ANNA, "slow", SampleReply("tea", 1))
    await release_idempotency_key(database, ANNA, "slow")
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) == SampleReply("tea", 1)


async def test_key_reserved_by_dead_server_can_be_reused(database: Database) -> None:
    await create_accounts(database)
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) is None
    async with database.write() as connection:
        await connection.execute(
            update(idempotency_key).values(created_at=idempotency_key.c.created_at - MAX_REQUEST_SECONDS - 1)
        )
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) is None
