import asyncio

import pytest
from sqlalchemy import update

from moot.server.auth import COOKIE
from moot.store.database import Database
from moot.store.schema import session
from tests.server.house import PASSWORD, House, built
from tests.server.visiting import Visitor, asking_for

CLOSED = (("GET", "/api/me"), ("POST", "/api/logout"), ("GET", "/api/tokens"), ("GET", "/api/events"))
UNSIGNED = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ."


@pytest.mark.parametrize(("method", "path"), CLOSED)
async def test_nobody_gets_in_without_saying_who_they_are(cottage: House, method: str, path: str) -> None:
    reply = await cottage.client.request(method, path)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert "/api/login" in reply.json()["detail"]


async def test_some_routes_are_open_to_all(house: House) -> None:
    assert (await house.client.get("/healthz")).text == "ok"


async def test_a_cookie_and_a_token_are_as_good_as_each_other(house: House) -> None:
    bob = await house.bearer("bob")
    assert (await house.client.get("/api/me", headers=bob)).json()["name"] == "bob"
    await house.ada()
    assert (await house.client.get("/api/me")).json()["name"] == "ada"
    reply = await house.client.get("/api/me", headers=bob)
    assert reply.json()["name"] == "bob", "a token counts before a cookie"


async def test_a_stream_is_opened_with_either(house: House) -> None:
    bob = await house.bearer("bob")
    await house.ada()
    cookie = f"{COOKIE}={house.client.cookies[COOKIE]}".encode()
    for header in ((b"authorization", bob["Authorization"].encode()), (b"cookie", cookie)):
        visitor = Visitor()
        scope = asking_for("/api/events") | {"headers": [header]}
        watching = asyncio.create_task(house.app(scope, visitor.receive, visitor.send))
        await visitor.has(b'"activity"')
        visitor.leaves.set()
        await watching


@pytest.mark.parametrize(
    "wrong",
    ["", "moot_wrong", UNSIGNED, "' OR 1=1 --", "\x7f", "moot_" + "x" * 5000, "ünknown".encode("latin-1")],
)
async def test_a_wrong_token_is_refused_even_beside_a_good_cookie(cottage: House, wrong: str | bytes) -> None:
    await cottage.ada()
    token = wrong if isinstance(wrong, bytes) else wrong.encode()
    for scheme in (b"Bearer ", b"bearer "):
        reply = await cottage.client.get("/api/me", headers={b"Authorization": scheme + token})
        assert reply.status_code == 401


async def test_a_session_s_secret_is_no_token_and_a_token_no_session(house: House) -> None:
    bob = await house.bearer("bob")
    await house.ada()
    secret = house.client.cookies[COOKIE]
    house.client.cookies.clear()
    as_token = {"Authorization": f"Bearer {secret}"}
    as_cookie = {"Cookie": f"{COOKIE}={bob['Authorization'].removeprefix('Bearer ')}"}
    assert (await house.client.get("/api/me", headers=as_token)).status_code == 401
    assert (await house.client.get("/api/me", headers=as_cookie)).status_code == 401


async def test_what_a_proxy_asks_for_is_not_ours_to_judge(house: House) -> None:
    await house.ada()
    reply = await house.client.get("/api/me", headers={"Authorization": "Basic YTpi"})
    assert reply.status_code == 200


async def test_a_session_that_is_over_says_so(house: House, database: Database) -> None:
    await house.ada()
    async with database.write() as connection:
        await connection.execute(update(session).values(expires_at=1.0))
    reply = await house.client.get("/api/me")
    assert (reply.status_code, "log in again" in reply.json()["detail"]) == (401, True)


async def test_the_cookie_is_for_this_site_and_not_for_scripts(cottage: House) -> None:
    await cottage.accounts.add("ada", PASSWORD)
    cookie = (await cottage.log_in()).headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", "max-age=2592000"} <= parts
    assert "secure" not in parts


async def test_over_https_the_cookie_stays_there(database: Database) -> None:
    async with built(database, base_url="https://moot.example") as house:
        await house.accounts.add("ada", PASSWORD)
        cookie = (await house.log_in()).headers["set-cookie"]
        assert "secure" in {part.strip().lower() for part in cookie.split(";")}
        assert (await house.client.get("/api/me")).status_code == 200


async def test_on_one_s_own_machine_everybody_is_its_user(database: Database) -> None:
    async with built(database, local=True) as house:
        for headers in ({}, {"Authorization": "Bearer anything"}, {"Cookie": f"{COOKIE}=old"}):
            reply = await house.client.get("/api/me", headers=headers)
            assert reply.json() == {"account": "local", "tenant": "local", "name": "local", "kind": "local"}
