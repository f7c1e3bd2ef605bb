"""Attached files in prompts: which types are accepted, size limits, text of a file."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from moot.prompts.templates import written
from moot.types.chunks import Text
from moot.types.errors import UsageError
from moot.types.model_info import FileKind, file_kind
from moot.types.requests import File, Message, ModelRequest, Part, user

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


LARGEST = 20 * 1024 * 1024
MEDIA_TYPES = ("text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")

MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def media_type(data: bytes) -> str | None:
    """Name the type of a file that models can read; None is one that they cannot."""
    for magic, name in MAGIC:
        if data.startswith(magic):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    try:
        return None if b"\0" in data else data.decode("utf-8") and "text/plain"
    except UnicodeDecodeError:
        return None


def recognised(data: bytes, what: str) -> str:
    """Name the type of a file that may be attached, or refuse it; `what` is how the refusal begins."""
    if len(data) > LARGEST:
        raise UsageError(f"{what} is larger than {LARGEST // 2**20} MB: attach a smaller file.")
    if not data:
        raise UsageError(f"{what} is empty.")
    kind = media_type(data)
    if not kind:
        raise UsageError(f"{what} is no text in UTF-8, image or PDF: save text as UTF-8, or leave it out.")
    return kind


def read_file(path: Path) -> File:
    try:
        with path.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
    return File(path.name, recognised(data, str(path)), data)


FENCE = 3
TICKS = re.compile("`+")


def question(words: str, piped: str = "", files: Sequence[File] = ()) -> Message:
    """Put material first and the question last, where models attend to it best."""
    parts: list[Part] = [written_out(file) for file in files]
    if piped:
        parts.append(quoted("Standard input", piped))
    return user(*parts, words)


def written_out(file: File) -> Part:
    """Turn a text file into text; leave what only some models can read as it is."""
    if file_kind(file.media_type) != "text":
        return file
    return quoted(file.name, file.data.decode("utf-8-sig"))


def quoted(title: str, content: str) -> Text:
    longest = max(map(len, TICKS.findall(content)), default=0)
    fence = "`" * max(FENCE, longest + 1)
    return Text(f"{title}:\n{fence}\n{content.rstrip()}\n{fence}")
