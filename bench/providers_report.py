"""Compare the results of `bench.providers` with the goals, and render both as tables."""

from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.clients import BARE, LITELLM, MOOT, OPENAI_SDK
from bench.concurrent_streams import StreamsResult
from bench.provider_server import RATE


class ClientResult(Struct, frozen=True):
    """Median values of one client. An event is one call of its `on_text` callback."""

    client: str
    paced_us: float
    paced_chunks_per_event: float
    burst_us: float
    burst_chunks_per_event: float
    first_ms: float


class Goal(Struct, frozen=True):
    """The limit of a ratio, and its measured values; the key is the mode, such as `burst`."""

    name: str
    limit: str
    measured: dict[str, float]
    met: dict[str, bool]


class Report(Struct, frozen=True):
    machine: str
    versions: dict[str, str]
    rounds: int
    rows: list[ClientResult]
    goals: list[Goal]
    concurrent: list[StreamsResult]


def check_goals(rows: list[ClientResult]) -> list[Goal]:
    by_client = {row.client: row for row in rows}
    bare, moot = by_client[BARE], by_client[MOOT]
    goals = [
        _check_maximum(3.5, f"CPU of {row.client} / {BARE}", _compute_cpu_ratios(row, bare))
        for row in rows
        if row.client.startswith("Moot")
    ]
    goals += [
        _check_minimum(minimum, f"CPU of {name} / {MOOT}", _compute_cpu_ratios(by_client[name], moot))
        for name, minimum in ((OPENAI_SDK, 10), (LITELLM, 30))
        if name in by_client
    ]
    first = {"first chunk": moot.first_ms / bare.first_ms}
    return [*goals, _check_maximum(2, f"latency of {MOOT} / {BARE}", first)]


def _compute_cpu_ratios(row: ClientResult, other: ClientResult) -> dict[str, float]:
    return {"one chunk per read": row.paced_us / other.paced_us, "burst": row.burst_us / other.burst_us}


def _check_maximum(limit: float, name: str, ratios: dict[str, float]) -> Goal:
    return Goal(name, f"<= {limit:g}", ratios, {mode: ratio <= limit for mode, ratio in ratios.items()})


def _check_minimum(limit: float, name: str, ratios: dict[str, float]) -> Goal:
    return Goal(name, f">= {limit:g}", ratios, {mode: ratio >= limit for mode, ratio in ratios.items()})


def write_json(report: Report, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def print_report(report: Report) -> None:
    console = Console(width=110, highlight=False)
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    console.print(f"{report.machine}\n{versions}\n")
    for table in (
        _build_client_table(report.rows),
        _build_goal_table(report.goals),
        _build_streams_table(report.concurrent),
    ):
        console.print(table)
        console.print()


def _build_client_table(rows: list[ClientResult]) -> Table:
    bare = next(row for row in rows if row.client == BARE)
    table = _create_table(
        "CPU time per chunk, and latency of the first chunk",
        *("client", "one chunk per read, µs", "x bare", "burst, µs", "x bare", "first, ms", "x bare"),
    )
    for row in rows:
        table.add_row(
            row.client,
            f"{row.paced_us:.1f}",
            f"{row.paced_us / bare.paced_us:.2f}",
            f"{row.burst_us:.2f}",
            f"{row.burst_us / bare.burst_us:.2f}",
            f"{row.first_ms:.2f}",
            f"{row.first_ms / bare.first_ms:.2f}",
        )
    return table


def _build_goal_table(goals: list[Goal]) -> Table:
    table = _create_table("Goals", "ratio", "mode", "limit", "measured", "")
    for goal in goals:
        for mode, ratio in goal.measured.items():
            table.add_row(goal.name, mode, goal.limit, f"{ratio:.2f}", "met" if goal.met[mode] else "NOT MET")
    return table


def _build_streams_table(results: list[StreamsResult]) -> Table:
    table = _create_table(
        f"Concurrent streams, {RATE} chunks per second each",
        *("client", "streams", "chunks/s", "chunks/event", "core %", "µs/chunk"),
        *("latency p50, ms", "p99, ms", "KB/stream"),
    )
    for result in results:
        table.add_row(
            result.client,
            f"{result.streams}",
            f"{result.chunks_per_second:,.0f}",
            f"{result.chunks_per_event:.2f}",
            f"{result.core_percent:.0f}",
            f"{result.us_per_chunk:.1f}",
            f"{result.latency_p50_ms:.1f}",
            f"{result.latency_p99_ms:.1f}",
            f"{result.kb_per_stream:.0f}" if result.kb_per_stream is not None else "",
        )
    return table


def _create_table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(first, min_width=16)
    for name in others:
        table.add_column(name, justify="right")
    return table
