"""Measure the CPU time of a client per streamed chunk, from the socket to the event: Moot, a minimal client, and SDKs.

Run `python -m bench.providers`. The dependency group `bench` installs the SDKs.
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

from bench import concurrent_streams, provider_server, providers_report
from bench.clients import BARE, LITELLM, MOOT, OPENAI_SDK, SendRequest, list_installed_clients, read_package_versions
from bench.provider_frames import build_answer
from bench.providers_report import ClientResult, Report

T = TypeVar("T")


class BenchmarkSize(Struct, frozen=True):
    """The number of rounds, chunks and requests. An SDK gets fewer concurrent streams, because they fill one core."""

    rounds: int
    paced_chunks: int
    burst_chunks: int
    first_text_requests: int
    concurrent_streams: dict[str, int]
    seconds: float


FULL = BenchmarkSize(5, 300, 2000, 15, {BARE: 500, MOOT: 500, OPENAI_SDK: 50, LITELLM: 20}, 8.0)
TIMEOUT_SECONDS = 300.0  # a longer measurement is an error
QUICK = BenchmarkSize(2, 100, 500, 5, {BARE: 100, MOOT: 100}, 2.0)


class ChunkCost(Struct, frozen=True):
    us_per_chunk: float
    chunks_per_event: float


class FirstTextTimer:
    """Records the time of the first text of a response."""

    received_at = 0.0

    def record_text(self, _: str) -> None:
        self.received_at = self.received_at or time.perf_counter()


async def measure_clients(address: str, size: BenchmarkSize) -> list[ClientResult]:
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(open_client(address))
            for name, open_client in list_installed_clients().items()
        }
        for send_request in clients.values():  # warm up: open the connections and import all modules
            await send_request("burst-50", len)
        gc.collect()
        gc.freeze()  # the objects of an SDK must not slow down the other clients
        paced = await _run_rounds(clients, size.rounds, lambda send: _measure_cost(send, "paced", size.paced_chunks))
        burst = await _run_rounds(clients, size.rounds, lambda send: _measure_cost(send, "burst", size.burst_chunks))
        first = await _run_rounds(clients, size.rounds, lambda send: _measure_first_ms(send, size.first_text_requests))
    return [
        ClientResult(
            client=name,
            paced_us=median(cost.us_per_chunk for cost in paced[name]),
            paced_chunks_per_event=median(cost.chunks_per_event for cost in paced[name]),
            burst_us=median(cost.us_per_chunk for cost in burst[name]),
            burst_chunks_per_event=median(cost.chunks_per_event for cost in burst[name]),
            first_ms=median(first[name]),
        )
        for name in clients
    ]


async def _run_rounds(
    clients: dict[str, SendRequest], rounds: int, measure: Callable[[SendRequest], Awaitable[T]]
) -> dict[str, list[T]]:
    """Measure all clients in each round, in reverse order in every second round, and return the values by client."""
    values: dict[str, list[T]] = {name: [] for name in clients}
    for number in range(rounds):
        for name in list(clients)[:: -1 if number % 2 else 1]:
            values[name].append(await measure(clients[name]))
            await asyncio.sleep(0.05)  # wait for background tasks of this client
    return values


async def _measure_cost(send_request: SendRequest, pace: str, chunks: int) -> ChunkCost:
    """Return the CPU time of a whole request per chunk; it includes the start and the end of the request."""
    pieces: list[str] = []
    start_time = time.process_time()
    await send_request(f"{pace}-{chunks}", pieces.append)
    cpu_time = time.process_time() - start_time
    assert "".join(pieces) == build_answer(chunks), "the received text differs from the sent text"
    return ChunkCost(1e6 * cpu_time / chunks, chunks / len(pieces))


async def _measure_first_ms(send_request: SendRequest, request_count: int) -> float:
    """Return the median milliseconds from the request to the first text of the response."""
    latencies: list[float] = []
    for _ in range(request_count):
        timer = FirstTextTimer()
        start_time = time.perf_counter()
        await send_request("paced-3", timer.record_text)
        latencies.append(timer.received_at - start_time)
    return 1e3 * median(latencies)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.providers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of about 20 s; its results are not precise")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE as JSON")
    arguments = parser.parse_args()
    size = QUICK if arguments.quick else FULL
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # send no request to a proxy
    provider_server.raise_open_file_limit()
    with provider_server.run_server() as address:
        concurrent = [
            concurrent_streams.measure_in_process(name, address, streams, size.seconds)
            for name, streams in size.concurrent_streams.items()
            if name in list_installed_clients()
        ]
        rows = uvloop.run(asyncio.wait_for(measure_clients(address, size), TIMEOUT_SECONDS))
    report = Report(
        machine=f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}",
        versions=read_package_versions(),
        rounds=size.rounds,
        rows=rows,
        goals=providers_report.check_goals(rows),
        concurrent=concurrent,
    )
    providers_report.print_report(report)
    if arguments.json:
        providers_report.write_json(report, arguments.json)


if __name__ == "__main__":
    main()
