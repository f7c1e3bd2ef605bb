"""What a model can do, as data: nothing above ever asks for a provider's name."""

from typing import Literal

from msgspec import Struct

FileKind = Literal["text", "image", "pdf"]


class Profile(Struct, frozen=True, kw_only=True):
    """`context` is None where nobody knows; `thinking` says how a request asks for it.

    Those that take no `temperature` refuse a request that has one, so they are sent none.
    """

    context: int | None = None
    files: frozenset[FileKind] = frozenset({"text"})
    thinking: Literal["none", "effort", "budget"] = "none"
    temperature: bool = True
    tools: bool = True
    json_schema: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    default_max_tokens: int = 8192


def file_kind(media_type: str) -> FileKind | None:
    """Classify a file by what a model would have to read; None is a kind no model takes."""
    if media_type.startswith("image/"):
        return "image"
    if media_type == "application/pdf":
        return "pdf"
    if media_type.startswith("text/") or media_type in {"application/json", "application/xml"}:
        return "text"
    return None
