"""Ids that sort by the time they were made."""

import secrets
import time

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """Such as `run_01jcx…`: 48 bits of milliseconds, then 80 random bits, in Crockford's base 32."""
    number = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    digits = "".join(ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
    return f"{prefix}_{digits}"
