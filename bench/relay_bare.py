"""Measure a bare relay: a process that copies bytes from the provider connection to a reader, and does not parse them.

A server with the same HTTP client cannot use less CPU time, so this value is the lower bound of the cost per chunk.
"""

import asyncio
import sys
import time

import aiohttp
import uvloop
from msgspec import Struct

from bench.processes import run_child
from bench.provider_server import raise_open_file_limit
from bench.relay_load import SETTLE_SECONDS
from bench.relay_provider import RATE

MARGIN_SECONDS = 3.0  # the streams continue this long after the measurement


class BareCost(Struct, frozen=True):
    streams: int
    us_per_chunk: float


class Sink(asyncio.Protocol):
    """A server connection that discards all received data."""


async def measure_bare_relay(streams: int, seconds: float) -> BareCost:
    """Relay this number of streams in a new process, and return its CPU time per chunk."""
    loop = asyncio.get_running_loop()
    sink = await loop.create_server(Sink, "127.0.0.1", 0, backlog=2048)
    async with sink, run_child("bench.relay_provider", str(streams)) as provider:
        ports = (await provider.read_line()).decode(), str(sink.sockets[0].getsockname()[1])
        async with run_child("bench.relay_bare", *ports, str(streams), str(seconds)) as relay:
            assert await provider.read_line() == b"all held"
            await provider.write_line(b"go")
            return BareCost(streams, float(await relay.read_line()))


class Relay:
    """Copies the bytes of each response stream to a connection of the sink."""

    def __init__(self, provider: str, sink: str, seconds: float) -> None:
        self._url = f"http://127.0.0.1:{provider}/v1/chat/completions"
        self._sink = sink
        self._body = b'{"model":"held-%d"}' % round(RATE * (SETTLE_SECONDS + seconds + MARGIN_SECONDS))
        self._chunks = 0

    async def relay_stream(self, http: aiohttp.ClientSession) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", self._sink)
        async with http.post(self._url, data=self._body) as response:
            while data := await response.content.readany():
                self._chunks += data.count(b"data: ")
                writer.write(data)

    async def measure_cost(self, streams: int, seconds: float) -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            tasks = [asyncio.create_task(self.relay_stream(http)) for _ in range(streams)]
            while self._chunks <= streams:  # noqa: ASYNC110 - many tasks count; a held stream has at most one chunk
                await asyncio.sleep(SETTLE_SECONDS)
            chunks, cpu_time = self._chunks, time.process_time()
            await asyncio.sleep(seconds)
            cost = 1e6 * (time.process_time() - cpu_time) / (self._chunks - chunks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return cost


if __name__ == "__main__":
    raise_open_file_limit()
    provider, sink, streams, seconds = sys.argv[1:]
    relay = Relay(provider, sink, float(seconds))
    print(uvloop.run(relay.measure_cost(int(streams), float(seconds))), flush=True)
