"""How long `moot serve` takes until it answers: on an empty database, which it first sets up, and on one it knows."""

import asyncio
from statistics import median

from msgspec import Struct

from bench.databases import Ground
from bench.processes import moot_serve


class Started(Struct, frozen=True):
    """Seconds from the start of the command, medians; `first` is the one start on an empty database."""

    healthz_s: float
    me_s: float
    first_healthz_s: float
    first_me_s: float


async def measured(ground: Ground, starts: int) -> Started:
    first = await _started(ground)
    others = [await _started(ground) for _ in range(starts)]
    return Started(median(h for h, _ in others), median(m for _, m in others), *first)


async def _started(ground: Ground) -> tuple[float, float]:
    async with moot_serve(ground.folder, ground.url, limited=True) as server:
        healthz, me = await asyncio.gather(server.answers("/healthz"), server.answers("/api/me"))
    return healthz, me
