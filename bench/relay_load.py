"""Measure concurrent streams through `moot serve`: provider socket, run, event log, and readers of server-sent events."""

import asyncio
import time
from statistics import quantiles

import aiohttp
import msgspec
from msgspec import Struct

from bench.databases import Workspace
from bench.processes import ChildProcess, MootProcess, list_child_pids, read_cpu_seconds, run_child, run_moot_server
from bench.relay_provider import FIRST_CHUNK_SECONDS, RATE
from bench.relay_readers import ReaderCommand, ReaderReport
from moot.types.discussions import LIVE_STATUSES

SETTLE_SECONDS = 2.0  # all streams start in this time; then the measurement starts
END_SECONDS = 0.5  # the streams continue this long after the measurement
EXTRA_RUN_INTERVAL_SECONDS = 0.3  # between the start of two extra runs
EXTRA_RUN_CHUNKS = 10
POLL_SECONDS = 0.05
CONCURRENT_REQUESTS = 8  # requests that create a discussion at the same time
TIMEOUT_SECONDS = 240.0  # a longer measurement is an error


class Load(Struct, frozen=True):
    """The number of streams, the seconds to measure, and the lanes of each run. Extra runs start after the measurement."""

    streams: int
    seconds: float
    lanes: int = 1
    extra_runs: int = 0

    @property
    def chunk_count(self) -> int:
        remaining = END_SECONDS + (
            self.extra_runs * EXTRA_RUN_INTERVAL_SECONDS + FIRST_CHUNK_SECONDS if self.extra_runs else 0
        )
        return round(RATE * (SETTLE_SECONDS + self.seconds + remaining))


class CpuSeconds(Struct, frozen=True):
    """The duration of the measurement, and the CPU seconds of each process in that time."""

    duration: float
    server: float
    database: float
    provider: float
    readers: float


class RelayResult(Struct, frozen=True):
    streams: int
    lanes: int
    ramp_seconds: float
    chunks_per_second: float
    chunks_per_event: float
    us_per_chunk: float
    core_percent: float
    database_us_per_chunk: float
    provider_percent: float
    readers_percent: float
    latency_p50_ms: float
    latency_p99_ms: float
    first_p50_ms: float
    first_p99_ms: float
    extra_run_p50_ms: float | None
    extra_run_p99_ms: float | None
    lost: int
    disconnects: int
    problems: list[str]


async def measure_load(workspace: Workspace, load: Load) -> RelayResult:
    """Start all streams at the same time, when all readers have a connection, and return the measured values."""
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        run_child("bench.relay_provider", str(load.streams)) as provider,
    ):
        address = f"http://127.0.0.1:{(await provider.read_line()).decode()}/v1"
        settings = f'[providers.bench]\napi = "openai"\nbase_url = "{address}"\n'
        async with run_moot_server(workspace.folder, workspace.url, settings) as server:
            await server.wait_for_response("/readyz")
            async with (
                run_child("bench.relay_readers", server.url) as readers,
                aiohttp.ClientSession() as http,
            ):
                await _warm_up(http, server.url)
                start_time = time.monotonic()
                model = f"bench/held-{load.chunk_count}"
                runs = await _create_discussions(http, server.url, model, load.lanes, load.streams // load.lanes)
                await _send_command(readers, ReaderCommand(runs=runs, lanes=load.lanes, chunks=load.chunk_count))
                assert await provider.read_line() == b"all held"
                ramp = time.monotonic() - start_time
                cpu = await _measure_cpu(load, workspace, server, provider, readers)
                await _start_extra_runs(http, server.url, readers, load.extra_runs)
                readers.close_input()
                report = msgspec.json.decode(await readers.read_line(), type=ReaderReport)
            if report.problems or report.disconnects:
                server.print_log()
    return _build_result(load, ramp, cpu, report)


async def _warm_up(http: aiohttp.ClientSession, url: str) -> None:
    """Execute one run, so that the server loads all modules and fills its caches."""
    (run,) = await _create_discussions(http, url, "bench/delayed-5", 1, 1)
    status = "waiting"
    while status in LIVE_STATUSES:
        await asyncio.sleep(POLL_SECONDS)
        async with http.get(f"{url}/api/runs/{run}") as response:
            status = (await response.json())["status"]
    assert status == "completed", status


async def _create_discussions(http: aiohttp.ClientSession, url: str, model: str, lanes: int, runs: int) -> list[str]:
    """Create a discussion for each run, and return the ids of the runs; retry a request if the server is busy."""
    body = {"message": "Go on.", "mode": "parallel", "participants": [model] * lanes}
    semaphore = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def create_discussion() -> str:
        async with semaphore, http.post(f"{url}/api/discussions", json=body) as response:
            if response.status != 503:
                assert response.status == 201, await response.text()
                run: str = (await response.json())["run"]["id"]
                return run
        await asyncio.sleep(float(response.headers["Retry-After"]))
        return await create_discussion()

    return list(await asyncio.gather(*(create_discussion() for _ in range(runs))))


async def _send_command(readers: ChildProcess, command: ReaderCommand) -> None:
    await readers.write_line(msgspec.json.encode(command))
    assert await readers.read_line() == b"done"


async def _measure_cpu(
    load: Load, workspace: Workspace, server: MootProcess, provider: ChildProcess, readers: ChildProcess
) -> CpuSeconds:
    start = time.monotonic() + SETTLE_SECONDS
    window = (start, start + load.seconds)
    await _send_command(readers, ReaderCommand(window=window))
    await provider.write_line(b"go")
    await asyncio.sleep(window[0] - time.monotonic())
    before, start_time = _read_cpu_times(workspace, server, provider, readers), time.monotonic()
    await asyncio.sleep(window[1] - time.monotonic())
    after, duration = _read_cpu_times(workspace, server, provider, readers), time.monotonic() - start_time
    used = [sum(after[i].values()) - sum(before[i].get(pid, 0.0) for pid in after[i]) for i in range(4)]
    return CpuSeconds(duration, *used)


def _read_cpu_times(
    workspace: Workspace, server: MootProcess, provider: ChildProcess, readers: ChildProcess
) -> list[dict[int, float]]:
    database = list_child_pids(workspace.postgres_pid) if workspace.postgres_pid else []
    groups = ([server.pid], database, [provider.pid], [readers.pid])
    return [{pid: read_cpu_seconds(pid) for pid in pids} for pids in groups]


async def _start_extra_runs(http: aiohttp.ClientSession, url: str, readers: ChildProcess, count: int) -> None:
    """Start extra runs one after another, while the other streams are active."""
    start_time = time.monotonic()
    for number in range(count):
        await asyncio.sleep(start_time + number * EXTRA_RUN_INTERVAL_SECONDS - time.monotonic())
        runs = await _create_discussions(http, url, f"bench/delayed-{EXTRA_RUN_CHUNKS}", 1, 1)
        await _send_command(readers, ReaderCommand(runs=runs, chunks=EXTRA_RUN_CHUNKS, extra_run=True))


def _build_result(load: Load, ramp: float, cpu: CpuSeconds, report: ReaderReport) -> RelayResult:
    chunks = max(1, report.chunks)
    return RelayResult(
        streams=load.streams,
        lanes=load.lanes,
        ramp_seconds=ramp,
        chunks_per_second=report.chunks / cpu.duration,
        chunks_per_event=report.chunks / max(1, report.events),
        us_per_chunk=1e6 * cpu.server / chunks,
        core_percent=100 * cpu.server / cpu.duration,
        database_us_per_chunk=1e6 * cpu.database / chunks,
        provider_percent=100 * cpu.provider / cpu.duration,
        readers_percent=100 * cpu.readers / cpu.duration,
        latency_p50_ms=_compute_percentile_ms(report.latencies, 50),
        latency_p99_ms=_compute_percentile_ms(report.latencies, 99),
        first_p50_ms=_compute_percentile_ms(report.first_latencies, 50),
        first_p99_ms=_compute_percentile_ms(report.first_latencies, 99),
        extra_run_p50_ms=_compute_percentile_ms(report.extra_run_latencies, 50) if report.extra_run_latencies else None,
        extra_run_p99_ms=_compute_percentile_ms(report.extra_run_latencies, 99) if report.extra_run_latencies else None,
        lost=report.lost,
        disconnects=report.disconnects,
        problems=report.problems,
    )


def build_timeout_result(load: Load) -> RelayResult:
    """Return the result of a load that reached the timeout."""
    report = ReaderReport(
        0, 0, [], [], [], load.streams * load.chunk_count, 0, [f"timeout after {TIMEOUT_SECONDS:g} s"]
    )
    return _build_result(load, 0.0, CpuSeconds(1.0, 0.0, 0.0, 0.0, 0.0), report)


def _compute_percentile_ms(seconds: list[float], percent: int) -> float:
    """Return a percentile in milliseconds; for a list with a single value, that value."""
    values = seconds if len(seconds) > 1 else seconds * 2
    return 1e3 * quantiles(values, n=100, method="inclusive")[percent - 1] if values else 0.0
