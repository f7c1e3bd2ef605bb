"""Files that people attach. A file's name is a label for people: nothing is ever found, opened or written by it."""

import re

from msgspec import Struct

MAX_FILE_NAME_LENGTH = 200
DEFAULT_FILE_NAME = "file"


class StoredFile(Struct, frozen=True, kw_only=True):
    """What is known of a file; `media_type` is what its content says, `size` is in bytes."""

    id: str
    name: str
    media_type: str
    size: int
    created_at: float


def sanitize_file_name(name: str) -> str:
    """Make of whatever somebody calls a file one short line without a path, or anything that cannot be seen."""
    last = re.split(r"[/\\]", name)[-1]
    seen = "".join(char if char.isprintable() else " " for char in last)
    line = " ".join(seen.split())[:MAX_FILE_NAME_LENGTH].rstrip()
    return DEFAULT_FILE_NAME if line in {"", ".", ".."} else line
