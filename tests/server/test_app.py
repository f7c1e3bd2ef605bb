import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient
from litestar import Litestar
from litestar.routes import HTTPRoute

from moot.app.lifecycle import Worker
from moot.providers.registry import Registry
from moot.server.app import MAX_BODY, create_app
from moot.settings import RateSettings, Settings
from moot.store.encryption import Encryptor
from tests.support.databases import open_migrated_database
from tests.support.stores import ENCRYPTION_SECRET

PUBLIC_PATHS = {
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/login",
    "/api/openapi.json",
    "/api/openapi.json/openapi.json",
}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Litestar]:
    """The application with accounts."""
    async with open_migrated_database("sqlite", tmp_path) as database, Registry({}, {}) as registry:
        worker = Worker(Settings(), database, registry, Encryptor(ENCRYPTION_SECRET))
        yield create_app(worker.services, None)


def create_client(app: Litestar) -> AsyncClient:
    transport = ASGITransport(app=app, raise_app_exceptions=False)  # type: ignore[arg-type]
    return AsyncClient(transport=transport, base_url="http://moot.example")


@pytest.fixture
async def client(app: Litestar) -> AsyncIterator[AsyncClient]:
    async with create_client(app) as client:
        yield client


def list_routes(app: Litestar) -> list[tuple[str, str, Any]]:
    return [
        (method, route.path_format, handler)
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for method, (handler, _) in route.route_handler_map.items()
        if method != "OPTIONS"
    ]


async def test_all_routes_but_public_ones_require_credentials(app: Litestar, client: AsyncClient) -> None:
    found = list_routes(app)
    assert len(found) > 30
    for method, path, _ in found:
        reply = await client.request(method, path, json={})
        if path in PUBLIC_PATHS or path.startswith("/api/openapi.json/"):
            assert reply.status_code in {200, 400, 404}, path
        else:
            assert (reply.status_code, reply.headers["WWW-Authenticate"]) == (401, "Bearer"), path
            shape = "json" if path.startswith("/v1/") else "problem+json"  # OpenAI's format, or ours
            assert reply.headers["Content-Type"] == f"application/{shape}"


async def test_every_handler_parameter_has_explicit_source(app: Litestar) -> None:
    """Litestar reads an unmarked parameter from the query, where any client can set it."""
    for method, path, handler in list_routes(app):
        for name, parameter in inspect.signature(handler.fn).parameters.items():
            plain = name in {"self", "request", "path"}
            assert plain or hasattr(parameter.annotation, "__metadata__"), (method, path, name)


async def test_body_size_limit_is_exact(client: AsyncClient) -> None:
    body = b'{"name": "ada", "password": "' + b"x" * (MAX_BODY - 31) + b'"}'
    json = {"Content-Type": "application/json"}
    assert (await client.post("/api/login", content=body, headers=json)).status_code == 400
    assert (await client.post("/api/login", content=body + b" ", headers=json)).status_code == 413


async def test_openapi_document_is_public(client: AsyncClient) -> None:
    reply = await client.get("/api/openapi.json")
    assert (reply.status_code, reply.json()["info"]["title"]) == (200, "Moot")


async def test_request_limit_from_settings_applies_to_all_routes(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database, Registry({}, {}) as registry:
        worker = Worker(
            Settings(rates=RateSettings(requests_per_minute=2)), database, registry, Encryptor(ENCRYPTION_SECRET)
        )
        app = create_app(worker.services, None)
        async with create_client(app) as client:
            statuses = [(await client.get("/healthz")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
