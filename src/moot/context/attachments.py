"""Attached files in a request: who can read them, and what those are told who cannot."""

from collections.abc import Collection
from typing import Protocol

from msgspec.structs import replace

from moot.context.prompts import written
from moot.model.chunks import Text
from moot.model.errors import UsageError
from moot.model.profiles import FileKind, file_kind
from moot.model.requests import File, Message, ModelRequest, Part

KINDS: dict[FileKind | None, str] = {"text": "a text file", "image": "an image", "pdf": "a PDF file"}


class Labelled(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def media_type(self) -> str: ...


def takes(kinds: Collection[FileKind], file: Labelled) -> bool:
    return file_kind(file.media_type) in kinds


def refuse_unread(who: str, model: str, kinds: Collection[FileKind], file: Labelled) -> None:
    """Refuse a file that somebody's model cannot read, before anything is paid."""
    if not takes(kinds, file):
        raise UsageError(
            f"{who} ({model}) takes no {file_kind(file.media_type)} files such as {file.name}: "
            "leave the file out or choose another model."
        )


def has_files(request: ModelRequest) -> bool:
    return any(isinstance(part, File) for message in request.messages for part in message.parts)


def readable(request: ModelRequest, kinds: Collection[FileKind]) -> ModelRequest:
    """Put a line in the place of every file that a model cannot read: it may have been meant for others."""

    def told(message: Message) -> Message:
        return replace(message, parts=tuple(readable_part(part, kinds) for part in message.parts))

    return replace(request, messages=tuple(told(message) for message in request.messages))


def readable_part(part: Part, kinds: Collection[FileKind]) -> Part:
    return unread(part) if isinstance(part, File) and not takes(kinds, part) else part


def unread(file: Labelled) -> Text:
    return _line("unread_file", file)


def left_out(file: Labelled) -> Text:
    return _line("left_out_file", file)


def _line(prompt: str, file: Labelled) -> Text:
    kind = KINDS.get(file_kind(file.media_type), "a file")
    return Text(written(prompt).format(name=file.name, kind=kind))
