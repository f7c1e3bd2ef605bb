"""How much a model may be given to read at once."""

from collections.abc import Sequence

from moot.providers.registry import Resolved

MOST = 200_000  # characters, however large the window


def room(chain: Sequence[Resolved]) -> int:
    """Count a character a token of the smallest window, which is safe in any script."""
    windows = [one.provider.profile(one.model).context for one in chain]
    return min([MOST, *(window for window in windows if window is not None)])
