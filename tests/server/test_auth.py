import asyncio

import pytest
from sqlalchemy import update

from moot.server.auth import REVOCATION_CHECK_SECONDS, SESSION_COOKIE, Revocations
from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.store.schema.accounts import session
from moot.types.accounts import Caller
from moot.types.errors import DatabaseUnavailable
from tests.server.account_app import PASSWORD, AccountApp, create_account_app
from tests.server.asgi_client import AsgiClient, http_scope

PROTECTED_ROUTES = (
    ("GET", "/api/me"),
    ("POST", "/api/logout"),
    ("GET", "/api/tokens"),
    ("GET", "/api/events"),
)
UNSIGNED_JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ."


@pytest.mark.parametrize(("method", "path"), PROTECTED_ROUTES)
async def test_protected_routes_require_credentials(sqlite_account_app: AccountApp, method: str, path: str) -> None:
    reply = await sqlite_account_app.client.request(method, path)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert "/api/login" in reply.json()["detail"]


async def test_health_route_is_public(account_app: AccountApp) -> None:
    assert (await account_app.client.get("/healthz")).text == "ok"


async def test_token_takes_precedence_over_session_cookie(account_app: AccountApp) -> None:
    bob = await account_app.create_token_headers("bob")
    assert (await account_app.client.get("/api/me", headers=bob)).json()["name"] == "bob"
    await account_app.log_in_ada()
    assert (await account_app.client.get("/api/me")).json()["name"] == "ada"
    reply = await account_app.client.get("/api/me", headers=bob)
    assert reply.json()["name"] == "bob", "a token counts before a cookie"


async def test_event_stream_accepts_token_or_cookie(account_app: AccountApp) -> None:
    bob = await account_app.create_token_headers("bob")
    await account_app.log_in_ada()
    cookie = f"{SESSION_COOKIE}={account_app.client.cookies[SESSION_COOKIE]}".encode()
    for header in ((b"authorization", bob["Authorization"].encode()), (b"cookie", cookie)):
        client = AsgiClient()
        scope = http_scope("/api/events") | {"headers": [header]}
        stream = asyncio.create_task(account_app.app(scope, client.receive, client.send))
        await client.wait_for(b'"activity"')
        client.disconnected.set()
        await stream


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "moot_wrong",
        UNSIGNED_JWT,
        "' OR 1=1 --",
        "\x7f",
        "moot_" + "x" * 5000,
        "ünknown".encode("latin-1"),
    ],
)
async def test_invalid_token_is_rejected_despite_valid_cookie(
    sqlite_account_app: AccountApp, wrong: str | bytes
) -> None:
    await sqlite_account_app.log_in_ada()
    token = wrong if isinstance(wrong, bytes) else wrong.encode()
    for scheme in (b"Bearer ", b"bearer "):
        reply = await sqlite_account_app.client.get("/api/me", headers={b"Authorization": scheme + token})
        assert reply.status_code == 401


async def test_session_secret_and_token_are_not_interchangeable(account_app: AccountApp) -> None:
    bob = await account_app.create_token_headers("bob")
    await account_app.log_in_ada()
    secret = account_app.client.cookies[SESSION_COOKIE]
    account_app.client.cookies.clear()
    as_token = {"Authorization": f"Bearer {secret}"}
    as_cookie = {"Cookie": f"{SESSION_COOKIE}={bob['Authorization'].removeprefix('Bearer ')}"}
    assert (await account_app.client.get("/api/me", headers=as_token)).status_code == 401
    assert (await account_app.client.get("/api/me", headers=as_cookie)).status_code == 401


async def test_basic_authorization_header_is_ignored(account_app: AccountApp) -> None:
    await account_app.log_in_ada()
    reply = await account_app.client.get("/api/me", headers={"Authorization": "Basic YTpi"})
    assert reply.status_code == 200


async def test_expired_session_asks_to_log_in_again(account_app: AccountApp, database: Database) -> None:
    await account_app.log_in_ada()
    async with database.write() as connection:
        await connection.execute(update(session).values(expires_at=1.0))
    reply = await account_app.client.get("/api/me")
    assert (reply.status_code, "log in again" in reply.json()["detail"]) == (401, True)


async def test_session_cookie_is_http_only_and_same_site(sqlite_account_app: AccountApp) -> None:
    await sqlite_account_app.accounts.create_account("ada", PASSWORD)
    cookie = (await sqlite_account_app.log_in()).headers["set-cookie"]
    assert cookie.startswith(f"{SESSION_COOKIE}=")
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", "max-age=2592000"} <= parts
    assert "secure" not in parts


async def test_session_cookie_is_secure_over_https(database: Database) -> None:
    async with create_account_app(database, base_url="https://moot.example") as account_app:
        await account_app.accounts.create_account("ada", PASSWORD)
        cookie = (await account_app.log_in()).headers["set-cookie"]
        assert "secure" in {part.strip().lower() for part in cookie.split(";")}
        assert (await account_app.client.get("/api/me")).status_code == 200


async def test_local_mode_authenticates_every_request_as_local_user(database: Database) -> None:
    async with create_account_app(database, local=True) as account_app:
        for headers in ({}, {"Authorization": "Bearer anything"}, {"Cookie": f"{SESSION_COOKIE}=old"}):
            reply = await account_app.client.get("/api/me", headers=headers)
            assert reply.json() == {"account": "local", "tenant": "local", "name": "local", "kind": "local"}


@pytest.fixture
async def accounts(database: Database) -> Accounts:
    accounts = Accounts(database)
    await accounts.create_account("ada", PASSWORD)
    return accounts


async def test_revocation_ends_only_affected_watches_once(accounts: Accounts) -> None:
    _, revoked = await accounts.login("ada", PASSWORD)
    _, active = await accounts.login("ada", PASSWORD)
    revocations = Revocations(accounts)
    ended: list[str] = []
    with (
        revocations.watch_credential(revoked, lambda: ended.append("here")),
        revocations.watch_credential(revoked, lambda: ended.append("here too")),
        revocations.watch_credential(active, lambda: ended.append("there")),
    ):
        await revocations.check_credentials()
        assert ended == []
        await accounts.logout(revoked)
        await revocations.check_credentials()
        await revocations.check_credentials()
        assert ended == ["here", "here too"]


@pytest.mark.parametrize("how", ["token dropped", "password changed", "account removed"])
async def test_revocation_detects_every_way_to_lose_token(accounts: Accounts, how: str) -> None:
    _, session = await accounts.login("ada", PASSWORD)
    secret, token = await accounts.create_token(session, "laptop")
    caller = await accounts.caller_of_token(secret)
    assert caller is not None
    revocations = Revocations(accounts)
    ended = asyncio.Event()
    with revocations.watch_credential(caller, ended.set):
        match how:
            case "token dropped":
                await accounts.delete_token(caller.account, token.id)
            case "password changed":
                await accounts.set_password("ada", "battery staple")
            case _:
                await accounts.delete_account("ada")
        await revocations.check_credentials()
    assert ended.is_set()


async def test_closed_watch_is_not_checked(accounts: Accounts) -> None:
    _, caller = await accounts.login("ada", PASSWORD)
    revocations = Revocations(accounts)
    ended: list[str] = []
    with revocations.watch_credential(caller, lambda: ended.append("ended")):
        pass
    await accounts.logout(caller)
    await revocations.check_credentials()
    assert ended == []


async def test_watch_added_during_check_is_not_ended(accounts: Accounts) -> None:
    _, first = await accounts.login("ada", PASSWORD)
    _, second = await accounts.login("ada", PASSWORD)
    revocations = Revocations(accounts)
    ended: list[str] = []
    with revocations.watch_credential(first, lambda: ended.append("first")):
        checking = asyncio.create_task(revocations.check_credentials())
        await asyncio.sleep(0)
        with revocations.watch_credential(second, lambda: ended.append("second")):
            await checking
    assert ended == []


async def test_local_user_is_never_revoked(accounts: Accounts) -> None:
    revocations = Revocations(accounts)
    ended: list[str] = []
    with revocations.watch_credential(await accounts.ensure_local_account(), lambda: ended.append("ended")):
        await revocations.check_credentials()
    assert ended == []


class UnavailableAccounts(Accounts):
    """Accounts whose database is unavailable at the first check."""

    checks = 0

    async def valid_credentials(self, credentials: set[str]) -> set[str]:
        self.checks += 1
        if self.checks == 1:
            raise DatabaseUnavailable("away")
        return await super().valid_credentials(credentials)


async def test_periodic_check_continues_after_database_is_unavailable(database: Database) -> None:
    accounts = UnavailableAccounts(database)
    gone = Caller(account="a", tenant="t", name="n", kind="session", credential="gone")
    revocations = Revocations(accounts, interval_seconds=0.01)
    ended = asyncio.Event()
    with revocations.watch_credential(gone, ended.set):
        running = asyncio.create_task(revocations.check_periodically())
        async with asyncio.timeout(60):
            await ended.wait()
    running.cancel()
    assert accounts.checks >= 2


def test_revocation_interval_allows_two_checks_in_five_seconds() -> None:
    assert 2 * REVOCATION_CHECK_SECONDS < 5
