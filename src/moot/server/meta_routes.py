"""What is not about discussions: health, readiness and metrics."""

from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency as Given
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from moot.engine.hall import Hall
from moot.server.auth import OPEN_TO_ALL
from moot.server.scrapers import SCHEME, Scrapers
from moot.store.database import Database

TAGS = ("server",)


@get(
    "/healthz", opt=OPEN_TO_ALL, tags=TAGS, media_type=MediaType.TEXT, summary="Whether the process is alive"
)
async def healthz() -> str:
    return "ok"


@get("/readyz", opt=OPEN_TO_ALL, tags=TAGS, media_type=MediaType.TEXT, summary="Whether requests are served")
async def readyz(database: Given[Database], hall: Given[Hall]) -> str:
    hall.refuse_if_leaving()
    await database.ping()
    return "ok"


@get(
    "/metrics",
    opt=OPEN_TO_ALL,
    tags=TAGS,
    security=[{SCHEME: []}],
    media_type=MediaType.TEXT,
    summary="Counts and times for Prometheus",
)
async def metrics(request: Request[Any, Any, Any], scrapers: Given[Scrapers]) -> Response[str]:
    """Tell them on loopback, or to whoever has the token of the setting `metrics_token`."""
    scrapers.check(request)
    return Response(generate_latest().decode(), media_type=CONTENT_TYPE_LATEST)
