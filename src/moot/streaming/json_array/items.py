"""Item types that the JSON array parser returns: speech and objects."""

from typing import Any

from msgspec import Struct


class SpeechDelta(Struct, frozen=True):
    """New text of a speech item.

    A space separates two items, unless there is whitespace or the script has no spaces between sentences.
    """

    text: str


class ObjectItem(Struct, frozen=True):
    """A complete object that is not speech, with the keys that the model wrote."""

    value: dict[str, Any]


ArrayPiece = SpeechDelta | ObjectItem


def action_name_and_params(item: ObjectItem) -> tuple[str, dict[str, Any]] | None:
    """Accept both key spellings that models use: `name`/`tool_name` and `params`/`parameters`."""
    name = item.value.get("name") or item.value.get("tool_name")
    params = item.value.get("params") or item.value.get("parameters")
    if not isinstance(name, str) or not name:
        return None
    return name, params if isinstance(params, dict) else {}


def is_speech(item: dict[str, Any]) -> bool:
    if "type" in item:
        return has_type_text(item)
    return isinstance(item.get("content"), str) and not ("name" in item or "tool_name" in item)


def has_type_text(item: object) -> bool:
    return isinstance(item, dict) and item.get("type") == "text"
