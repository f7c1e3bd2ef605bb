"""A provider in a process of its own: 20 chunks a second in each stream, each with the time at which it was sent.

The model asked for is the plan. `held-400` waits until all streams are there and the word is given, then sends 400
chunks; `soon-40` begins a moment after it was asked, as a model does that thinks first.
"""

import asyncio
import gc
import re
import sys
import time
from collections.abc import Iterator
from itertools import count
from typing import cast

import uvloop

from bench.frames import FORMATS
from bench.server import END, HEAD, allow_many_files

RATE = 20  # chunks a second of each stream
TURNS = 20  # the streams are written in so many turns, not all at the same moment
STAMP = 20  # characters of a time and a space
FIRST_CHUNK_SECONDS = 1.0  # seconds, as a model takes; by then the run's reader is there

STYLE = FORMATS[b"/chat/completions"]
_plan = re.compile(rb'"model":"(held|soon)-(\d+)"')
_length = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Streams:
    """All streams at one timer; those that are held wait until they may `begin`."""

    def __init__(self, expected: int) -> None:
        self.all_held = asyncio.Event()
        self._expected = expected
        self._held_streams: list[tuple[asyncio.Transport, int]] = []
        self._turns: list[dict[asyncio.Transport, Iterator[int]]] = [{} for _ in range(TURNS)]
        self._places = count()

    def hold(self, transport: asyncio.Transport, chunks: int) -> None:
        self._held_streams.append((transport, chunks))
        if len(self._held_streams) == self._expected:
            self.all_held.set()

    def join(self, transport: asyncio.Transport, chunks: int) -> None:
        self._turns[next(self._places) % TURNS][transport] = iter(range(chunks))

    def leave(self, transport: asyncio.Transport) -> None:
        for turn in self._turns:
            turn.pop(transport, None)

    def begin(self) -> None:
        for transport, chunks in self._held_streams:
            self.join(transport, chunks)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        before, after = STYLE.chunk("0" * STAMP, 0).split(b"0" * STAMP)
        for tick in count():
            await asyncio.sleep(began + tick / (RATE * TURNS) - loop.time())
            turn = self._turns[tick % TURNS]
            for transport, numbers in tuple(turn.items()):
                if next(numbers, None) is not None:
                    transport.write(b"%b%0*.6f %b" % (before, STAMP - 1, time.monotonic(), after))
                else:
                    del turn[transport]
                    transport.write(STYLE.closing + END)


class Connection(asyncio.Protocol):
    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._streams.leave(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, gap, body = self._received.partition(b"\r\n\r\n")
        length = _length.search(head)
        if not gap or len(body) < int(length[1] if length else 0):
            return
        self._received = b""
        plan = _plan.search(body)
        assert plan, "the model is the plan"
        self._transport.write(HEAD + STYLE.opening)
        chunks = int(plan[2])
        if plan[1] == b"held":
            self._streams.hold(self._transport, chunks)
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(FIRST_CHUNK_SECONDS, self._streams.join, self._transport, chunks)


async def serve(expected: int) -> None:
    """Tell the port, then when all are there; begin at the first line that comes, and end with the input."""
    loop = asyncio.get_running_loop()
    streams = Streams(expected)
    server = await loop.create_server(lambda: Connection(streams), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    running = asyncio.create_task(streams.run())
    await streams.all_held.wait()
    print("all held", flush=True)
    await lines.readline()
    streams.begin()
    await lines.read()
    running.cancel()


if __name__ == "__main__":
    allow_many_files()
    gc.disable()
    uvloop.run(serve(int(sys.argv[1])))
