"""The description of the API, made from the routes; what may go wrong is the same everywhere, so it is added here."""

from collections.abc import Iterator
from typing import Any

import msgspec
from litestar import MediaType, Request, Router
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.openapi.spec import Components, Reference, SecurityScheme

from moot import __version__
from moot.server.auth import COOKIE, OPEN_TO_ALL
from moot.server.problems import MEDIA_TYPE, Problem

PROBLEMS = {
    400: "The request is not right; `errors` names the field",
    401: "Nobody is logged in, or not any more",
    403: "This call comes from another site, or nobody may make it",
    404: "There is no such thing, or it is somebody else's",
    409: "It is at odds with what is there, or was changed at the same time",
    413: "The body is too large",
    415: "The body is not JSON",
    429: "Too many calls; Retry-After says when to try again",
    502: "The provider failed",
    503: "The database is not available, or the server is ending; Retry-After says when to try again",
}
OPEN = frozenset({"/healthz", "/readyz", "/api/login"})
SCHEMAS = "#/components/schemas/"


class Description(OpenAPIRenderPlugin):
    def __init__(self) -> None:
        super().__init__(path=["/", "/openapi.json"], media_type=MediaType.JSON)
        self._rendered = b""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:  # noqa: ARG002
        if not self._rendered:
            self._rendered = msgspec.json.encode(completed(openapi_schema))
        return self._rendered


def operation_id(handler: HTTPRouteHandler, _method: object, _path: object) -> str:
    """Name an operation by its group and its handler, such as `discussions_open`."""
    return f"{min(handler.resolve_tags())}_{handler.handler_name}"


def config() -> OpenAPIConfig:
    schemes: dict[str, SecurityScheme | Reference] = {
        "token": SecurityScheme(type="http", scheme="bearer", description="An API token"),
        "session": SecurityScheme(type="apiKey", security_scheme_in="cookie", name=COOKIE),
    }
    return OpenAPIConfig(
        title="Moot",
        version=__version__,
        description="Several language models around one table. On loopback no credentials are needed.",
        components=Components(security_schemes=schemes),
        security=[{"token": []}, {"session": []}],
        use_handler_docstrings=True,
        operation_id_creator=operation_id,
        openapi_router=Router(
            "/api/openapi.json", route_handlers=[], include_in_schema=False, opt=OPEN_TO_ALL
        ),
        render_plugins=[Description()],
    )


def completed(schema: dict[str, Any]) -> dict[str, Any]:
    """Add what may go wrong to every operation, in the form in which it is answered."""
    _, components = msgspec.json.schema_components([Problem], ref_template=f"{SCHEMAS}{{name}}")
    schema["components"]["schemas"] |= components
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            for status in _may_go_wrong(path, method, operation):
                operation["responses"][str(status)] = _problem(status)
            operation["responses"].get("204", {}).pop("content", None)
            if path in OPEN:
                operation["security"] = []
    return schema


def _may_go_wrong(path: str, method: str, operation: dict[str, Any]) -> Iterator[int]:
    yield from (400, 401, 403, 429, 503)
    if "{" in path or "requestBody" in operation:
        yield 404
    if method != "get":
        yield 409
    if "requestBody" in operation:
        yield from (413, 415)
    if "knowledge" in operation["tags"]:
        yield 502


def _problem(status: int) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{SCHEMAS}Problem"}}}
    return {"description": PROBLEMS[status], "content": content}
