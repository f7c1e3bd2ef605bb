"""What a streamed chunk costs from the socket to the turn's event, beside a bare loop and the usual SDKs.

Run `python -m bench.providers`; with the dependency group `bench` the SDKs take part.
"""

import argparse
import asyncio
import gc
import os
import platform
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import TypeVar

import uvloop
from msgspec import Struct

from bench import crowd, report, server
from bench.contenders import BARE, LITELLM, MOOT, OPENAI_SDK, Ask, installed_contenders, versions
from bench.frames import answer
from bench.report import Report, Row

T = TypeVar("T")


class Size(Struct, frozen=True):
    """How much is measured; a crowd is as large as is asked of us, or as an SDK can carry on one core."""

    rounds: int
    paced: int
    burst: int
    firsts: int
    crowds: dict[str, int]
    seconds: float


FULL = Size(5, 300, 2000, 15, {BARE: 500, MOOT: 500, OPENAI_SDK: 50, LITELLM: 20}, 8.0)
TIMEOUT_SECONDS = 300.0  # seconds, after which something hangs
QUICK = Size(2, 100, 500, 5, {BARE: 100, MOOT: 100}, 2.0)


class Cost(Struct, frozen=True):
    chunk_us: float
    chunks_an_event: float


class FirstText:
    """Records when the first text arrived."""

    received_at = 0.0

    def record(self, _: str) -> None:
        self.received_at = self.received_at or time.perf_counter()


async def measure(address: str, size: Size) -> list[Row]:
    async with AsyncExitStack() as opened:
        asks = {name: await opened.enter_async_context(o(address)) for name, o in installed_contenders().items()}
        for ask in asks.values():  # connections are open and modules imported before anything counts
            await ask("burst-50", len)
        gc.collect()
        gc.freeze()  # so that the many objects of an SDK do not slow down the other contenders
        paced = await _rounds(asks, size.rounds, lambda ask: _cost(ask, "paced", size.paced))
        burst = await _rounds(asks, size.rounds, lambda ask: _cost(ask, "burst", size.burst))
        first = await _rounds(asks, size.rounds, lambda ask: _first_ms(ask, size.firsts))
    return [
        Row(
            contender=name,
            paced_us=median(cost.chunk_us for cost in paced[name]),
            paced_chunks_an_event=median(cost.chunks_an_event for cost in paced[name]),
            burst_us=median(cost.chunk_us for cost in burst[name]),
            burst_chunks_an_event=median(cost.chunks_an_event for cost in burst[name]),
            first_ms=median(first[name]),
        )
        for name in asks
    ]


async def _rounds(asks: dict[str, Ask], rounds: int, measure: Callable[[Ask], Awaitable[T]]) -> dict[str, list[T]]:
    """Let the contenders take turns, every other round the other way round."""
    found: dict[str, list[T]] = {name: [] for name in asks}
    for number in range(rounds):
        for name in list(asks)[:: -1 if number % 2 else 1]:
            found[name].append(await measure(asks[name]))
            await asyncio.sleep(0.05)  # delayed work of one contender does not count for the next
    return found


async def _cost(ask: Ask, pace: str, chunks: int) -> Cost:
    """Measure the CPU time of a whole request; its beginning and end are spread over the chunks."""
    pieces: list[str] = []
    began = time.process_time()
    await ask(f"{pace}-{chunks}", pieces.append)
    spent = time.process_time() - began
    assert "".join(pieces) == answer(chunks), "the answer arrived whole"
    return Cost(1e6 * spent / chunks, chunks / len(pieces))


async def _first_ms(ask: Ask, request_count: int) -> float:
    """Return milliseconds from asking to the first text."""
    waits: list[float] = []
    for _ in range(request_count):
        first = FirstText()
        began = time.perf_counter()
        await ask("paced-3", first.record)
        waits.append(first.received_at - began)
    return 1e3 * median(waits)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.providers", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a smoke run of some 20 s; its figures are rough")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    chosen = options.parse_args()
    size = QUICK if chosen.quick else FULL
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # all requests stay on this machine
    server.allow_many_files()
    with server.run_server() as address:
        crowds = [
            crowd.measure_in_process(name, address, streams, size.seconds)
            for name, streams in size.crowds.items()
            if name in installed_contenders()
        ]
        rows = uvloop.run(asyncio.wait_for(measure(address, size), TIMEOUT_SECONDS))
    found = Report(
        machine=f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}",
        versions=versions(),
        rounds=size.rounds,
        rows=rows,
        goals=report.goals(rows),
        crowd=crowds,
    )
    report.show(found)
    if chosen.json:
        report.write(found, chosen.json)


if __name__ == "__main__":
    main()
