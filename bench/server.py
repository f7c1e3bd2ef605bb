"""A loopback server that streams prepared answers in a process of its own, at one of three paces.

The model asked for is the plan, such as `paced-500`: how the answer is sent, and in how many chunks.
`burst` sends all as fast as the socket takes it, `paced` each chunk alone, with a pause that lets the client
read it alone, and `crowd` 50 chunks a second, each carrying the time at which it was sent.
"""

import asyncio
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import cast

import uvloop

from bench.frames import FORMATS, Format, word

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
PAUSE_SECONDS = 0.002  # seconds between paced chunks: more than the slowest client needs for one
RATE = 50  # chunks a second of each stream in a crowd
STAMP = 20  # characters of a time and a space
TURNS = 20  # a crowd's streams are written in so many turns, not all at the same moment

_plan = re.compile(rb"(burst|paced|crowd)-(\d+)")
_length = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class StreamGroup:
    """One timer for all streams that go at the same rate."""

    def __init__(self) -> None:
        self._turns: list[dict[asyncio.Transport, Iterator[int]]] = [{} for _ in range(TURNS)]
        self._places = count()

    def join(self, transport: asyncio.Transport, chunks: int) -> None:
        self._turns[next(self._places) % TURNS][transport] = iter(range(chunks))

    def leave(self, transport: asyncio.Transport) -> None:
        for turn in self._turns:
            turn.pop(transport, None)

    async def run(self, style: Format) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        before, after = style.chunk("0" * STAMP, 0).split(b"0" * STAMP)
        for tick in count():
            await asyncio.sleep(began + tick / (RATE * TURNS) - loop.time())
            turn = self._turns[tick % TURNS]
            for transport, numbers in tuple(turn.items()):
                if next(numbers, None) is not None:
                    transport.write(b"%b%0*.6f %b" % (before, STAMP - 1, time.monotonic(), after))
                else:
                    transport.write(style.closing + END)
                    del turn[transport]


class Connection(asyncio.Protocol):
    """One client; asyncio and uvloop set TCP_NODELAY, so what is written alone is sent alone."""

    def __init__(self, group: StreamGroup) -> None:
        self._group = group
        self._received = b""
        self._pacing_task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._group.leave(self._transport)
        if self._pacing_task:
            self._pacing_task.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, gap, body = self._received.partition(b"\r\n\r\n")
        length = _length.search(head)
        if not gap or len(body) < int(length[1] if length else 0):
            return
        path = head.split(b" ", 2)[1].partition(b"?")[0]
        style = next(style for ending, style in FORMATS.items() if path.endswith(ending))
        plan = _plan.search(self._received)
        assert plan, "the model is the plan"
        self._received = b""
        self._answer(style, plan[1], int(plan[2]))

    def _answer(self, style: Format, pace: bytes, chunks: int) -> None:
        if pace == b"burst":
            self._transport.write(_whole_response(style, chunks))
            return
        self._transport.write(HEAD + style.opening)
        if pace == b"crowd":
            self._group.join(self._transport, chunks)
        else:
            self._pacing_task = asyncio.create_task(self._send_paced(style, chunks))

    async def _send_paced(self, style: Format, chunks: int) -> None:
        for chunk in _chunks(style, chunks):
            self._transport.write(chunk)
            await asyncio.sleep(PAUSE_SECONDS)
        self._transport.write(style.closing + END)


@cache
def _chunks(style: Format, chunks: int) -> list[bytes]:
    return [style.chunk(word(number), number) for number in range(chunks)]


@cache
def _whole_response(style: Format, chunks: int) -> bytes:
    return HEAD + style.opening + b"".join(_chunks(style, chunks)) + style.closing + END


def allow_many_files() -> None:
    """Raise the limit of open files, one of which each connection takes."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if most == resource.RLIM_INFINITY else min(8192, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


@contextmanager
def run_server() -> Iterator[str]:
    """Start the server, yield its address, and always end it."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    with server:
        try:
            assert server.stdout
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.kill()


async def serve() -> None:
    loop = asyncio.get_running_loop()
    crowd = StreamGroup()
    server = await loop.create_server(lambda: Connection(crowd), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    orphaned = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), orphaned.set)  # the parent process holds its standard input
    ticking = asyncio.create_task(crowd.run(FORMATS[b"/chat/completions"]))
    await orphaned.wait()
    ticking.cancel()


if __name__ == "__main__":
    allow_many_files()
    uvloop.run(serve())
