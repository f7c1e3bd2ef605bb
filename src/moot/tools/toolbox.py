"""The seam of tools: a server of them, whatever it is."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from moot.types.tools import ToolInfo, ToolOutcome


class Toolbox(Protocol):
    """Some tools. `call` answers with words, also where the call fails; whoever waits for it may leave at any time."""

    async def list_tools(self) -> Sequence[ToolInfo]:
        """List what there is; raise Unavailable, with words, where the server cannot be used."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome: ...

    async def aclose(self) -> None:
        """Let go of all that is held, soon, whatever state the server is in."""
        ...


MAX_PROBLEM_CHARS = 500


def find_argument_problem(parameters: bytes, arguments: Any) -> str | None:
    """Say what is wrong with arguments; None where nothing is, or where the schema itself is wrong."""
    try:
        error = next(_build_validator(parameters).iter_errors(arguments), None)
    except Exception:  # noqa: BLE001 - a schema can be wrong in any way; the server that wrote it looks for itself
        return None
    if error is None:
        return None
    where = ".".join(map(str, error.absolute_path))
    return (
        f"{where}: {error.message}"[:MAX_PROBLEM_CHARS] if where else str(error.message)[:MAX_PROBLEM_CHARS]
    )


@lru_cache(maxsize=256)
def _build_validator(parameters: bytes) -> Any:
    """Make what checks arguments. It fetches nothing, and runs no pattern that somebody else wrote."""
    from jsonschema import validators  # noqa: PLC0415 - slow to load
    from referencing import Registry  # noqa: PLC0415

    schema = msgspec.json.decode(parameters)
    found = validators.validator_for(schema, default=validators.Draft202012Validator)
    lenient = validators.extend(found, {"pattern": _no_errors, "patternProperties": _no_errors})
    return lenient(schema, registry=Registry())


def _no_errors(*_: object) -> Iterator[Any]:
    return iter(())
