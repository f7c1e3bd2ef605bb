"""Measure the time from the start of the `moot serve` process to its first response, with a new or existing database."""

import asyncio
from statistics import median

from msgspec import Struct

from bench.databases import Workspace
from bench.processes import run_moot_server


class StartTimes(Struct, frozen=True):
    """Median seconds from the start of the process to a response; `first` is the start that creates the schema."""

    healthz_s: float
    me_s: float
    first_healthz_s: float
    first_me_s: float


async def measure_starts(workspace: Workspace, starts: int) -> StartTimes:
    first = await _measure_start(workspace)
    next_starts = [await _measure_start(workspace) for _ in range(starts)]
    return StartTimes(median(h for h, _ in next_starts), median(m for _, m in next_starts), *first)


async def _measure_start(workspace: Workspace) -> tuple[float, float]:
    async with run_moot_server(workspace.folder, workspace.url, rate_limits=True) as server:
        healthz, me = await asyncio.gather(server.wait_for_response("/healthz"), server.wait_for_response("/api/me"))
    return healthz, me
