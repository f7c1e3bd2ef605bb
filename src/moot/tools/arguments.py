"""Whether arguments fit a tool: checked before anything is called, with words that a model can mend them by."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

LONGEST = 500


def misfit(parameters: bytes, arguments: Any) -> str | None:
    """Say what is wrong with arguments; None where nothing is, or where the schema itself is wrong."""
    try:
        error = next(_validator(parameters).iter_errors(arguments), None)
    except Exception:  # noqa: BLE001 - a schema can be wrong in any way; the server that wrote it looks for itself
        return None
    if error is None:
        return None
    where = ".".join(map(str, error.absolute_path))
    return f"{where}: {error.message}"[:LONGEST] if where else str(error.message)[:LONGEST]


@lru_cache(maxsize=256)
def _validator(parameters: bytes) -> Any:
    """Make what checks arguments. It fetches nothing, and runs no pattern that somebody else wrote."""
    from jsonschema import validators  # noqa: PLC0415 - slow to load
    from referencing import Registry  # noqa: PLC0415

    schema = msgspec.json.decode(parameters)
    found = validators.validator_for(schema, default=validators.Draft202012Validator)
    lenient = validators.extend(found, {"pattern": _nothing, "patternProperties": _nothing})
    return lenient(schema, registry=Registry())


def _nothing(*_: object) -> Iterator[Any]:
    return iter(())
