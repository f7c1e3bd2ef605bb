"""Measure many concurrent streams of one client, in a new process that prints the result as JSON."""

import asyncio
import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import uvloop
from msgspec import Struct

from bench.clients import CLIENTS
from bench.provider_server import RATE, raise_open_file_limit

SETTLE_SECONDS = 2.0  # all streams start in this time; then the measurement starts
MIN_STREAMS_FOR_MEMORY = 100  # with fewer streams, memory per stream is not precise
MAX_LATENCY_SECONDS = 2.0  # the histogram counts a higher latency as this value
BUCKET_SECONDS = 0.00005  # width of one bucket of the histogram


class StreamsResult(Struct, frozen=True):
    client: str
    streams: int
    chunks_per_second: float
    chunks_per_event: float
    core_percent: float
    us_per_chunk: float
    latency_p50_ms: float
    latency_p99_ms: float
    kb_per_stream: float | None


class LatencyHistogram:
    """Latency of chunks, from the time they are sent until the client returns them; its memory size is constant."""

    def __init__(self) -> None:
        self.reset_counts()

    def reset_counts(self) -> None:
        self.events = 0
        self.chunks = 0
        self._histogram = [0] * (int(MAX_LATENCY_SECONDS / BUCKET_SECONDS) + 1)

    def record_text(self, text: str) -> None:
        now = time.monotonic()
        self.events += 1
        for sent_at in text.split():
            self.chunks += 1
            self._histogram[min(int((now - float(sent_at)) / BUCKET_SECONDS), len(self._histogram) - 1)] += 1

    def compute_percentile(self, fraction: float) -> float:
        counted = 0
        for bucket, chunks in enumerate(self._histogram):
            counted += chunks
            if counted >= fraction * self.chunks:
                return bucket * BUCKET_SECONDS
        return MAX_LATENCY_SECONDS


def measure_in_process(client: str, address: str, streams: int, seconds: float) -> StreamsResult:
    """Measure in a new process, so that memory and CPU time are those of this client only."""
    command = [sys.executable, "-m", "bench.concurrent_streams", client, address, str(streams), str(seconds)]
    process = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=True,
        timeout=60 + 4 * seconds,
        cwd=Path(__file__).parent.parent,
    )
    return msgspec.json.decode(process.stdout, type=StreamsResult)


async def measure_streams(client: str, address: str, streams: int, seconds: float) -> StreamsResult:
    latency = LatencyHistogram()
    model = f"timed-{round(RATE * (SETTLE_SECONDS + seconds + 0.5))}"
    async with CLIENTS[client](address) as send_request:
        await send_request("burst-100", len)
        gc.collect()
        before = _read_resident_bytes()
        async with asyncio.TaskGroup() as group:
            for _ in range(streams):
                group.create_task(send_request(model, latency.record_text))
            await asyncio.sleep(SETTLE_SECONDS)
            latency.reset_counts()
            start_time, cpu = time.monotonic(), time.process_time()
            await asyncio.sleep(seconds)
            cpu, duration = time.process_time() - cpu, time.monotonic() - start_time
            after, chunks, events = _read_resident_bytes(), latency.chunks, latency.events
            p50, p99 = latency.compute_percentile(0.5), latency.compute_percentile(0.99)
    return StreamsResult(
        client=client,
        streams=streams,
        chunks_per_second=chunks / duration,
        chunks_per_event=chunks / events,
        core_percent=100 * cpu / duration,
        us_per_chunk=1e6 * cpu / chunks,
        latency_p50_ms=1e3 * p50,
        latency_p99_ms=1e3 * p99,
        kb_per_stream=(after - before) / streams / 1024
        if before and after and streams >= MIN_STREAMS_FOR_MEMORY
        else None,
    )


def _read_resident_bytes() -> int | None:
    """Return the resident memory of this process in bytes, or None if the system has no /proc."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if path.exists() else None


if __name__ == "__main__":
    raise_open_file_limit()
    result = uvloop.run(measure_streams(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
    sys.stdout.buffer.write(msgspec.json.encode(result))
