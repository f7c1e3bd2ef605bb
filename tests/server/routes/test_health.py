from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from litestar.connection import ASGIConnection

from moot.server.auth import Connection
from moot.server.routes.health import MetricsAccess
from moot.store.database import Database
from moot.types.errors import DatabaseUnavailable, NotFound
from tests.server.account_app import create_account_app
from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.databases import open_migrated_database


@pytest.fixture
async def local_app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        yield app


async def test_health_and_readiness_return_ok(local_app: LocalApp) -> None:
    for path in ("/healthz", "/readyz"):
        reply = await local_app.call("GET", path)
        assert (reply.status_code, reply.text) == (200, "ok")


async def test_readiness_fails_and_health_succeeds_without_database(
    local_app: LocalApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: Database) -> None:
        raise DatabaseUnavailable("The database cannot be reached; try again in a moment.")

    monkeypatch.setattr(Database, "ping", away)
    assert (await local_app.call("GET", "/healthz")).status_code == 200
    reply = await local_app.call("GET", "/readyz")
    assert (reply.status_code, reply.headers["Content-Type"]) == (503, "application/problem+json")


async def test_metrics_are_in_prometheus_format(local_app: LocalApp) -> None:
    reply = await local_app.call("GET", "/metrics")
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith("text/plain; version=")
    assert "# TYPE moot_" in reply.text


async def test_metrics_require_metrics_token_when_accounts_are_enabled(tmp_path: Path) -> None:
    token = "a token for prometheus"
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        create_account_app(database, metrics_token=token) as account_app,
    ):
        ada = await account_app.create_token_headers("ada")
        for headers in ({}, ada):
            refused = await account_app.client.get("/metrics", headers=headers)
            assert (refused.status_code, "MOOT_METRICS_TOKEN" in refused.json()["detail"]) == (404, True)
        reply = await account_app.client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert (reply.status_code, "# TYPE moot_" in reply.text) == (200, True)


TOKEN = "a token for prometheus"


def connection_with(header: str | None) -> Connection:
    headers = [(b"authorization", header.encode("latin-1"))] if header else []
    scope: Any = {"type": "http", "headers": headers}
    return ASGIConnection(scope)


def test_metrics_access_is_open_for_local_user() -> None:
    for token in (None, TOKEN):
        MetricsAccess(token, is_local=True).check_access(connection_with(None))


def test_metrics_access_accepts_token() -> None:
    MetricsAccess(TOKEN, is_local=False).check_access(connection_with(f"Bearer {TOKEN}"))


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize(
    "header", [None, "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer None", "Bearer \xe9"]
)
def test_metrics_access_without_token_names_missing_setting(token: str | None, header: str | None) -> None:
    with pytest.raises(NotFound, match="MOOT_METRICS_TOKEN") as caught:
        MetricsAccess(token, is_local=False).check_access(connection_with(header))
    assert TOKEN not in str(caught.value)
