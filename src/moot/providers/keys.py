"""API keys of a provider: key rotation, and a cooldown after an error."""

import time
from collections.abc import Callable

from msgspec import Struct

from moot.types.faults import Fault

RATE_LIMIT_COOLDOWN_SECONDS = 60.0
OTHER_COOLDOWN_SECONDS = 300.0


class Key(Struct):
    source: str  # for example the environment variable; may be shown to users
    secret: str  # never shown or logged
    uses: int = 0
    cooldown_until: float = 0.0  # by the clock of the key ring

    def __repr__(self) -> str:
        return f"Key({self.source!r}, [key])"


class KeyRing:
    """Keys of one provider. Selects the least used key that is not cooling down."""

    def __init__(self, keys: tuple[Key, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._clock = clock

    def __bool__(self) -> bool:
        return bool(self._keys)

    def select_key(self, tried_sources: set[str]) -> Key | None:
        """Return the next key to try, or None.

        If all keys are cooling down, the first try of a request uses the one that is ready first.
        """
        now = self._clock()
        untried = [key for key in self._keys if key.source not in tried_sources]
        ready = [key for key in untried if key.cooldown_until <= now]
        if ready:
            return min(ready, key=lambda key: key.uses)
        return None if tried_sources else min(untried, key=lambda key: key.cooldown_until, default=None)

    def cool_down(self, key: Key, fault: Fault) -> None:
        """Skip a key for the `retry_after` of the fault, or a default time."""
        default_seconds = RATE_LIMIT_COOLDOWN_SECONDS if fault.kind == "rate_limit" else OTHER_COOLDOWN_SECONDS
        key.cooldown_until = self._clock() + (default_seconds if fault.retry_after is None else fault.retry_after)
