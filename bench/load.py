"""Live streams through `moot serve`: from a provider's socket through run and log to readers of server-sent events."""

import asyncio
import time
from statistics import quantiles

import aiohttp
import msgspec
from msgspec import Struct

from bench.databases import Workspace
from bench.processes import ChildProcess, MootProcess, child_pids, cpu_seconds, moot_serve, run_child
from bench.relay_provider import FIRST_CHUNK_SECONDS, RATE
from bench.relay_readers import Order, ReaderReport
from moot.types.discussions import LIVE_STATUSES

SETTLE_SECONDS = 2.0  # seconds in which all streams begin, before the figures are taken
END_SECONDS = 0.5  # seconds that streams continue after the measurement
NEWCOMER_SECONDS = 0.3  # between two runs that begin beside the others
NEWCOMER_CHUNKS = 10
POLL_SECONDS = 0.05
CONCURRENT_OPENS = 8  # discussions that are opened at the same time
TIMEOUT_SECONDS = 240.0  # seconds, after which something hangs


class Load(Struct, frozen=True):
    """So many streams for so long, in runs of so many lanes; newcomers begin after the figures were taken."""

    streams: int
    seconds: float
    lanes: int = 1
    newcomers: int = 0

    @property
    def chunks(self) -> int:
        after = END_SECONDS + (self.newcomers * NEWCOMER_SECONDS + FIRST_CHUNK_SECONDS if self.newcomers else 0)
        return round(RATE * (SETTLE_SECONDS + self.seconds + after))


class CpuSeconds(Struct, frozen=True):
    """CPU seconds in the window."""

    took: float
    server: float
    database: float
    provider: float
    readers: float


class RelayFigures(Struct, frozen=True):
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


async def measure_load(workspace: Workspace, load: Load) -> RelayFigures:
    """Hold all streams at the provider until all readers are connected; then measure after they have settled."""
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        run_child("bench.relay_provider", str(load.streams)) as provider,
    ):
        address = f"http://127.0.0.1:{(await provider.read_line()).decode()}/v1"
        settings = f'[providers.bench]\napi = "openai"\nbase_url = "{address}"\n'
        async with moot_serve(workspace.folder, workspace.url, settings) as server:
            await server.wait_until_answered("/readyz")
            async with (
                run_child("bench.relay_readers", server.url) as readers,
                aiohttp.ClientSession() as http,
            ):
                await _warm_up(http, server.url)
                began = time.monotonic()
                model = f"bench/held-{load.chunks}"
                runs = await _open_discussions(http, server.url, model, load.lanes, load.streams // load.lanes)
                await _send_order(readers, Order(runs=runs, lanes=load.lanes, chunks=load.chunks))
                assert await provider.read_line() == b"all held"
                ramp = time.monotonic() - began
                spent = await _measure_cpu(load, workspace, server, provider, readers)
                await _start_newcomers(http, server.url, readers, load.newcomers)
                readers.close_input()
                report = msgspec.json.decode(await readers.read_line(), type=ReaderReport)
            if report.troubles or report.cuts:
                server.show_log()
    return _figures(load, ramp, spent, report)


async def _warm_up(http: aiohttp.ClientSession, url: str) -> None:
    """Execute one run, so that everything is loaded."""
    (run,) = await _open_discussions(http, url, "bench/soon-5", 1, 1)
    status = "waiting"
    while status in LIVE_STATUSES:
        await asyncio.sleep(POLL_SECONDS)
        async with http.get(f"{url}/api/runs/{run}") as response:
            status = (await response.json())["status"]
    assert status == "completed", status


async def _open_discussions(http: aiohttp.ClientSession, url: str, model: str, lanes: int, runs: int) -> list[str]:
    """Open a discussion for each run, and return the runs that answer in them."""
    body = {"message": "Go on.", "mode": "parallel", "participants": [model] * lanes}
    at_once = asyncio.Semaphore(CONCURRENT_OPENS)

    async def open_one() -> str:
        async with at_once, http.post(f"{url}/api/discussions", json=body) as response:
            if response.status != 503:
                assert response.status == 201, await response.text()
                run: str = (await response.json())["run"]["id"]
                return run
        await asyncio.sleep(float(response.headers["Retry-After"]))
        return await open_one()

    return list(await asyncio.gather(*(open_one() for _ in range(runs))))


async def _send_order(readers: ChildProcess, order: Order) -> None:
    await readers.write_line(msgspec.json.encode(order))
    assert await readers.read_line() == b"obeyed"


async def _measure_cpu(
    load: Load, workspace: Workspace, server: MootProcess, provider: ChildProcess, readers: ChildProcess
) -> CpuSeconds:
    start = time.monotonic() + SETTLE_SECONDS
    window = (start, start + load.seconds)
    await _send_order(readers, Order(window=window))
    await provider.write_line(b"go")
    await asyncio.sleep(window[0] - time.monotonic())
    before, began = _read_cpu_times(workspace, server, provider, readers), time.monotonic()
    await asyncio.sleep(window[1] - time.monotonic())
    after, took = _read_cpu_times(workspace, server, provider, readers), time.monotonic() - began
    used = [sum(after[who].values()) - sum(before[who].get(pid, 0.0) for pid in after[who]) for who in range(4)]
    return CpuSeconds(took, *used)


def _read_cpu_times(
    workspace: Workspace, server: MootProcess, provider: ChildProcess, readers: ChildProcess
) -> list[dict[int, float]]:
    database = child_pids(workspace.postgres) if workspace.postgres else []
    who = ([server.pid], database, [provider.pid], [readers.pid])
    return [{pid: cpu_seconds(pid) for pid in pids} for pids in who]


async def _start_newcomers(http: aiohttp.ClientSession, url: str, readers: ChildProcess, count: int) -> None:
    """Start further runs beside the active ones, one after the other."""
    began = time.monotonic()
    for number in range(count):
        await asyncio.sleep(began + number * NEWCOMER_SECONDS - time.monotonic())
        runs = await _open_discussions(http, url, f"bench/soon-{NEWCOMER_CHUNKS}", 1, 1)
        await _send_order(readers, Order(runs=runs, chunks=NEWCOMER_CHUNKS, newcomer=True))


def _figures(load: Load, ramp: float, cpu: CpuSeconds, report: ReaderReport) -> RelayFigures:
    chunks = max(1, report.chunks)
    return RelayFigures(
        streams=load.streams,
        lanes=load.lanes,
        ramp_seconds=ramp,
        chunks_a_second=report.chunks / cpu.took,
        chunks_an_event=report.chunks / max(1, report.events),
        chunk_us=1e6 * cpu.server / chunks,
        core_percent=100 * cpu.server / cpu.took,
        database_us=1e6 * cpu.database / chunks,
        provider_percent=100 * cpu.provider / cpu.took,
        readers_percent=100 * cpu.readers / cpu.took,
        late_p50_ms=_percentile(report.late, 50),
        late_p99_ms=_percentile(report.late, 99),
        first_p50_ms=_percentile(report.first, 50),
        first_p99_ms=_percentile(report.first, 99),
        newcomer_p50_ms=_percentile(report.newcomers, 50) if report.newcomers else None,
        newcomer_p99_ms=_percentile(report.newcomers, 99) if report.newcomers else None,
        lost=report.lost,
        cuts=report.cuts,
        troubles=report.troubles,
    )


def unfinished_figures(load: Load) -> RelayFigures:
    """Describe a load that did not finish."""
    nothing = ReaderReport(
        0, 0, [], [], [], load.streams * load.chunks, 0, [f"did not end within {TIMEOUT_SECONDS:g} s"]
    )
    return _figures(load, 0.0, CpuSeconds(1.0, 0.0, 0.0, 0.0, 0.0), nothing)


def _percentile(seconds: list[float], percent: int) -> float:
    """Return milliseconds; of a single value, that value."""
    few = seconds if len(seconds) > 1 else seconds * 2
    return 1e3 * quantiles(few, n=100, method="inclusive")[percent - 1] if few else 0.0
