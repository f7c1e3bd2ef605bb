import subprocess
import sys
from pathlib import Path

from moot.store.locks import try_lock_file

LOCK_SCRIPT = """
import sys
from moot.store.locks import try_lock_file
with open(sys.argv[1]) as file:
    print(try_lock_file(file), flush=True)
    sys.stdin.read()
"""


def test_try_lock_file_holds_until_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "held"
    with path.open("w") as one, path.open() as other:
        assert try_lock_file(one) is True
        assert try_lock_file(other) is False
    with path.open() as other:
        assert try_lock_file(other) is True


def test_killed_process_releases_file_lock(tmp_path: Path) -> None:
    path = tmp_path / "held"
    path.touch()
    command = [sys.executable, "-c", LOCK_SCRIPT, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        with path.open() as file:
            assert try_lock_file(file) is False
        process.kill()
        process.wait()
    with path.open() as file:
        assert try_lock_file(file) is True
