"""`moot` for a shell, without the seconds of loading: each call is forked from one process that has loaded it.

What is on the PATH is a small program. It hands its arguments, folder, environment, input and outputs to that process,
waits, and exits with the same code.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from tests.nursery import LOADED

ROOT = Path(__file__).parent.parent
MOST = 2**16  # bytes of a call
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect({address!r})
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(connection, [call], [0, 1, 2])
sys.exit(connection.recv(1)[0])
"""


@contextmanager
def preloaded(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield a folder for the PATH with a `moot` in it."""
    address = folder / "socket"
    client = folder / "bin" / "moot"
    client.parent.mkdir()
    client.write_text(CLIENT.format(python=sys.executable, address=str(address)))
    client.chmod(0o755)
    with subprocess.Popen(  # noqa: S603 - this module
        [sys.executable, "-m", "tests.preloaded", str(address)],
        cwd=ROOT,
        env=dict(environment),
        stdin=subprocess.PIPE,  # as examples have it: nothing of it is a terminal or can be rewound
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield client.parent
        finally:
            process.kill()


def serve(address: str) -> None:
    for name in LOADED:
        import_module(name)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing has to wait for those who wait
        os.write(1, b"ready\n")
        while True:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    return answer(connection)


def answer(connection: socket.socket) -> None:
    """Let a process be `moot`, and tell the caller with which code it ended."""
    call, descriptors, _, _ = socket.recv_fds(connection, MOST, 3)
    arguments, folder, environment = json.loads(call)
    process = os.fork()
    if process == 0:
        connection.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["moot", *arguments]
        import_module("moot.cli.app").main()
        return
    for descriptor in descriptors:
        os.close(descriptor)
    _, status = os.waitpid(process, 0)
    connection.sendall(bytes([os.waitstatus_to_exitcode(status) % 256]))
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
