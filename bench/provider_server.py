"""A local server that streams prepared responses from its own process.

The model name in the request, such as `paced-500`, selects the mode of the response and the number of chunks:

- `burst` writes the whole response at once.
- `paced` writes each chunk separately, with a pause, so that the client reads each chunk separately.
- `timed` writes 50 chunks per second; the text of a chunk is its send time.
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

from bench.provider_frames import FORMATS, FrameFormat, get_word

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
PAUSE_SECONDS = 0.002  # between paced chunks; the slowest client needs less time for a chunk
RATE = 50  # chunks per second of each `timed` stream
TIMESTAMP_LENGTH = 20  # characters of a timestamp and a space
WRITE_SLOTS = 20  # parts of an interval; each stream writes in one of them

_model = re.compile(rb"(burst|paced|timed)-(\d+)")
_length = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class StreamScheduler:
    """Writes the chunks of all `timed` streams with one timer."""

    def __init__(self) -> None:
        self._slots: list[dict[asyncio.Transport, Iterator[int]]] = [{} for _ in range(WRITE_SLOTS)]
        self._slot_numbers = count()

    def add_stream(self, transport: asyncio.Transport, chunks: int) -> None:
        self._slots[next(self._slot_numbers) % WRITE_SLOTS][transport] = iter(range(chunks))

    def remove_stream(self, transport: asyncio.Transport) -> None:
        for slot in self._slots:
            slot.pop(transport, None)

    async def write_chunks(self, frame_format: FrameFormat) -> None:
        loop = asyncio.get_running_loop()
        start_time = loop.time()
        before, after = frame_format.encode_chunk("0" * TIMESTAMP_LENGTH, 0).split(b"0" * TIMESTAMP_LENGTH)
        for tick in count():
            await asyncio.sleep(start_time + tick / (RATE * WRITE_SLOTS) - loop.time())
            slot = self._slots[tick % WRITE_SLOTS]
            for transport, numbers in tuple(slot.items()):
                if next(numbers, None) is not None:
                    transport.write(b"%b%0*.6f %b" % (before, TIMESTAMP_LENGTH - 1, time.monotonic(), after))
                else:
                    transport.write(frame_format.closing + END)
                    del slot[transport]


class Connection(asyncio.Protocol):
    """The connection of one client. asyncio and uvloop set TCP_NODELAY, so the socket sends each write at once."""

    def __init__(self, scheduler: StreamScheduler) -> None:
        self._scheduler = scheduler
        self._received = b""
        self._pacing_task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._scheduler.remove_stream(self._transport)
        if self._pacing_task:
            self._pacing_task.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, gap, body = self._received.partition(b"\r\n\r\n")
        length = _length.search(head)
        if not gap or len(body) < int(length[1] if length else 0):
            return
        path = head.split(b" ", 2)[1].partition(b"?")[0]
        frame_format = next(frame_format for ending, frame_format in FORMATS.items() if path.endswith(ending))
        model = _model.search(self._received)
        assert model, "unknown model"
        self._received = b""
        self._send_response(frame_format, model[1], int(model[2]))

    def _send_response(self, frame_format: FrameFormat, mode: bytes, chunks: int) -> None:
        if mode == b"burst":
            self._transport.write(_encode_response(frame_format, chunks))
            return
        self._transport.write(HEAD + frame_format.opening)
        if mode == b"timed":
            self._scheduler.add_stream(self._transport, chunks)
        else:
            self._pacing_task = asyncio.create_task(self._send_paced(frame_format, chunks))

    async def _send_paced(self, frame_format: FrameFormat, chunks: int) -> None:
        for chunk in _encode_chunks(frame_format, chunks):
            self._transport.write(chunk)
            await asyncio.sleep(PAUSE_SECONDS)
        self._transport.write(frame_format.closing + END)


@cache
def _encode_chunks(frame_format: FrameFormat, chunks: int) -> list[bytes]:
    return [frame_format.encode_chunk(get_word(number), number) for number in range(chunks)]


@cache
def _encode_response(frame_format: FrameFormat, chunks: int) -> bytes:
    return HEAD + frame_format.opening + b"".join(_encode_chunks(frame_format, chunks)) + frame_format.closing + END


def raise_open_file_limit() -> None:
    """Raise the limit of open files of this process, because each connection needs one."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 8192 if maximum == resource.RLIM_INFINITY else min(8192, maximum)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, maximum))


@contextmanager
def run_server() -> Iterator[str]:
    """Run the server in a new process, and yield its address."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.provider_server"],
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


async def run_event_loop() -> None:
    loop = asyncio.get_running_loop()
    scheduler = StreamScheduler()
    server = await loop.create_server(lambda: Connection(scheduler), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    input_closed = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), input_closed.set)  # the parent process has closed standard input
    task = asyncio.create_task(scheduler.write_chunks(FORMATS[b"/chat/completions"]))
    await input_closed.wait()
    task.cancel()


if __name__ == "__main__":
    raise_open_file_limit()
    uvloop.run(run_event_loop())
