"""Compare the results of `bench.relay` with the goals, and render both as the tables of docs/performance.md."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.relay_bare import BareCost
from bench.relay_discussions import RequestTimes
from bench.relay_load import RelayResult
from bench.relay_provider import RATE
from bench.relay_start import StartTimes

MAX_US_PER_CHUNK = 60.0
MAX_FIRST_TOKEN_MS = 20.0
FIRST_STREAMS = 100
MAX_STREAMS = 1000
MIN_RECEIVED_FRACTION = 0.95  # fraction of the sent chunks that the readers must receive
MAX_P99_LATENCY_MS = 1000.0  # with a higher p99 latency, the server does not keep up
MAX_TIME_RATIO = 1.5  # maximum ratio of the response times for many and for few rows
MAX_START_SECONDS = 2.0


class DatabaseReport(Struct, frozen=True):
    database: str
    idle_percent: float
    loads: list[RelayResult]
    discussions: list[RequestTimes]
    start: StartTimes


class Goal(Struct, frozen=True):
    name: str
    database: str
    limit: str
    measured: str
    met: bool


class Report(Struct, frozen=True):
    machine: str
    versions: dict[str, str]
    bare: list[BareCost]
    databases: list[DatabaseReport]
    goals: list[Goal]


def check_goals(databases: Sequence[DatabaseReport]) -> list[Goal]:
    return [goal for result in databases for goal in (*_check_loads(result), *_check_requests(result))]


def _check_loads(result: DatabaseReport) -> Iterator[Goal]:
    for load in result.loads:
        if load.streams > 1:
            yield _check_cpu(result.database, load)
        if load.extra_run_p50_ms is not None and load.extra_run_p99_ms is not None:
            name = f"first token during {load.streams} streams"
            yield _check_maximum(f"{name}, p50", result.database, load.extra_run_p50_ms, MAX_FIRST_TOKEN_MS, " ms")
            yield _check_maximum(f"{name}, p99", result.database, load.extra_run_p99_ms, MAX_FIRST_TOKEN_MS, " ms")
        if load.streams == MAX_STREAMS:
            measured = f"{load.lost:,} lost, {load.disconnects:,} disconnected"
            met = not load.lost and not load.disconnects and not load.problems
            yield Goal(
                f"{_describe_streams(load)} without loss", result.database, "0 lost, 0 disconnected", measured, met
            )


def _check_cpu(database: str, load: RelayResult) -> Goal:
    """Check the CPU time per chunk; if the server does not keep up with the streams, this value is not valid."""
    goal = _check_maximum(
        f"CPU per chunk, {_describe_streams(load)}", database, load.us_per_chunk, MAX_US_PER_CHUNK, " µs"
    )
    if (
        load.chunks_per_second >= MIN_RECEIVED_FRACTION * RATE * load.streams
        and load.latency_p99_ms <= MAX_P99_LATENCY_MS
    ):
        return goal
    return replace(goal, measured="did not keep up", met=False)


def _check_requests(result: DatabaseReport) -> Iterator[Goal]:
    for times in result.discussions:
        yield _check_maximum(
            f"{times.name}, 10,000 relative to 100", result.database, times.ratio, MAX_TIME_RATIO, " x"
        )
    yield _check_maximum(
        "`moot serve` answers /healthz", result.database, result.start.healthz_s, MAX_START_SECONDS, " s"
    )
    yield _check_maximum("`moot serve` answers /api/me", result.database, result.start.me_s, MAX_START_SECONDS, " s")


def _check_maximum(name: str, database: str, measured: float, limit: float, unit: str) -> Goal:
    return Goal(name, database, f"<= {limit:g}{unit}", f"{_format_number(measured)}{unit}", measured <= limit)


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _describe_streams(load: RelayResult) -> str:
    runs = "" if load.lanes == 1 else f" in runs of {load.lanes}"
    return f"{load.streams:,} stream{'s' if load.streams > 1 else ''}{runs}"


def write_json(report: Report, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def print_report(report: Report) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    print(f"{report.machine}; {versions}.")
    render_functions = (_render_loads, _render_first_tokens, _render_requests, _render_starts)
    for render in render_functions:
        print()
        print("\n".join(render(report.databases)))
    print()
    print("\n".join(_render_bare_comparison(report)))
    print()
    print("\n".join(_render_goals(report.goals)))
    for result in report.databases:
        for load in result.loads:
            for problem in load.problems:
                print(f"{result.database}, {_describe_streams(load)}: {problem}")


def _render_loads(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _render_header(
        f"{RATE} chunks per second each",
        *(
            "chunks/s",
            "chunks per event",
            "µs per chunk",
            "core %",
            "database, µs per chunk",
            "latency p50, ms",
            "latency p99, ms",
        ),
        *("lost", "disconnected"),
    )
    for result in databases:
        yield _render_row(f"{result.database}, idle", *[""] * 3, f"{result.idle_percent:.1f}", *[""] * 5)
        for load in result.loads:
            yield _render_row(
                f"{result.database}, {_describe_streams(load)}",
                f"{load.chunks_per_second:,.0f}",
                f"{load.chunks_per_event:.2f}",
                _format_number(load.us_per_chunk),
                f"{load.core_percent:.0f}",
                _format_number(load.database_us_per_chunk) if load.database_us_per_chunk else "",
                _format_number(load.latency_p50_ms),
                _format_number(load.latency_p99_ms),
                f"{load.lost:,}",
                f"{load.disconnects:,}",
            )


def _render_bare_comparison(report: Report) -> Iterator[str]:
    """Yield the rows of the table that compares each cost with the bare relay, for the same number of streams."""
    names = [result.database for result in report.databases]
    yield from _render_header(
        "µs per chunk", "bare relay", *(f"{name}{suffix}" for name in names for suffix in ("", ", ratio"))
    )
    for bare in report.bare:
        cells = [_format_number(bare.us_per_chunk)]
        for result in report.databases:
            (cost,) = (x.us_per_chunk for x in result.loads if (x.streams, x.lanes) == (bare.streams, 1))
            cells += [_format_number(cost), f"{cost / bare.us_per_chunk:.2f}"]
        yield _render_row(f"{bare.streams:,} streams", *cells)


def _render_first_tokens(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _render_header("first token, ms", "extra run, p50", "p99", "all runs, p50", "p99")
    for result in databases:
        for load in result.loads:
            if load.extra_run_p50_ms is not None and load.extra_run_p99_ms is not None:
                yield _render_row(
                    f"{result.database}, {_describe_streams(load)}",
                    _format_number(load.extra_run_p50_ms),
                    _format_number(load.extra_run_p99_ms),
                    _format_number(load.first_p50_ms),
                    _format_number(load.first_p99_ms),
                )


def _render_requests(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _render_header("request", "100 rows, ms", "10,000 rows, ms", "ratio")
    for result in databases:
        for times in result.discussions:
            few, many = _format_number(times.few_ms), _format_number(times.many_ms)
            yield _render_row(f"{result.database}, {times.name}", few, many, f"{times.ratio:.2f}")


def _render_starts(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _render_header("seconds from the start", "/healthz", "/api/me", "first /healthz", "first /api/me")
    for result in databases:
        start = result.start
        seconds = (start.healthz_s, start.me_s, start.first_healthz_s, start.first_me_s)
        yield _render_row(result.database, *(f"{value:.2f}" for value in seconds))


def _render_goals(goals: Sequence[Goal]) -> Iterator[str]:
    yield "| goal | database | limit | measured | |"
    yield "| --- | --- | ---: | ---: | --- |"
    for goal in goals:
        yield _render_row(goal.name, goal.database, goal.limit, goal.measured, "met" if goal.met else "not met")


def _render_header(*names: str) -> Iterator[str]:
    yield _render_row(*names)
    yield _render_row("---", *("---:" for _ in names[1:]))


def _render_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
