"""Ids, names and texts with length limits, loopback addresses."""

import secrets
import time
from ipaddress import ip_address
from typing import Annotated

from msgspec import Meta


def is_loopback(host: str) -> bool:
    """Accept an IP address string or the name `localhost`; other names return False without a DNS query."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """Return an id such as `run_01jcx…`. Ids sort by time: 48 bits of milliseconds, 80 random bits, base 32."""
    number = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    digits = "".join(ID_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
    return f"{prefix}_{digits}"


NO_NUL_PATTERN = r"^[^\x00]*$"
EVENT_CURSOR_PATTERN = r"^\w+:[0-9]+(?!\n)$"  # a run and the number of its last event
PAGE_CURSOR_PATTERN = r"^[A-Za-z0-9_=-]+(?!\n)$"
VISIBLE_START_PATTERN = r"^[^\s\x00][^\x00]*$"  # starts with a visible character
ONE_LINE_PATTERN = r"^[^\s\x00]([^\r\n\x00]*[^\s\x00])?(?!\n)$"  # also ends with one, and has no line break

Name = Annotated[str, Meta(min_length=1, max_length=60, pattern=ONE_LINE_PATTERN)]
Title = Annotated[str, Meta(min_length=1, max_length=200, pattern=VISIBLE_START_PATTERN)]
Label = Annotated[str, Meta(max_length=60, pattern=NO_NUL_PATTERN)]
LineText = Annotated[str, Meta(max_length=300, pattern=NO_NUL_PATTERN)]
Paragraph = Annotated[str, Meta(max_length=4000, pattern=NO_NUL_PATTERN)]
LongText = Annotated[str, Meta(max_length=20_000, pattern=NO_NUL_PATTERN)]
ModelName = Annotated[str, Meta(min_length=3, max_length=200, pattern=r"^[^\s\x00/]+/[^\s\x00]+(?!\n)$")]
