"""Generate `src/api/types.ts` from the server: the types of requests, responses and events, and shared constants.

Run `python web/api_types.py` after a change of the API. A test fails if the file is out of date.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from litestar import Litestar
from litestar.di import Provide
from msgspec import UnsetType, inspect
from msgspec.structs import fields

from moot.app.container import Services
from moot.engine.tools.toolset import REFUSALS
from moot.server.app import ROUTES
from moot.server.errors import Problem
from moot.server.openapi import MultipartForm, Operation, find_structs, list_operations
from moot.server.sse import Resync
from moot.types import discussions
from moot.types.discussions import DiscussionEvent
from moot.types.events import Event
from moot.types.modes import MODE_NAMES, MODES, ModeSpec
from moot.types.participants import PARTICIPANT_COLOURS

WRITTEN = Path(__file__).parent / "src/api/types.ts"
HEADER = "// Written by `python web/api_types.py` from the types of the server. Do not edit.\n\n"
UNUSED_PATHS = ("/api/stateless", "/healthz", "/readyz", "/metrics")  # the page never calls them
NAMES: Mapping[type, str] = {discussions.Message: "Message"}
UNIONS: Mapping[str, Any] = {"Event": Event, "Change": DiscussionEvent}  # unions that get a name
PLAIN: Mapping[type[inspect.Type], str] = {
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
    inspect.StrType: "string",
    inspect.DateType: "string",
}


def typescript() -> str:
    """Return the text of `types.ts`: all types by name, and the request and response types of every API call."""
    structs = {name(info): info for info in STRUCTS}
    unions = [f"export type {union} = {type_text(inspect.type_info(type_))};\n" for union, type_ in UNIONS.items()]
    interfaces = [interface(structs[struct]) for struct in sorted(structs)]
    return HEADER + "\n".join([*interfaces, *unions, _colours(), _refusal(), _modes(), _calls(CALLS)])


def interface(info: inspect.StructType) -> str:
    """Return a struct as an interface.

    A request may omit a field with a default. A response has all fields, unless its type omits defaults.
    """
    config = info.cls.__struct_config__
    lines = [f'  {config.tag_field}: "{config.tag}";'] if config.tag_field else []
    for field in info.fields:
        is_optional = not field.required and (config.omit_defaults or config.forbid_unknown_fields)
        lines.append(f"  {field.encode_name}{'?' if is_optional else ''}: {type_text(field.type)};")
    return "\n".join((f"export interface {name(info)} {{", *lines, "}\n"))


def type_text(info: inspect.Type) -> str:
    """Return a type in TypeScript."""
    match info:
        case inspect.StructType():
            return name(info)
        case inspect.UnionType(types=types):
            members = [type_text(member) for member in types if getattr(member, "cls", None) is not UnsetType]
            return " | ".join(dict.fromkeys(members))
        case inspect.LiteralType(values=values):
            return " | ".join(f'"{value}"' for value in values)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return f"readonly {_parenthesized(type_text(item))}[]"
        case inspect.TupleType(item_types=items):
            return f"readonly [{', '.join(type_text(item) for item in items)}]"
        case inspect.DictType(value_type=value):
            return f"Readonly<Record<string, {type_text(value)}>>"
        case _:
            return PLAIN.get(type(info), "unknown")


def name(info: inspect.StructType) -> str:
    """Return the name of a struct. If two structs share a name, their modules distinguish them."""
    return NAMES.get(info.cls) or AMBIGUOUS.get(info.cls, info.cls.__name__)


def _parenthesized(text: str) -> str:
    return f"({text})" if " " in text else text


def _colours() -> str:
    """Return the colours of the participants. Transcripts use the same ones."""
    colours = ", ".join(f'"{colour}"' for colour in PARTICIPANT_COLOURS)
    return f"export const COLOURS: readonly string[] = [{colours}];\n"


def _refusal() -> str:
    """Return the result of a tool call that a user refused. Only this text marks a stored call as refused."""
    return f'export const REFUSED = "{REFUSALS["refuse"]}";\n'


def _modes() -> str:
    """Return the specification of each mode, without the options type and the prompt, which only the server needs."""
    shared_fields = {field.name: field.type for field in fields(ModeSpec) if field.name not in {"options", "identity"}}
    types = [f"  {field}: {type_text(inspect.type_info(type_))};" for field, type_ in shared_fields.items()]
    specs = {mode: json.dumps({field: getattr(spec, field) for field in shared_fields}) for mode, spec in MODES.items()}
    return "\n".join(
        (
            "export interface ModeSpec {",
            *types,
            "}\n",
            f'export const MODE_NAMES: readonly Preset["mode"][] = {json.dumps(MODE_NAMES)};\n',
            "export const MODES: Readonly<Record<string, ModeSpec>> = {",
            *(f"  {mode}: {spec}," for mode, spec in specs.items()),
            "};\n",
        )
    )


def _calls(calls: Sequence[Operation]) -> str:
    """Return the request and response types of every API call."""
    lines = [
        f'  "{call.method.upper()} {call.path}": {{ takes: {_body(call.request_type)}; gives: {_body(call.response_type)} }};'
        for call in calls
    ]
    return "\n".join(("export interface Calls {", *lines, "}\n"))


def _body(type_: Any) -> str:
    if type_ is MultipartForm:
        return "FormData"
    return "null" if type_ is None else type_text(inspect.type_info(type_))


def _find_calls() -> Sequence[Operation]:
    """List the API calls of an application without dependencies. No handler is executed."""
    names = [*vars(Services(*[MagicMock()] * 3)), "caller", "metrics_access"]
    dependencies = {name: Provide(lambda: None, sync_to_thread=False) for name in names}
    app = Litestar(ROUTES, dependencies=dependencies)
    calls = [call for call in list_operations(app) if not call.path.startswith(UNUSED_PATHS)]
    return sorted(calls, key=lambda call: (call.path, call.method))


def _body_types(calls: Sequence[Operation]) -> list[Any]:
    types = [type_ for call in calls for type_ in (call.request_type, call.response_type)]
    return [type_ for type_ in types if type_ not in {None, MultipartForm}]


def _ambiguous(structs: Sequence[inspect.StructType]) -> Mapping[type, str]:
    """Give structs that share a name a longer name, with their module."""
    counts = Counter(info.cls.__name__ for info in structs)
    return {
        info.cls: f"{info.cls.__module__.rpartition('.')[2].title().replace('_', '')}{info.cls.__name__}"
        for info in structs
        if counts[info.cls.__name__] > 1
    }


CALLS = _find_calls()
STRUCTS = tuple(
    find_structs(inspect.multi_type_info([*UNIONS.values(), Problem, Resync, *_body_types(CALLS)])).values()
)
AMBIGUOUS = _ambiguous(STRUCTS)

if __name__ == "__main__":
    WRITTEN.write_text(typescript())
