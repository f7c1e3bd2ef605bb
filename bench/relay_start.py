"""How long `moot serve` takes until it answers: on an empty database, which it first sets up, and on one it knows."""

import asyncio
from statistics import median

from msgspec import Struct

from bench.databases import Workspace
from bench.processes import moot_serve


class StartTimes(Struct, frozen=True):
    """Seconds from the start of the command, medians; `first` is the one start on an empty database."""

    healthz_s: float
    me_s: float
    first_healthz_s: float
    first_me_s: float


async def measure_starts(workspace: Workspace, starts: int) -> StartTimes:
    first = await _measure_start(workspace)
    others = [await _measure_start(workspace) for _ in range(starts)]
    return StartTimes(median(h for h, _ in others), median(m for _, m in others), *first)


async def _measure_start(workspace: Workspace) -> tuple[float, float]:
    async with moot_serve(workspace.folder, workspace.url, limited=True) as server:
        healthz, me = await asyncio.gather(
            server.wait_until_answered("/healthz"), server.wait_until_answered("/api/me")
        )
    return healthz, me
