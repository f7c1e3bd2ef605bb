"""Reading a file that somebody attaches: what it is is told by its content, never by its name."""

from pathlib import Path

from moot.model.errors import UsageError
from moot.model.requests import File

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
