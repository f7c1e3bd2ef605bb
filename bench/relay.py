"""Measure the cost of a stream through `moot serve`: provider socket, run, event log, and a reader of server-sent events.

Run `python -m bench.relay`. The provider, the server, the readers and Postgres are processes on this machine. Linux only.
"""

import argparse
import asyncio
import os
import platform
import sys
import time
from importlib import metadata
from pathlib import Path
from signal import SIGTERM

import uvloop
from msgspec import Struct

from bench import relay_discussions, relay_report, relay_start
from bench.databases import Postgres, Workspace, create_workspace, run_postgres
from bench.processes import read_cpu_seconds, run_moot_server
from bench.provider_server import raise_open_file_limit
from bench.relay_bare import BareCost, measure_bare_relay
from bench.relay_load import Load, RelayResult, build_timeout_result, measure_load
from bench.relay_report import FIRST_STREAMS, MAX_STREAMS, DatabaseReport, Report

PACKAGES = ("aiohttp", "aiosqlite", "asyncpg", "dbos", "msgspec", "uvicorn", "uvloop")


class BenchmarkSize(Struct, frozen=True):
    """The loads, and the number of requests, of server starts, and of seconds to measure an idle server."""

    loads: tuple[Load, ...]
    rounds: int
    starts: int
    idle_seconds: float


FULL = BenchmarkSize(
    (
        Load(1, 8.0),
        Load(FIRST_STREAMS, 8.0, extra_runs=25),
        Load(500, 8.0),
        Load(MAX_STREAMS, 8.0),
        Load(MAX_STREAMS, 8.0, lanes=10),
    ),
    rounds=200,
    starts=5,
    idle_seconds=5.0,
)
QUICK = BenchmarkSize((Load(1, 2.0), Load(20, 2.0, extra_runs=5), Load(20, 2.0, lanes=10)), 20, 1, 1.0)
SETTLE_SECONDS = 3.0  # after this time, a server without requests is idle


async def measure_database(name: str, server: Postgres | None, size: BenchmarkSize) -> DatabaseReport:
    async with create_workspace(server) as workspace:
        start = await relay_start.measure_starts(workspace, size.starts)
        idle_percent = await _measure_idle_cpu(workspace, size.idle_seconds)
    async with create_workspace(server) as workspace:
        discussions = await relay_discussions.measure_discussion_requests(workspace, size.rounds)
    loads = [await _measure_load(name, server, load) for load in size.loads]
    return DatabaseReport(name, idle_percent, loads, discussions, start)


async def _measure_load(name: str, server: Postgres | None, load: Load) -> RelayResult:
    sys.stderr.write(f"{name}: {load.streams:,} streams, {load.lanes} per run\n")
    async with create_workspace(server) as workspace:
        try:
            return await measure_load(workspace, load)
        except TimeoutError:
            return build_timeout_result(load)


async def _measure_idle_cpu(workspace: Workspace, seconds: float) -> float:
    """Return the CPU use of an idle server process, in percent of a core."""
    async with run_moot_server(workspace.folder, workspace.url) as server:
        await server.wait_for_response("/readyz")
        await asyncio.sleep(SETTLE_SECONDS)
        before, start_time = read_cpu_seconds(server.pid), time.monotonic()
        await asyncio.sleep(seconds)
        return 100 * (read_cpu_seconds(server.pid) - before) / (time.monotonic() - start_time)


async def measure_all(server: Postgres | None, size: BenchmarkSize) -> tuple[list[BareCost], list[DatabaseReport]]:
    task = asyncio.current_task()
    assert task
    # After SIGTERM, cancel this task, so that it terminates the child processes.
    asyncio.get_running_loop().add_signal_handler(SIGTERM, task.cancel)
    stream_counts = sorted({load.streams for load in size.loads if load.streams > 1})
    bare_costs = [await measure_bare_relay(streams, size.loads[0].seconds) for streams in stream_counts]
    reports = [await measure_database("SQLite", None, size)]
    if server is not None:
        reports.append(await measure_database(f"Postgres {server.version}", server, size))
    return bare_costs, reports


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.relay", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run; its results are not precise")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE as JSON")
    arguments = parser.parse_args()
    raise_open_file_limit()
    with run_postgres() as server:
        bare_costs, reports = uvloop.run(measure_all(server, QUICK if arguments.quick else FULL))
    report = Report(
        machine=f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}",
        versions={package: metadata.version(package) for package in PACKAGES},
        bare=bare_costs,
        databases=reports,
        goals=relay_report.check_goals(reports),
    )
    relay_report.print_report(report)
    if arguments.json:
        relay_report.write_json(report, arguments.json)


if __name__ == "__main__":
    main()
