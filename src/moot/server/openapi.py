"""The OpenAPI document: paths and parameters from Litestar, schemas from msgspec.

msgspec also parses requests and serializes responses, so its schemas are exact. Error responses are the same
for most routes and are added here. The descriptions of fields are the comments in the source.
"""

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from inspect import getsource
from itertools import takewhile
from types import NoneType
from typing import Any, Union, get_args

import msgspec
from litestar import Litestar, MediaType, Request, Response, Router
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.openapi.spec import Components, Reference, SecurityScheme
from litestar.response import Stream
from litestar.routes import HTTPRoute
from litestar.typing import FieldDefinition
from msgspec import Struct, inspect

from moot import __version__
from moot.prompts.attachments import ACCEPTED_MEDIA_TYPES
from moot.server.auth import OPEN_TO_ALL, SESSION_COOKIE
from moot.server.errors import PROBLEM_MEDIA_TYPE, Problem
from moot.server.routes import files
from moot.server.routes.health import METRICS_SCHEME
from moot.server.sse import SSE_MEDIA_TYPE, Resync
from moot.services.evaluations.improve import ImprovementEvent
from moot.services.persona_suggestions import SuggestionEvent
from moot.transcript.json_format import TranscriptDocument
from moot.types.discussions import DiscussionEvent
from moot.types.events import Event
from moot.types.stateless import EVENT_FRAMES

PROBLEM_DESCRIPTIONS = {
    400: "The request is invalid; `errors` names the field",
    401: "The credential is missing, invalid or expired",
    402: "The estimated cost exceeds the rest of the weekly budget",
    403: "The request comes from another site, or the caller has no permission",
    404: "The object does not exist, or belongs to another account",
    408: "The client sent the body too slowly",
    409: "The request conflicts with the current state or with a concurrent change",
    413: "The body is too large",
    415: "The body is not JSON, or not a form where the route needs one",
    429: "Too many requests; retry after the time in Retry-After",
    502: "The provider failed",
    503: "The database is unavailable or the server is shutting down; retry after the time in Retry-After",
}
EVENTS_PATH = "/api/events"  # takes ids as query parameters, so it can return 404
STREAM_TYPES: Mapping[str, Any] = {
    "/api/runs/{id}/events": Event | Resync,
    EVENTS_PATH: DiscussionEvent | Event | Resync,
    "/api/evaluations/{id}/improve": ImprovementEvent,
    "/api/persona-suggestions": SuggestionEvent,
    "/api/stateless/chat": Union[tuple(EVENT_FRAMES.values())],  # noqa: UP007 - built from a list
}
RESPONSE_TYPES: Mapping[str, Any] = {
    "/api/discussions/{id}/transcript.json": TranscriptDocument
}  # streamed, so the handler's return type says nothing
MODEL_CALL_TAGS = ("evaluations", "persona-suggestions")  # tags of routes that call models outside of a run
UPLOAD_PATH = "/api/files"
BINARY_RESPONSES: Mapping[str, Collection[str]] = {  # media types by path
    "/api/files/{id}/content": ACCEPTED_MEDIA_TYPES,
    "/api/discussions/{id}/whiteboard.png": ("image/png",),
}
METRICS_PATH = "/metrics"  # returns 404 without access
REF_TEMPLATE = "#/components/schemas/{name}"

BINARY_SCHEMA = {"type": "string", "format": "binary"}

SUCCESS_STATUSES = ("200", "201", "202")

COMMENT_LINE = re.compile(r"\s*#")
IGNORED_COMMENT = re.compile(r"# (type: ignore|noqa).*")  # for tools

JsonSchema = dict[str, Any]


class MultipartForm:
    """Marker for the request type of an upload, which is not JSON."""


class Operation(Struct, frozen=True, kw_only=True):
    path: str
    method: str
    is_open: bool  # needs no login
    request_type: Any  # None: no body
    response_type: Any  # None: no body, or not JSON


class OpenApiJsonPlugin(OpenAPIRenderPlugin):
    def __init__(self) -> None:
        super().__init__(path=["/", "/openapi.json"], media_type=MediaType.JSON)
        self._document = b""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        if not self._document:
            self._document = msgspec.json.encode(complete_schema(openapi_schema, list(list_operations(request.app))))
        return self._document


def create_openapi_config() -> OpenAPIConfig:
    schemes: dict[str, SecurityScheme | Reference] = {
        "token": SecurityScheme(type="http", scheme="bearer", description="An API token"),
        "session": SecurityScheme(type="apiKey", security_scheme_in="cookie", name=SESSION_COOKIE),
        METRICS_SCHEME: SecurityScheme(type="http", scheme="bearer", description="The setting `metrics_token`"),
    }
    return OpenAPIConfig(
        title="Moot",
        version=__version__,
        description="Several language models around one table. On loopback no credentials are needed.",
        components=Components(security_schemes=schemes),
        security=[{"token": []}, {"session": []}],
        use_handler_docstrings=True,
        operation_id_creator=lambda handler, _method, _path: handler.handler_name,
        openapi_router=Router("/api/openapi.json", route_handlers=[], include_in_schema=False, opt=OPEN_TO_ALL),
        render_plugins=[OpenApiJsonPlugin()],
    )


def list_operations(app: Litestar) -> Iterator[Operation]:
    for route in app.routes:
        for method, (handler, _) in route.route_handler_map.items() if isinstance(route, HTTPRoute) else ():
            if handler.resolve_include_in_schema() and method != "OPTIONS":
                data = handler.parsed_fn_signature.parameters.get("data")
                is_upload = (route.path_format, method) == (UPLOAD_PATH, "POST")
                yield Operation(
                    path=route.path_format,
                    method=method.lower(),
                    is_open=bool(handler.opt.get("open_to_all")),
                    request_type=MultipartForm if is_upload else data.annotation if data else None,
                    response_type=STREAM_TYPES.get(route.path_format)
                    or RESPONSE_TYPES.get(route.path_format)
                    or _response_type(handler.parsed_fn_signature.return_type),
                )


def _response_type(type_: FieldDefinition) -> Any:
    if type_.is_subclass_of(Stream):
        return None
    if type_.is_subclass_of(Response):
        type_ = type_.inner_types[0]
    return None if type_.annotation in {str, NoneType} else type_.annotation


def complete_schema(schema: dict[str, Any], operations: list[Operation]) -> dict[str, Any]:
    """Replace Litestar's schemas by msgspec's and add error responses. Changes `schema` in place."""
    types = [
        type_
        for one in operations
        for type_ in (one.request_type, one.response_type)
        if type_ not in {None, MultipartForm}
    ]
    shapes, components = msgspec.json.schema_components([*types, Problem], ref_template=REF_TEMPLATE)
    schema["components"]["schemas"] = components
    describe_fields(components, find_structs(inspect.multi_type_info([*types, Problem])))
    shape_of = dict(zip([*types, Problem], shapes, strict=True))
    for one in operations:
        operation = schema["paths"][one.path][one.method]
        if one.request_type is not None:
            operation["requestBody"] = (
                _form_body()
                if one.request_type is MultipartForm
                else _request_body(one.request_type, shape_of[one.request_type])
            )
        if one.response_type is not None:
            _success_response(operation)["content"] = _response_content(one, shape_of[one.response_type])
        if kinds := BINARY_RESPONSES.get(one.path):
            _success_response(operation)["content"] = {kind: {"schema": BINARY_SCHEMA} for kind in kinds}
        operation["responses"].get("204", {}).pop("content", None)
        for status in _error_statuses(one, operation["tags"]):
            operation["responses"][str(status)] = {
                "description": PROBLEM_DESCRIPTIONS[status],
                "content": {PROBLEM_MEDIA_TYPE: {"schema": shape_of[Problem]}},
            }
        if one.is_open:
            operation.setdefault("security", [])
    return schema


def find_structs(infos: Iterable[object]) -> dict[type[Struct], inspect.StructType]:
    """Find all structs in some types, including nested ones."""
    pending, found = list(infos), dict[type[Struct], inspect.StructType]()
    while pending:
        info = pending.pop()
        if isinstance(info, inspect.StructType):
            if info.cls in found:
                continue
            found[info.cls] = info
        if isinstance(info, inspect.Type | inspect.Field):
            pending += (getattr(info, name) for name in info.__struct_fields__)
        elif isinstance(info, tuple):
            pending += info
    return found


def describe_fields(components: JsonSchema, structs: Iterable[type[Struct]]) -> None:
    """Add the comments of fields to their schemas, unless they have a description."""
    for struct in structs:
        # msgspec adds the module to the name of a schema if two structs share a name.
        schema = components.get(f"{struct.__module__}.{struct.__qualname__}") or components[struct.__name__]
        comments = struct_comments(struct)
        for name, encoded in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
            if name in comments:
                schema["properties"][encoded].setdefault("description", comments[name])


def struct_comments(struct: type[Struct]) -> dict[str, str]:
    """Return the comments of a struct's fields, also of inherited ones."""
    comments: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        comments |= _module_comments(base.__module__).get(base.__name__, {})
    return comments


@cache
def _module_comments(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the comments beside and directly above fields, by class and field. Empty if there is no source."""
    try:
        source = getsource(sys.modules[module])
    except (OSError, TypeError):
        return {}
    lines = source.split("\n")
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {cls.name: dict(_field_comments(cls, lines)) for cls in classes}


def _field_comments(cls: ast.ClassDef, lines: list[str]) -> Iterator[tuple[str, str]]:
    for field in cls.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            above = [*takewhile(COMMENT_LINE.match, reversed(lines[: field.lineno - 1]))]
            beside = lines[(field.end_lineno or 0) - 1].encode()[field.end_col_offset :].decode()
            comments = (line.strip(" #") for line in (*reversed(above), IGNORED_COMMENT.sub("", beside)))
            if text := " ".join(filter(None, comments)):
                yield field.target.id, re.sub(r"\bNone\b", "null", text)


def _request_body(type_: Any, shape: JsonSchema) -> JsonSchema:
    return {"required": NoneType not in get_args(type_), "content": {MediaType.JSON: {"schema": shape}}}


def _form_body() -> JsonSchema:
    form = {"type": "object", "required": [files.FILE_FIELD], "properties": {files.FILE_FIELD: BINARY_SCHEMA}}
    return {"required": True, "content": {files.FORM_MEDIA_TYPE: {"schema": form}}}


def _success_response(operation_schema: JsonSchema) -> JsonSchema:
    answer: JsonSchema = next(
        answer for status, answer in operation_schema["responses"].items() if status in SUCCESS_STATUSES
    )
    return answer


def _response_content(operation: Operation, shape: JsonSchema) -> JsonSchema:
    """In an event stream, each `data` field is a JSON string."""
    if operation.path not in STREAM_TYPES:
        return {MediaType.JSON: {"schema": shape}}
    data = {"type": "string", "contentMediaType": MediaType.JSON, "contentSchema": shape}
    frame = {"type": "object", "required": ["data"], "properties": {"data": data}}
    return {SSE_MEDIA_TYPE: {"schema": frame}}


def _error_statuses(operation: Operation, tags: list[str]) -> Iterator[int]:
    yield from (400, 401, 403, 429, 503)
    if "{" in operation.path or operation.request_type is not None or operation.path in {METRICS_PATH, EVENTS_PATH}:
        yield 404
    if operation.method != "get":
        yield 409
    if operation.request_type is not None:
        yield from (408, 413, 415)
    charged = {"discussions", "versions", "knowledge", "lanes", "stateless", *MODEL_CALL_TAGS}
    if operation.method == "post" and charged & set(tags):
        yield 402
    if {"knowledge", *MODEL_CALL_TAGS} & set(tags):
        yield 502
