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
from tests.store.people import ANNA, BERT, create_accounts


class SampleReply(Struct, frozen=True):
    words: str
    number: int


class RequestHandler:
    """Answers requests, and counts how often it had to do something for it."""

    def __init__(self, database: Database) -> None:
        self.executed = 0
        self._database = database

    async def handle_request(self, request: object, key: str = "key", tenant: str = ANNA) -> SampleReply:
        async with self._database.write() as connection:
            if (
                earlier := await reserve_idempotency_key(
                    self._database, connection, tenant, key, request, SampleReply
                )
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


async def test_36_a_request_that_comes_again_gets_the_reply_of_the_first(handler: RequestHandler) -> None:
    first = await handler.handle_request("tea")
    assert await handler.handle_request("tea") == first == SampleReply("done: tea", 1)
    assert handler.executed == 1


async def test_36_requests_that_come_at_once_are_done_once(handler: RequestHandler) -> None:
    replies = await asyncio.gather(*(handler.handle_request("tea") for _ in range(10)))
    assert set(replies) == {SampleReply("done: tea", 1)}
    assert handler.executed == 1


async def test_another_request_with_the_same_key_is_refused(handler: RequestHandler) -> None:
    first = await handler.handle_request("tea")
    with pytest.raises(Conflict, match="used for another request"):
        await handler.handle_request("coffee")
    assert await handler.handle_request("tea") == first
    assert handler.executed == 1


async def test_keys_are_each_tenant_s_own(handler: RequestHandler) -> None:
    await handler.handle_request("tea", tenant=ANNA)
    assert await handler.handle_request("coffee", tenant=BERT) == SampleReply("done: coffee", 2)
    assert await handler.handle_request("coffee", key="another") == SampleReply("done: coffee", 3)


async def test_what_failed_may_be_tried_again_with_the_same_key(handler: RequestHandler) -> None:
    with pytest.raises(ZeroDivisionError):
        await handler.handle_request("fail")
    assert await handler.handle_request("tea") == SampleReply("done: tea", 2)


async def test_of_two_at_once_the_second_is_done_where_the_first_fails(handler: RequestHandler) -> None:
    ends = await asyncio.gather(
        handler.handle_request("fail"),
        handler.handle_request("fail"),
        handler.handle_request("fail"),
        return_exceptions=True,
    )
    assert [type(end) for end in ends] == [ZeroDivisionError] * 3


async def test_replies_are_forgotten_after_a_day(database: Database, handler: RequestHandler) -> None:
    await handler.handle_request("tea", key="old")
    await handler.handle_request("tea", key="young")
    async with database.write() as connection:
        aged = update(idempotency).where(idempotency.c.key == "old")
        await connection.execute(aged.values(created_at=idempotency.c.created_at - RETENTION_SECONDS - 1))
    assert await handler.handle_request("coffee", key="old") == SampleReply("done: coffee", 3)
    assert await handler.handle_request("tea", key="young") == SampleReply("done: tea", 2)
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(idempotency))).scalar() == 2


def test_a_fingerprint_tells_requests_apart() -> None:
    asked = [SampleReply("tea", 1), SampleReply("tea", 2), ("tea", 1), "tea", None]
    assert len({hash_request(one) for one in asked}) == len(asked)
    assert hash_request(SampleReply("tea", 1)) == hash_request(SampleReply("tea", 1))


async def test_what_takes_a_while_is_refused_until_there_is_a_reply_or_nothing_came(
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
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) == SampleReply(
        "tea", 1
    )


async def test_a_key_whose_server_has_died_can_be_used_again(database: Database) -> None:
    await create_accounts(database)
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) is None
    async with database.write() as connection:
        await connection.execute(
            update(idempotency).values(created_at=idempotency.c.created_at - MAX_REQUEST_SECONDS - 1)
        )
    assert await reserve_key_for_slow_request(database, ANNA, "slow", "tea", SampleReply) is None
