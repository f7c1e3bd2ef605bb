"""Write `src/api/types.ts`: the types of all that goes between server and page, and what both know, from the server.

`python web/api_types.py` writes it; a test fails where it is not what it should be.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from litestar import Litestar
from litestar.di import Provide
from msgspec import UnsetType, inspect
from msgspec.structs import fields

from moot.engine.tools.toolset import REFUSALS
from moot.server.app import ROUTES
from moot.server.errors import Problem
from moot.server.event_cursors import Resync
from moot.server.openapi import MultipartForm, Operation, list_operations
from moot.server.services import Services
from moot.types import discussions, requests
from moot.types.discussion_events import DiscussionEvent
from moot.types.events import Event
from moot.types.modes import MODE_NAMES, MODES, ModeSpec
from moot.types.participants import PARTICIPANT_COLOURS

WRITTEN = Path(__file__).parent / "src/api/types.ts"
HEADER = "// Written by `python web/api_types.py` from the values of the server. Not to be edited.\n\n"
ELSEWHERE = ("/api/stateless", "/healthz", "/readyz", "/metrics")  # what the page never calls
NAMES: Mapping[type, str] = {discussions.Message: "Message", requests.ModelMessage: "Told"}
UNIONS: Mapping[str, Any] = {
    "Event": Event,
    "Change": DiscussionEvent,
}  # that are known by a name of their own
PLAIN: Mapping[type[inspect.Type], str] = {
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
    inspect.StrType: "string",
    inspect.DateType: "string",
}


def typescript() -> str:
    """Write all shapes by their names, and for every call what it takes and gives."""
    structs = {name(info): info for info in STRUCTS}
    unions = [f"export type {one} = {written(inspect.type_info(type_))};\n" for one, type_ in UNIONS.items()]
    interfaces = [interface(structs[one]) for one in sorted(structs)]
    return HEADER + "\n".join([*interfaces, *unions, _colours(), _refused(), _modes(), _calls(CALLS)])


def interface(info: inspect.StructType) -> str:
    """Write a struct. What comes in may leave out what has a default; what goes out tells it, unless it omits."""
    config = info.cls.__struct_config__
    lines = [f'  {config.tag_field}: "{config.tag}";'] if config.tag_field else []
    for field in info.fields:
        may_miss = not field.required and (config.omit_defaults or config.forbid_unknown_fields)
        lines.append(f"  {field.encode_name}{'?' if may_miss else ''}: {written(field.type)};")
    return "\n".join((f"export interface {name(info)} {{", *lines, "}\n"))


def written(info: inspect.Type) -> str:
    """Write one type as TypeScript has it."""
    match info:
        case inspect.StructType():
            return name(info)
        case inspect.UnionType(types=types):
            kinds = [written(one) for one in types if getattr(one, "cls", None) is not UnsetType]
            return " | ".join(dict.fromkeys(kinds))
        case inspect.LiteralType(values=values):
            return " | ".join(f'"{value}"' for value in values)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return f"readonly {_grouped(written(item))}[]"
        case inspect.TupleType(item_types=items):
            return f"readonly [{', '.join(written(item) for item in items)}]"
        case inspect.DictType(value_type=value):
            return f"Readonly<Record<string, {written(value)}>>"
        case _:
            return PLAIN.get(type(info), "unknown")


def name(info: inspect.StructType) -> str:
    """Name a struct; two of one name are told apart by where they are from."""
    return NAMES.get(info.cls) or AMBIGUOUS.get(info.cls, info.cls.__name__)


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text


def _structs(infos: Iterable[inspect.Type]) -> Iterable[inspect.StructType]:
    """Find every struct that is in some types, however deep."""
    waiting, seen = list(infos), set[type]()
    while waiting:
        info = waiting.pop()
        if isinstance(info, inspect.StructType):
            if info.cls in seen:
                continue
            seen.add(info.cls)
            yield info
            waiting += [field.type for field in info.fields]
        waiting += getattr(info, "types", ())
        waiting += getattr(info, "item_types", ())
        waiting += [one for one in (getattr(info, "item_type", None), getattr(info, "value_type", None)) if one]


def _colours() -> str:
    """Tell the colours of the seats, which transcripts have as well."""
    listed = ", ".join(f'"{one}"' for one in PARTICIPANT_COLOURS)
    return f"export const COLOURS: readonly string[] = [{listed}];\n"


def _refused() -> str:
    """Tell the result of a call that a person refused: it is kept with no other sign of that."""
    return f'export const REFUSED = "{REFUSALS["refuse"]}";\n'


def _modes() -> str:
    """Tell what each mode is, without what only the server needs: its options type and its prompt."""
    told = {one.name: one.type for one in fields(ModeSpec) if one.name not in {"options", "identity"}}
    types = [f"  {field}: {written(inspect.type_info(type_))};" for field, type_ in told.items()]
    specs = {mode: json.dumps({field: getattr(spec, field) for field in told}) for mode, spec in MODES.items()}
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
    """List every call of the API, with what it takes and what it gives."""
    lines = [
        f'  "{one.method.upper()} {one.path}": {{ takes: {_shape(one.request_type)}; gives: {_shape(one.response_type)} }};'
        for one in calls
    ]
    return "\n".join(("export interface Calls {", *lines, "}\n"))


def _shape(type_: Any) -> str:
    if type_ is MultipartForm:
        return "FormData"
    return "null" if type_ is None else written(inspect.type_info(type_))


def _described() -> Sequence[Operation]:
    """Find every call, in an application whose parts are missing: none of them is called."""
    names = [*(field.name for field in dataclasses.fields(Services)), "caller", "metrics_access"]
    nothing = {name: Provide(lambda: None, sync_to_thread=False) for name in names}
    app = Litestar(ROUTES, dependencies=nothing)
    called = [one for one in list_operations(app) if not one.path.startswith(ELSEWHERE)]
    return sorted(called, key=lambda one: (one.path, one.method))


def _shapes(calls: Sequence[Operation]) -> list[Any]:
    return [
        shape for one in calls for shape in (one.request_type, one.response_type) if shape not in {None, MultipartForm}
    ]


def _ambiguous(structs: Sequence[inspect.StructType]) -> Mapping[type, str]:
    """Give structs that share a name a longer one, by the module that they are from."""
    counts = Counter(info.cls.__name__ for info in structs)
    return {
        info.cls: f"{info.cls.__module__.rpartition('.')[2].title().replace('_', '')}{info.cls.__name__}"
        for info in structs
        if counts[info.cls.__name__] > 1
    }


CALLS = _described()
STRUCTS = tuple(_structs(inspect.multi_type_info([*UNIONS.values(), Problem, Resync, *_shapes(CALLS)])))
AMBIGUOUS = _ambiguous(STRUCTS)

if __name__ == "__main__":
    WRITTEN.write_text(typescript())
