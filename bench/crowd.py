"""Many live streams at once, measured in a fresh process that prints its figures as JSON."""

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

from bench.contenders import CONTENDERS
from bench.server import RATE, allow_many_files

SETTLE_SECONDS = 2.0  # seconds in which all streams begin, before the figures are taken
MIN_STREAMS_FOR_MEMORY = 100  # streams, below which memory a stream drowns in what the process takes anyway
MAX_LATENESS_SECONDS = 2.0  # seconds; what is later counts as this late
STEP_SECONDS = 0.00005  # seconds that one mark of the scale stands for


class Figures(Struct, frozen=True):
    contender: str
    streams: int
    chunks_a_second: float
    chunks_an_event: float
    core_percent: float
    chunk_us: float
    late_p50_ms: float
    late_p99_ms: float
    stream_kb: float | None


class Lateness:
    """How late chunks arrived, as a histogram that takes the same memory for any number of them."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.events = 0
        self.chunks = 0
        self._histogram = [0] * (int(MAX_LATENESS_SECONDS / STEP_SECONDS) + 1)

    def record(self, text: str) -> None:
        now = time.monotonic()
        self.events += 1
        for sent in text.split():
            self.chunks += 1
            self._histogram[min(int((now - float(sent)) / STEP_SECONDS), len(self._histogram) - 1)] += 1

    def percentile(self, share: float) -> float:
        seen = 0
        for mark, chunks in enumerate(self._histogram):
            seen += chunks
            if seen >= share * self.chunks:
                return mark * STEP_SECONDS
        return MAX_LATENESS_SECONDS


def measure_in_process(contender: str, address: str, streams: int, seconds: float) -> Figures:
    """Measure in another process, so that memory and CPU time are those of this contender alone."""
    command = [sys.executable, "-m", "bench.crowd", contender, address, str(streams), str(seconds)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=True,
        timeout=60 + 4 * seconds,
        cwd=Path(__file__).parent.parent,
    )
    return msgspec.json.decode(done.stdout, type=Figures)


async def measure(contender: str, address: str, streams: int, seconds: float) -> Figures:
    late = Lateness()
    plan = f"crowd-{round(RATE * (SETTLE_SECONDS + seconds + 0.5))}"
    async with CONTENDERS[contender](address) as ask:
        await ask("burst-100", len)
        gc.collect()
        before = _resident_bytes()
        async with asyncio.TaskGroup() as group:
            for _ in range(streams):
                group.create_task(ask(plan, late.record))
            await asyncio.sleep(SETTLE_SECONDS)
            late.clear()
            began, cpu = time.monotonic(), time.process_time()
            await asyncio.sleep(seconds)
            cpu, took = time.process_time() - cpu, time.monotonic() - began
            after, chunks, events = _resident_bytes(), late.chunks, late.events
            p50, p99 = late.percentile(0.5), late.percentile(0.99)
    return Figures(
        contender=contender,
        streams=streams,
        chunks_a_second=chunks / took,
        chunks_an_event=chunks / events,
        core_percent=100 * cpu / took,
        chunk_us=1e6 * cpu / chunks,
        late_p50_ms=1e3 * p50,
        late_p99_ms=1e3 * p99,
        stream_kb=(after - before) / streams / 1024 if before and after and streams >= MIN_STREAMS_FOR_MEMORY else None,
    )


def _resident_bytes() -> int | None:
    """Bytes of memory that this process holds now, where the system says so."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if path.exists() else None


if __name__ == "__main__":
    allow_many_files()
    found = uvloop.run(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
    sys.stdout.buffer.write(msgspec.json.encode(found))
