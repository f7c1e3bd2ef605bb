"""The Toolbox protocol for tool servers, and validation of tool arguments."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from moot.types.tools import ToolInfo, ToolOutcome


class Toolbox(Protocol):
    """The tools of one server. Every method must be safe to cancel."""

    async def list_tools(self) -> Sequence[ToolInfo]:
        """Raises FeatureUnavailable if the server cannot be used."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Does not raise if the call fails: returns an outcome with `is_error`, which the model reads."""
        ...

    async def aclose(self) -> None:
        """Release connections and processes within seconds, even if the server hangs."""
        ...


MAX_PROBLEM_CHARS = 500


def find_argument_problem(parameters: bytes, arguments: Any) -> str | None:
    """Validate arguments by a JSON schema. Return None if they are valid, or if the schema itself is invalid."""
    try:
        error = next(_build_validator(parameters).iter_errors(arguments), None)
    except Exception:  # noqa: BLE001 - an invalid schema can raise anything; the server validates too
        return None
    if error is None:
        return None
    where = ".".join(map(str, error.absolute_path))
    return f"{where}: {error.message}"[:MAX_PROBLEM_CHARS] if where else str(error.message)[:MAX_PROBLEM_CHARS]


@lru_cache(maxsize=256)
def _build_validator(parameters: bytes) -> Any:
    """The validator fetches no remote references and ignores regex patterns, which could hang (ReDoS)."""
    from jsonschema import validators  # noqa: PLC0415 - slow import
    from referencing import Registry  # noqa: PLC0415

    schema = msgspec.json.decode(parameters)
    found = validators.validator_for(schema, default=validators.Draft202012Validator)
    lenient = validators.extend(found, {"pattern": _no_errors, "patternProperties": _no_errors})
    return lenient(schema, registry=Registry())


def _no_errors(*_: object) -> Iterator[Any]:
    return iter(())
