import logging

import pytest

from moot.server.auth import SESSION_COOKIE
from moot.server.routes.accounts import Login, TokenWithSecret
from tests.server.account_app import PASSWORD, AccountApp


async def test_login_creates_session_and_logout_ends_it(account_app: AccountApp) -> None:
    await account_app.accounts.create_account("ada", PASSWORD)
    reply = await account_app.log_in()
    assert reply.status_code == 200
    assert (reply.json()["name"], reply.json()["kind"]) == ("ada", "session")
    assert (await account_app.client.get("/api/me")).json() == reply.json()
    secret = account_app.client.cookies[SESSION_COOKIE]
    left = await account_app.client.post("/api/logout")
    assert (left.status_code, left.content) == (204, b"")
    assert SESSION_COOKIE not in account_app.client.cookies
    again = await account_app.client.get("/api/me", headers={"Cookie": f"{SESSION_COOKIE}={secret}"})
    assert again.status_code == 401


async def test_logout_keeps_token_valid(account_app: AccountApp) -> None:
    bob = await account_app.create_token_headers("bob")
    assert (await account_app.client.post("/api/logout", headers=bob)).status_code == 204
    assert (await account_app.client.get("/api/me", headers=bob)).status_code == 200


@pytest.mark.parametrize("name", ["ada", "eve", "ada\x00", "' OR '1'='1", " ada"])
async def test_login_with_wrong_credentials_sets_no_cookie(account_app: AccountApp, name: str) -> None:
    await account_app.accounts.create_account("ada", PASSWORD)
    reply = await account_app.log_in(name, "wrong password")
    assert reply.status_code == 401
    assert reply.json()["detail"] == "The name or the password is wrong."
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "ada"},
        {"name": "", "password": "canary-password"},
        {"name": "x" * 65, "password": "canary-password"},
        {"name": "ada", "password": "canary-password" * 100},
        {"name": "ada", "password": ["canary-password"]},
        {"name": "ada", "password": "canary-password", "admin": True},
    ],
    ids=str,
)
async def test_login_rejects_invalid_body_without_logging_password(
    sqlite_account_app: AccountApp, body: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    reply = await sqlite_account_app.client.post("/api/login", json=body)
    assert reply.status_code == 400
    assert "canary-password" not in reply.text + caplog.text


async def test_token_secret_is_shown_once_and_token_can_be_deleted(account_app: AccountApp) -> None:
    await account_app.log_in_ada()
    made = await account_app.client.post("/api/tokens", json={"name": "laptop"})
    assert made.status_code == 201
    secret = made.json().pop("secret")
    shown = {name: value for name, value in made.json().items() if name != "secret"}
    listed = await account_app.client.get("/api/tokens")
    assert listed.json() == [shown]
    assert secret not in listed.text
    with_token = {"Authorization": f"Bearer {secret}"}
    assert (await account_app.client.get("/api/me", headers=with_token)).json()["kind"] == "token"
    assert (await account_app.client.delete(f"/api/tokens/{shown['id']}")).status_code == 204
    assert (await account_app.client.get("/api/me", headers=with_token)).status_code == 401


async def test_token_of_other_account_is_not_found(account_app: AccountApp) -> None:
    await account_app.log_in_ada()
    made = (await account_app.client.post("/api/tokens", json={"name": "laptop"})).json()
    bob = await account_app.create_token_headers("bob")
    for id_ in (made["id"], "none", "%00", "%ff", "a'b"):
        assert (await account_app.client.delete(f"/api/tokens/{id_}", headers=bob)).status_code == 404
    assert len((await account_app.client.get("/api/tokens")).json()) == 1
    assert len((await account_app.client.get("/api/tokens", headers=bob)).json()) == 1


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": " "}, {"name": "\x00"}, {"name": "x" * 500}, {"name": "a", "b": 1}]
)
async def test_create_token_rejects_invalid_name(sqlite_account_app: AccountApp, body: object) -> None:
    await sqlite_account_app.log_in_ada()
    assert (await sqlite_account_app.client.post("/api/tokens", json=body)).status_code == 400


async def test_create_token_is_forbidden_with_token_credential(sqlite_account_app: AccountApp) -> None:
    bob = await sqlite_account_app.create_token_headers("bob")
    refused = await sqlite_account_app.client.post("/api/tokens", json={"name": "another"}, headers=bob)
    assert (refused.status_code, "Log in" in refused.json()["detail"]) == (403, True)
    assert len((await sqlite_account_app.client.get("/api/tokens", headers=bob)).json()) == 1


async def test_sign_up_routes_do_not_exist(sqlite_account_app: AccountApp) -> None:
    for path in ("/api/accounts", "/api/users", "/api/register", "/api/signup"):
        assert (
            await sqlite_account_app.client.post(path, json={"name": "eve", "password": PASSWORD})
        ).status_code == 404


def test_login_and_token_repr_hide_secrets() -> None:
    assert PASSWORD not in repr(Login("ada", PASSWORD))
    assert "moot_canary" not in repr(TokenWithSecret(id="t", name="n", created_at=0.0, secret="moot_canary"))
