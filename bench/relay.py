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
from bench.databases import Ground, Postgres, ground, postgres
from bench.load import Load, Relayed, relayed, unfinished
from bench.processes import cpu_seconds, moot_serve
from bench.relay_bare import Bare, bare
from bench.relay_report import FIRST_STREAMS, MOST_STREAMS, OnDatabase, Report
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
        Load(MOST_STREAMS, 8.0),
        Load(MOST_STREAMS, 8.0, lanes=10),
    ),
    rounds=200,
    starts=5,
    rest_seconds=5.0,
)
QUICK = Size((Load(1, 2.0), Load(20, 2.0, newcomers=5), Load(20, 2.0, lanes=10)), 20, 1, 1.0)
SETTLING = 3.0  # seconds after which a server that nobody calls is at rest


async def measure(name: str, server: Postgres | None, size: Size) -> OnDatabase:
    async with ground(server) as place:
        start = await relay_start.measured(place, size.starts)
        rest = await _rest_percent(place, size.rest_seconds)
    async with ground(server) as place:
        pages = await relay_pages.measured(place, size.rounds)
    return OnDatabase(name, rest, [await _relayed(name, server, load) for load in size.loads], pages, start)


async def _relayed(name: str, server: Postgres | None, load: Load) -> Relayed:
    sys.stderr.write(f"{name}: streams {load.streams:,}, in each run {load.lanes}\n")
    async with ground(server) as place:
        try:
            return await relayed(place, load)
        except TimeoutError:
            return unfinished(load)


async def _rest_percent(place: Ground, seconds: float) -> float:
    """Return how much of a core a server takes that nobody calls."""
    async with moot_serve(place.folder, place.url) as server:
        await server.answers("/readyz")
        await asyncio.sleep(SETTLING)
        before, began = cpu_seconds(server.pid), time.monotonic()
        await asyncio.sleep(seconds)
        return 100 * (cpu_seconds(server.pid) - before) / (time.monotonic() - began)


async def measure_all(server: Postgres | None, size: Size) -> tuple[list[Bare], list[OnDatabase]]:
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(SIGTERM, task.cancel)  # or what we started would stay
    alone = sorted({load.streams for load in size.loads if load.streams > 1})
    least = [await bare(streams, size.loads[0].seconds) for streams in alone]
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
