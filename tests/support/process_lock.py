"""What only one of the test processes may do at a time: install, build, start a server that makes a user."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def hold_process_lock(name: str) -> Iterator[None]:
    with Path(tempfile.gettempdir(), f"moot-{os.getuid()}-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
