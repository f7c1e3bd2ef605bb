"""File attachments in prompts: media types, size limits, and text files as message text."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from moot.prompts.library import load_template
from moot.types.chunks import Text
from moot.types.errors import UsageError
from moot.types.model_info import FileKind, file_kind
from moot.types.requests import File, ModelMessage, ModelRequest, Part, user_message

KIND_DESCRIPTIONS: dict[FileKind | None, str] = {"text": "a text file", "image": "an image", "pdf": "a PDF file"}


class NamedFile(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def media_type(self) -> str: ...


def accepts_file(kinds: Collection[FileKind], file: NamedFile) -> bool:
    return file_kind(file.media_type) in kinds


def reject_unreadable_file(participant_name: str, model: str, kinds: Collection[FileKind], file: NamedFile) -> None:
    """Raises UsageError. Called before the first request, so a rejected file costs nothing."""
    if not accepts_file(kinds, file):
        raise UsageError(
            f"{participant_name} ({model}) takes no {file_kind(file.media_type)} files such as {file.name}: "
            "leave the file out or choose another model."
        )


def has_files(request: ModelRequest) -> bool:
    return any(isinstance(part, File) for message in request.messages for part in message.parts)


def replace_unreadable_files(request: ModelRequest, kinds: Collection[FileKind]) -> ModelRequest:
    """Replace each unreadable file by a note. Other participants of the run may be able to read it."""

    def replace_parts(message: ModelMessage) -> ModelMessage:
        return replace(message, parts=tuple(replace_unreadable_part(part, kinds) for part in message.parts))

    return replace(request, messages=tuple(replace_parts(message) for message in request.messages))


def replace_unreadable_part(part: Part, kinds: Collection[FileKind]) -> Part:
    return _file_note("unread_file", part) if isinstance(part, File) and not accepts_file(kinds, part) else part


def file_omission_note(file: NamedFile) -> Text:
    return _file_note("left_out_file", file)


def _file_note(template: str, file: NamedFile) -> Text:
    kind = KIND_DESCRIPTIONS.get(file_kind(file.media_type), "a file")
    return Text(load_template(template).format(name=file.name, kind=kind))


MAX_FILE_BYTES = 20 * 1024 * 1024
ACCEPTED_MEDIA_TYPES = ("text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")

MAGIC_BYTES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def detect_media_type(data: bytes) -> str | None:
    """Detect the type by content, not by file name. None: a type that no model can read."""
    for magic, name in MAGIC_BYTES:
        if data.startswith(magic):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    try:
        return None if b"\0" in data else data.decode("utf-8") and "text/plain"
    except UnicodeDecodeError:
        return None


def validate_media_type(data: bytes, label: str) -> str:
    """Return the media type. Raises UsageError, with `label` as its subject, for an invalid file."""
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{label} is larger than {MAX_FILE_BYTES // 2**20} MB: attach a smaller file.")
    if not data:
        raise UsageError(f"{label} is empty.")
    kind = detect_media_type(data)
    if not kind:
        raise UsageError(f"{label} is no text in UTF-8, image or PDF: save text as UTF-8, or leave it out.")
    return kind


def read_file(path: Path) -> File:
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
    return File(path.name, validate_media_type(data, str(path)), data)


MIN_FENCE_TICKS = 3
BACKTICK_RUN = re.compile("`+")


def build_question(text: str, stdin_text: str = "", files: Sequence[File] = ()) -> ModelMessage:
    """The question comes last, because models attend best to the end of a message."""
    parts: list[Part] = [inline_text_file(file) for file in files]
    if stdin_text:
        parts.append(quote_block("Standard input", stdin_text))
    return user_message(*parts, text)


def inline_text_file(file: File) -> Part:
    """Convert a text file to message text; return other types unchanged."""
    if file_kind(file.media_type) != "text":
        return file
    return quote_block(file.name, file.data.decode("utf-8-sig"))


def quote_block(title: str, content: str) -> Text:
    # The fence must be longer than any backtick run in the content, or the content could close it.
    longest = max(map(len, BACKTICK_RUN.findall(content)), default=0)
    fence = "`" * max(MIN_FENCE_TICKS, longest + 1)
    return Text(f"{title}:\n{fence}\n{content.rstrip()}\n{fence}")
