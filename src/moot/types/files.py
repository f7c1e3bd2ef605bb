"""Attached files. A file name is only a label: no code opens or writes a path with it."""

import re

from msgspec import Struct

MAX_FILE_NAME_LENGTH = 200
DEFAULT_FILE_NAME = "file"


class StoredFile(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    media_type: str  # detected from the content, not from the request header
    size: int  # bytes
    created_at: float


def sanitize_file_name(name: str) -> str:
    """Return one short line without path and unprintable characters; a default value if the string is empty."""
    last = re.split(r"[/\\]", name)[-1]
    printable = "".join(char if char.isprintable() else " " for char in last)
    line = " ".join(printable.split())[:MAX_FILE_NAME_LENGTH].rstrip()
    return DEFAULT_FILE_NAME if line in {"", ".", ".."} else line
