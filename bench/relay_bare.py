"""What the barest relay costs: bytes from a provider's socket to a reader's, unread, unparsed and not stored.

Nothing that is built on the same client can be cheaper, so it says how much of a chunk's cost is ours.
"""

import asyncio
import sys
import time

import aiohttp
import uvloop
from msgspec import Struct

from bench.load import SETTLE_SECONDS
from bench.processes import run_child
from bench.relay_provider import RATE
from bench.server import allow_many_files

MARGIN = 3.0  # seconds that streams continue after the measurement


class BareCost(Struct, frozen=True):
    streams: int
    chunk_us: float


class Sink(asyncio.Protocol):
    """Readers that only read."""


async def measure_bare_relay(streams: int, seconds: float) -> BareCost:
    """Let a process pass on so many streams, and return its CPU time a chunk."""
    loop = asyncio.get_running_loop()
    sink = await loop.create_server(Sink, "127.0.0.1", 0, backlog=2048)
    async with sink, run_child("bench.relay_provider", str(streams)) as provider:
        ports = (await provider.read_line()).decode(), str(sink.sockets[0].getsockname()[1])
        async with run_child("bench.relay_bare", *ports, str(streams), str(seconds)) as relay:
            assert await provider.read_line() == b"all held"
            await provider.write_line(b"go")
            return BareCost(streams, float(await relay.read_line()))


class Relay:
    def __init__(self, provider: str, sink: str, seconds: float) -> None:
        self._url = f"http://127.0.0.1:{provider}/v1/chat/completions"
        self._sink = sink
        self._body = b'{"model":"held-%d"}' % round(RATE * (SETTLE_SECONDS + seconds + MARGIN))
        self._chunks = 0

    async def relay_stream(self, http: aiohttp.ClientSession) -> None:
        _, reader = await asyncio.open_connection("127.0.0.1", self._sink)
        async with http.post(self._url, data=self._body) as response:
            while piece := await response.content.readany():
                self._chunks += piece.count(b"data: ")
                reader.write(piece)

    async def measure(self, streams: int, seconds: float) -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            passing = [asyncio.create_task(self.relay_stream(http)) for _ in range(streams)]
            while self._chunks <= streams:  # noqa: ASYNC110 - counted by many; held back, each has one at most
                await asyncio.sleep(SETTLE_SECONDS)
            chunks, spent = self._chunks, time.process_time()
            await asyncio.sleep(seconds)
            cost = 1e6 * (time.process_time() - spent) / (self._chunks - chunks)
            for task in passing:
                task.cancel()
            await asyncio.gather(*passing, return_exceptions=True)
            return cost


if __name__ == "__main__":
    allow_many_files()
    provider, sink, streams, seconds = sys.argv[1:]
    relay = Relay(provider, sink, float(seconds))
    print(uvloop.run(relay.measure(int(streams), float(seconds))), flush=True)
