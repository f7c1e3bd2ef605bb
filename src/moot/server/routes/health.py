"""Liveness, readiness and metrics routes."""

from secrets import compare_digest
from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency as Given
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from moot.server.auth import OPEN_TO_ALL, Connection, bearer_token
from moot.services.discussions import DiscussionService
from moot.store.database import Database
from moot.types.errors import NotFound

METRICS_SCHEME = "metrics"  # how the description calls the token


class MetricsAccess:
    """Where everybody is `local` no token is needed; elsewhere, without a `token`, nobody reads them."""

    def __init__(self, token: str | None, *, is_local: bool) -> None:
        self._token = token
        self._is_local = is_local

    def check_access(self, connection: Connection) -> None:
        if not self._is_local and not self._is_valid_token(bearer_token(connection)):
            raise NotFound(
                "There are no metrics for you: set MOOT_METRICS_TOKEN on the server, and send it as "
                "`Authorization: Bearer …`."
            )

    def _is_valid_token(self, secret: str | None) -> bool:
        if self._token is None or secret is None:
            return False
        return compare_digest(secret.encode(), self._token.encode())


SERVER_TAGS = ("server",)


@get(
    "/healthz",
    opt=OPEN_TO_ALL,
    tags=SERVER_TAGS,
    media_type=MediaType.TEXT,
    summary="Whether the process is alive",
)
async def healthz() -> str:
    return "ok"


@get(
    "/readyz",
    opt=OPEN_TO_ALL,
    tags=SERVER_TAGS,
    media_type=MediaType.TEXT,
    summary="Whether requests are served",
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
    summary="Counts and times for Prometheus",
)
async def metrics(request: Request[Any, Any, Any], metrics_access: Given[MetricsAccess]) -> Response[str]:
    """Tell them on loopback, or to whoever has the token of the setting `metrics_token`."""
    metrics_access.check_access(request)
    return Response(generate_latest().decode(), media_type=CONTENT_TYPE_LATEST)
