"""What is not about discussions: health, readiness, metrics, and the stream of what changes."""

from litestar import MediaType, Response, get
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from moot.engine.changes import Changes
from moot.model.accounts import Caller
from moot.server.auth import OPEN_TO_ALL
from moot.server.sse import Readers
from moot.store.database import Database


@get("/healthz", opt=OPEN_TO_ALL, media_type=MediaType.TEXT, summary="Whether the process is alive")
async def healthz() -> str:
    return "ok"


@get("/readyz", opt=OPEN_TO_ALL, media_type=MediaType.TEXT, summary="Whether requests can be served")
async def readyz(database: Database) -> str:
    await database.ping()
    return "ok"


@get("/metrics", summary="Counts and times for Prometheus")
async def metrics() -> Response[bytes]:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


@get("/api/events", summary="What changes in all your discussions, as server-sent events")
async def changes(caller: Caller, changes: Changes, readers: Readers) -> Response[None]:
    """Begin with everything that goes on now; changes follow as they happen."""
    return readers.stream(changes.follow(caller.tenant), caller)
