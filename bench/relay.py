"""What `moot serve` adds to a stream: from a provider's socket through run and log to a reader of server-sent events.

Run `python -m bench.relay`. Provider, server and readers are processes of this machine, and so is Postgres. Linux only.
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

from bench import relay_pages, relay_report, relay_start
from bench.databases import Postgres, Workspace, create_workspace, postgres
from bench.load import Load, RelayFigures, measure_load, unfinished_figures
from bench.processes import cpu_seconds, moot_serve
from bench.relay_bare import BareCost, measure_bare_relay
from bench.relay_report import FIRST_STREAMS, MAX_STREAMS, DatabaseReport, Report
from bench.server import allow_many_files

PACKAGES = ("aiohttp", "aiosqlite", "asyncpg", "dbos", "msgspec", "uvicorn", "uvloop")


class Size(Struct, frozen=True):
    """How much is measured."""

    loads: tuple[Load, ...]
    rounds: int
    starts: int
    rest_seconds: float


FULL = Size(
    (
        Load(1, 8.0),
        Load(FIRST_STREAMS, 8.0, newcomers=25),
        Load(500, 8.0),
        Load(MAX_STREAMS, 8.0),
        Load(MAX_STREAMS, 8.0, lanes=10),
    ),
    rounds=200,
    starts=5,
    rest_seconds=5.0,
)
QUICK = Size((Load(1, 2.0), Load(20, 2.0, newcomers=5), Load(20, 2.0, lanes=10)), 20, 1, 1.0)
SETTLE_SECONDS = 3.0  # seconds after which a server without requests is idle


async def measure(name: str, server: Postgres | None, size: Size) -> DatabaseReport:
    async with create_workspace(server) as place:
        start = await relay_start.measure_starts(place, size.starts)
        rest = await _idle_cpu_percent(place, size.rest_seconds)
    async with create_workspace(server) as place:
        pages = await relay_pages.measure_pages(place, size.rounds)
    return DatabaseReport(name, rest, [await _measure_load(name, server, load) for load in size.loads], pages, start)


async def _measure_load(name: str, server: Postgres | None, load: Load) -> RelayFigures:
    sys.stderr.write(f"{name}: streams {load.streams:,}, in each run {load.lanes}\n")
    async with create_workspace(server) as place:
        try:
            return await measure_load(place, load)
        except TimeoutError:
            return unfinished_figures(load)


async def _idle_cpu_percent(workspace: Workspace, seconds: float) -> float:
    """Return how much of a core an idle server uses."""
    async with moot_serve(workspace.folder, workspace.url) as server:
        await server.wait_until_answered("/readyz")
        await asyncio.sleep(SETTLE_SECONDS)
        before, began = cpu_seconds(server.pid), time.monotonic()
        await asyncio.sleep(seconds)
        return 100 * (cpu_seconds(server.pid) - before) / (time.monotonic() - began)


async def measure_all(server: Postgres | None, size: Size) -> tuple[list[BareCost], list[DatabaseReport]]:
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(SIGTERM, task.cancel)  # so that the processes we started end too
    alone = sorted({load.streams for load in size.loads if load.streams > 1})
    least = [await measure_bare_relay(streams, size.loads[0].seconds) for streams in alone]
    found = [await measure("SQLite", None, size)]
    if server is not None:
        found.append(await measure(f"Postgres {server.version}", server, size))
    return least, found


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.relay", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a smoke run; its figures are rough")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    chosen = options.parse_args()
    allow_many_files()
    with postgres() as server:
        least, found = uvloop.run(measure_all(server, QUICK if chosen.quick else FULL))
    report = Report(
        machine=f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}",
        versions={package: metadata.version(package) for package in PACKAGES},
        bare=least,
        databases=found,
        goals=relay_report.goals(found),
    )
    relay_report.show(report)
    if chosen.json:
        relay_report.write(report, chosen.json)


if __name__ == "__main__":
    main()
