"""A provider server in its own process: each stream has 20 chunks per second, and the text of a chunk is its send time.

The model name in the request selects the response. For `held-400`, the server waits for all requests and for the start
command, then streams 400 chunks. For `delayed-40`, it streams 40 chunks after one second, like a model with a slow
first token.
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

from bench.provider_frames import FORMATS
from bench.provider_server import END, HEAD, raise_open_file_limit

RATE = 20  # chunks per second of each stream
WRITE_SLOTS = 20  # parts of an interval; each stream writes in one of them
TIMESTAMP_LENGTH = 20  # characters of a timestamp and a space
FIRST_CHUNK_SECONDS = 1.0  # delay of the model; the reader of the run connects in this time

FRAME_FORMAT = FORMATS[b"/chat/completions"]
_model = re.compile(rb'"model":"(held|delayed)-(\d+)"')
_length = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class StreamScheduler:
    """Writes the chunks of all streams with one timer. Held streams wait for `start_held_streams`."""

    def __init__(self, expected: int) -> None:
        self.all_held = asyncio.Event()
        self._expected = expected
        self._held_streams: list[tuple[asyncio.Transport, int]] = []
        self._slots: list[dict[asyncio.Transport, Iterator[int]]] = [{} for _ in range(WRITE_SLOTS)]
        self._slot_numbers = count()

    def hold_stream(self, transport: asyncio.Transport, chunks: int) -> None:
        self._held_streams.append((transport, chunks))
        if len(self._held_streams) == self._expected:
            self.all_held.set()

    def add_stream(self, transport: asyncio.Transport, chunks: int) -> None:
        self._slots[next(self._slot_numbers) % WRITE_SLOTS][transport] = iter(range(chunks))

    def remove_stream(self, transport: asyncio.Transport) -> None:
        for slot in self._slots:
            slot.pop(transport, None)

    def start_held_streams(self) -> None:
        for transport, chunks in self._held_streams:
            self.add_stream(transport, chunks)

    async def write_chunks(self) -> None:
        loop = asyncio.get_running_loop()
        start_time = loop.time()
        before, after = FRAME_FORMAT.encode_chunk("0" * TIMESTAMP_LENGTH, 0).split(b"0" * TIMESTAMP_LENGTH)
        for tick in count():
            await asyncio.sleep(start_time + tick / (RATE * WRITE_SLOTS) - loop.time())
            slot = self._slots[tick % WRITE_SLOTS]
            for transport, numbers in tuple(slot.items()):
                if next(numbers, None) is not None:
                    transport.write(b"%b%0*.6f %b" % (before, TIMESTAMP_LENGTH - 1, time.monotonic(), after))
                else:
                    del slot[transport]
                    transport.write(FRAME_FORMAT.closing + END)


class Connection(asyncio.Protocol):
    """A connection of the server; it parses one request and adds its stream to the scheduler."""

    def __init__(self, streams: StreamScheduler) -> None:
        self._streams = streams
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._streams.remove_stream(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, gap, body = self._received.partition(b"\r\n\r\n")
        length = _length.search(head)
        if not gap or len(body) < int(length[1] if length else 0):
            return
        self._received = b""
        model = _model.search(body)
        assert model, "unknown model"
        self._transport.write(HEAD + FRAME_FORMAT.opening)
        chunks = int(model[2])
        if model[1] == b"held":
            self._streams.hold_stream(self._transport, chunks)
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(FIRST_CHUNK_SECONDS, self._streams.add_stream, self._transport, chunks)


async def run_provider(expected: int) -> None:
    """Print the port, then a line when all requests are held; start at the first input line, return at the end of input."""
    loop = asyncio.get_running_loop()
    streams = StreamScheduler(expected)
    server = await loop.create_server(lambda: Connection(streams), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    task = asyncio.create_task(streams.write_chunks())
    await streams.all_held.wait()
    print("all held", flush=True)
    await lines.readline()
    streams.start_held_streams()
    await lines.read()
    task.cancel()


if __name__ == "__main__":
    raise_open_file_limit()
    gc.disable()
    uvloop.run(run_provider(int(sys.argv[1])))
