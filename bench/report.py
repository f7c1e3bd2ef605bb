"""The figures of a run, the goals beside them, and how both are shown."""

from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.contenders import BARE, LITELLM, MOOT, OPENAI_SDK
from bench.crowd import Figures
from bench.server import RATE


class Row(Struct, frozen=True):
    """Medians of one contender; an event is what its reader was handed at once."""

    contender: str
    paced_us: float
    paced_chunks_an_event: float
    burst_us: float
    burst_chunks_an_event: float
    first_ms: float


class Goal(Struct, frozen=True):
    """A ratio that should be at most or at least so much, in each of the ways it was measured."""

    name: str
    wanted: str
    found: dict[str, float]
    met: dict[str, bool]


class Report(Struct, frozen=True):
    machine: str
    versions: dict[str, str]
    rounds: int
    rows: list[Row]
    goals: list[Goal]
    crowd: list[Figures]


def goals(rows: list[Row]) -> list[Goal]:
    by = {row.contender: row for row in rows}
    bare, ours = by[BARE], by[MOOT]
    found = [
        _at_most(3.5, f"CPU of {row.contender} / {BARE}", _cpu_ratios(row, bare))
        for row in rows
        if row.contender.startswith("moot")
    ]
    found += [
        _at_least(times, f"CPU of {name} / {MOOT}", _cpu_ratios(by[name], ours))
        for name, times in ((OPENAI_SDK, 10), (LITELLM, 30))
        if name in by
    ]
    first = {"first chunk": ours.first_ms / bare.first_ms}
    return [*found, _at_most(2, f"wait of {MOOT} / {BARE}", first)]


def _cpu_ratios(row: Row, other: Row) -> dict[str, float]:
    return {"one a read": row.paced_us / other.paced_us, "burst": row.burst_us / other.burst_us}


def _at_most(limit: float, name: str, found: dict[str, float]) -> Goal:
    return Goal(name, f"<= {limit:g}", found, {way: ratio <= limit for way, ratio in found.items()})


def _at_least(limit: float, name: str, found: dict[str, float]) -> Goal:
    return Goal(name, f">= {limit:g}", found, {way: ratio >= limit for way, ratio in found.items()})


def write(report: Report, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def show(report: Report) -> None:
    console = Console(width=110, highlight=False)
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    console.print(f"{report.machine}\n{versions}\n")
    for table in (_rows(report.rows), _goals(report.goals), _crowd(report.crowd)):
        console.print(table)
        console.print()


def _rows(rows: list[Row]) -> Table:
    bare = next(row for row in rows if row.contender == BARE)
    table = _table(
        "CPU a chunk, and time to the first one",
        *("contender", "one a read, µs", "x bare", "burst, µs", "x bare", "first, ms", "x bare"),
    )
    for row in rows:
        table.add_row(
            row.contender,
            f"{row.paced_us:.1f}",
            f"{row.paced_us / bare.paced_us:.2f}",
            f"{row.burst_us:.2f}",
            f"{row.burst_us / bare.burst_us:.2f}",
            f"{row.first_ms:.2f}",
            f"{row.first_ms / bare.first_ms:.2f}",
        )
    return table


def _goals(found: list[Goal]) -> Table:
    table = _table("Goals", "ratio", "measured", "wanted", "found", "")
    for goal in found:
        for way, ratio in goal.found.items():
            table.add_row(goal.name, way, goal.wanted, f"{ratio:.2f}", "met" if goal.met[way] else "NOT MET")
    return table


def _crowd(found: list[Figures]) -> Table:
    table = _table(
        f"Live streams at once, {RATE} chunks a second each",
        *("contender", "streams", "chunks/s", "an event", "core %", "µs a chunk"),
        *("late p50, ms", "p99, ms", "KB a stream"),
    )
    for figures in found:
        table.add_row(
            figures.contender,
            f"{figures.streams}",
            f"{figures.chunks_a_second:,.0f}",
            f"{figures.chunks_an_event:.2f}",
            f"{figures.core_percent:.0f}",
            f"{figures.chunk_us:.1f}",
            f"{figures.late_p50_ms:.1f}",
            f"{figures.late_p99_ms:.1f}",
            f"{figures.stream_kb:.0f}" if figures.stream_kb is not None else "",
        )
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(first, min_width=16)
    for name in others:
        table.add_column(name, justify="right")
    return table
