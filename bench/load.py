"""Live streams through `moot serve`: from a provider's socket through run and log to readers of server-sent events."""

import asyncio
import time
from statistics import quantiles

import aiohttp
import msgspec
from msgspec import Struct

from bench.databases import Ground
from bench.processes import Child, Server, child, children, cpu_seconds, moot_serve
from bench.relay_provider import RATE, SOON
from bench.relay_readers import Heard, Order
from moot.types.discussions import LIVE_STATUSES

SETTLING = 2.0  # seconds in which all streams begin, before the figures are taken
ENDING = 0.5  # seconds that streams go on after the figures are taken
NEWCOMER_SECONDS = 0.3  # between two runs that begin beside the others
NEWCOMER_CHUNKS = 10
LOOK_SECONDS = 0.05
OPENING = 8  # discussions that are opened at the same time
LONGEST = 240.0  # seconds, after which something hangs


class Load(Struct, frozen=True):
    """So many streams for so long, in runs of so many lanes; newcomers begin after the figures were taken."""

    streams: int
    seconds: float
    lanes: int = 1
    newcomers: int = 0

    @property
    def chunks(self) -> int:
        after = ENDING + (self.newcomers * NEWCOMER_SECONDS + SOON if self.newcomers else 0)
        return round(RATE * (SETTLING + self.seconds + after))


class Spent(Struct, frozen=True):
    """CPU seconds in the window."""

    took: float
    server: float
    database: float
    provider: float
    readers: float


class Relayed(Struct, frozen=True):
    streams: int
    lanes: int
    ramp_seconds: float
    chunks_a_second: float
    chunks_an_event: float
    chunk_us: float
    core_percent: float
    database_us: float
    provider_percent: float
    readers_percent: float
    late_p50_ms: float
    late_p99_ms: float
    first_p50_ms: float
    first_p99_ms: float
    newcomer_p50_ms: float | None
    newcomer_p99_ms: float | None
    lost: int
    cuts: int
    troubles: list[str]


async def relayed(ground: Ground, load: Load) -> Relayed:
    """Let all streams wait at the provider until all readers are there; then count from when they have settled."""
    async with asyncio.timeout(LONGEST), child("bench.relay_provider", str(load.streams)) as provider:
        address = f"http://127.0.0.1:{(await provider.hear()).decode()}/v1"
        settings = f'[providers.bench]\napi = "openai"\nbase_url = "{address}"\n'
        async with moot_serve(ground.folder, ground.url, settings) as server:
            await server.answers("/readyz")
            async with child("bench.relay_readers", server.url) as readers, aiohttp.ClientSession() as http:
                await _warmed_up(http, server.url)
                began = time.monotonic()
                model = f"bench/held-{load.chunks}"
                runs = await _opened(http, server.url, model, load.lanes, load.streams // load.lanes)
                await _order(readers, Order(runs=runs, lanes=load.lanes, chunks=load.chunks))
                assert await provider.hear() == b"all held"
                ramp = time.monotonic() - began
                spent = await _measured(load, ground, server, provider, readers)
                await _newcomers(http, server.url, readers, load.newcomers)
                readers.tell_no_more()
                heard = msgspec.json.decode(await readers.hear(), type=Heard)
            if heard.troubles or heard.cuts:
                server.show_log()
    return _figures(load, ramp, spent, heard)


async def _warmed_up(http: aiohttp.ClientSession, url: str) -> None:
    """Let one run come to its end, so that everything is loaded."""
    (run,) = await _opened(http, url, "bench/soon-5", 1, 1)
    status = "waiting"
    while status in LIVE_STATUSES:
        await asyncio.sleep(LOOK_SECONDS)
        async with http.get(f"{url}/api/runs/{run}") as response:
            status = (await response.json())["status"]
    assert status == "completed", status


async def _opened(http: aiohttp.ClientSession, url: str, model: str, lanes: int, runs: int) -> list[str]:
    """Open a discussion for each run, and return the runs that answer in them."""
    body = {"message": "Go on.", "mode": "parallel", "participants": [model] * lanes}
    at_once = asyncio.Semaphore(OPENING)

    async def open_one() -> str:
        async with at_once, http.post(f"{url}/api/discussions", json=body) as response:
            if response.status != 503:
                assert response.status == 201, await response.text()
                run: str = (await response.json())["run"]["id"]
                return run
        await asyncio.sleep(float(response.headers["Retry-After"]))
        return await open_one()

    return list(await asyncio.gather(*(open_one() for _ in range(runs))))


async def _order(readers: Child, order: Order) -> None:
    await readers.tell(msgspec.json.encode(order))
    assert await readers.hear() == b"obeyed"


async def _measured(load: Load, ground: Ground, server: Server, provider: Child, readers: Child) -> Spent:
    start = time.monotonic() + SETTLING
    window = (start, start + load.seconds)
    await _order(readers, Order(window=window))
    await provider.tell(b"go")
    await asyncio.sleep(window[0] - time.monotonic())
    before, began = _spent(ground, server, provider, readers), time.monotonic()
    await asyncio.sleep(window[1] - time.monotonic())
    after, took = _spent(ground, server, provider, readers), time.monotonic() - began
    used = [
        sum(after[who].values()) - sum(before[who].get(pid, 0.0) for pid in after[who]) for who in range(4)
    ]
    return Spent(took, *used)


def _spent(ground: Ground, server: Server, provider: Child, readers: Child) -> list[dict[int, float]]:
    database = children(ground.postgres) if ground.postgres else []
    who = ([server.pid], database, [provider.pid], [readers.pid])
    return [{pid: cpu_seconds(pid) for pid in pids} for pids in who]


async def _newcomers(http: aiohttp.ClientSession, url: str, readers: Child, newcomers: int) -> None:
    """Begin further runs beside those that go on, one after the other."""
    began = time.monotonic()
    for number in range(newcomers):
        await asyncio.sleep(began + number * NEWCOMER_SECONDS - time.monotonic())
        runs = await _opened(http, url, f"bench/soon-{NEWCOMER_CHUNKS}", 1, 1)
        await _order(readers, Order(runs=runs, chunks=NEWCOMER_CHUNKS, newcomer=True))


def _figures(load: Load, ramp: float, spent: Spent, heard: Heard) -> Relayed:
    chunks = max(1, heard.chunks)
    return Relayed(
        streams=load.streams,
        lanes=load.lanes,
        ramp_seconds=ramp,
        chunks_a_second=heard.chunks / spent.took,
        chunks_an_event=heard.chunks / max(1, heard.events),
        chunk_us=1e6 * spent.server / chunks,
        core_percent=100 * spent.server / spent.took,
        database_us=1e6 * spent.database / chunks,
        provider_percent=100 * spent.provider / spent.took,
        readers_percent=100 * spent.readers / spent.took,
        late_p50_ms=_percentile(heard.late, 50),
        late_p99_ms=_percentile(heard.late, 99),
        first_p50_ms=_percentile(heard.first, 50),
        first_p99_ms=_percentile(heard.first, 99),
        newcomer_p50_ms=_percentile(heard.newcomers, 50) if heard.newcomers else None,
        newcomer_p99_ms=_percentile(heard.newcomers, 99) if heard.newcomers else None,
        lost=heard.lost,
        cuts=heard.cuts,
        troubles=heard.troubles,
    )


def unfinished(load: Load) -> Relayed:
    """What is to be said of a load that did not come to its end."""
    nothing = Heard(0, 0, [], [], [], load.streams * load.chunks, 0, [f"did not end within {LONGEST:g} s"])
    return _figures(load, 0.0, Spent(1.0, 0.0, 0.0, 0.0, 0.0), nothing)


def _percentile(seconds: list[float], percent: int) -> float:
    """Return milliseconds; of a single value, that value."""
    few = seconds if len(seconds) > 1 else seconds * 2
    return 1e3 * quantiles(few, n=100, method="inclusive")[percent - 1] if few else 0.0
