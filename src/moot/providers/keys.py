"""A provider's keys: which one to use next, and which to leave alone for a while."""

import time
from collections.abc import Callable

from msgspec import Struct

from moot.types.faults import Fault

RATE_LIMIT_COOLDOWN_SECONDS = 60.0
OTHER_COOLDOWN_SECONDS = 300.0


class Key(Struct):
    """`source` says where it came from, in words that can be shown; the secret never is."""

    source: str
    secret: str
    uses: int = 0
    cooldown_until: float = 0.0

    def __repr__(self) -> str:
        return f"Key({self.source!r}, [key])"


class KeyRing:
    """Keys in the order to try them: rested ones first, the least used of them first."""

    def __init__(self, keys: tuple[Key, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._clock = clock

    def __bool__(self) -> bool:
        return bool(self._keys)

    def select_key(self, tried_sources: set[str]) -> Key | None:
        """Return the best key that was not tried; one that cools down is better than none at all."""
        now = self._clock()
        left = [key for key in self._keys if key.source not in tried_sources]
        rested = [key for key in left if key.cooldown_until <= now]
        if rested:
            return min(rested, key=lambda key: key.uses)
        return None if tried_sources else min(left, key=lambda key: key.cooldown_until, default=None)

    def cool_down(self, key: Key, fault: Fault) -> None:
        """Leave a key alone for a while after a fault."""
        rest = RATE_LIMIT_COOLDOWN_SECONDS if fault.kind == "rate_limit" else OTHER_COOLDOWN_SECONDS
        key.cooldown_until = self._clock() + (rest if fault.retry_after is None else fault.retry_after)
