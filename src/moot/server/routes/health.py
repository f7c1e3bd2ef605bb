"""Routes for liveness, readiness and metrics."""

from secrets import compare_digest
from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency as Given
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from moot.server.auth import OPEN_TO_ALL, Connection, bearer_token
from moot.services.discussions import DiscussionService
from moot.store.database import Database
from moot.types.errors import NotFound

METRICS_SCHEME = "metrics"  # name of the security scheme in the OpenAPI document


class MetricsAccess:
    """Access check for `/metrics`. A local server needs no token; any other rejects all requests if it has none."""

    def __init__(self, token: str | None, *, is_local: bool) -> None:
        self._token = token
        self._is_local = is_local

    def check_access(self, connection: Connection) -> None:
        secret = bearer_token(connection)
        is_valid = bool(self._token and secret and compare_digest(secret.encode(), self._token.encode()))
        if not self._is_local and not is_valid:
            raise NotFound(
                "Metrics need a token. Set MOOT_METRICS_TOKEN on the server, and send it as `Authorization: Bearer …`."
            )


SERVER_TAGS = ("server",)


@get("/healthz", opt=OPEN_TO_ALL, tags=SERVER_TAGS, media_type=MediaType.TEXT, summary="Liveness: the process runs")
async def healthz() -> str:
    return "ok"


@get(
    "/readyz",
    opt=OPEN_TO_ALL,
    tags=SERVER_TAGS,
    media_type=MediaType.TEXT,
    summary="Readiness: the server accepts requests",
)
async def readyz(database: Given[Database], discussion_service: Given[DiscussionService]) -> str:
    discussion_service.reject_if_draining()
    await database.ping()
    return "ok"


@get(
    "/metrics",
    opt=OPEN_TO_ALL,
    tags=SERVER_TAGS,
    security=[{METRICS_SCHEME: []}],
    media_type=MediaType.TEXT,
    summary="Metrics in the Prometheus format",
)
async def metrics(request: Request[Any, Any, Any], metrics_access: Given[MetricsAccess]) -> Response[str]:
    """Needs the token in the setting `metrics_token`, except on loopback. Returns 404 without access."""
    metrics_access.check_access(request)
    return Response(generate_latest().decode(), media_type=CONTENT_TYPE_LATEST)
