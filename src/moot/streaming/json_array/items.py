"""What an array of speech and actions is made of."""

from typing import Any

from msgspec import Struct


class SpeechDelta(Struct, frozen=True):
    """Speech that was added.

    What two items say is kept apart by a space, unless there is white space or the script puts none between sentences.
    """

    text: str


class ObjectItem(Struct, frozen=True):
    """An object that is no speech, with the keys that the model wrote."""

    value: dict[str, Any]


ArrayPiece = SpeechDelta | ObjectItem


def action_name_and_params(item: ObjectItem) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the parameters of an action, in either spelling."""
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
