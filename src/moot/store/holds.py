"""Files that a process holds for as long as it lives: the system lets go of them when it ends, however that comes."""

from typing import TextIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


IS_KNOWN = fcntl is not None


def hold(file: TextIO) -> bool | None:
    """Hold a file until it is closed, and tell whether that worked; None where the system has no such thing."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
