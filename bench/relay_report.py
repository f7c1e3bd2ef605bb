"""The figures of the relay, the goals beside them, and both as the tables that stand in docs/performance.md."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.load import RelayFigures
from bench.relay_bare import BareCost
from bench.relay_pages import Times
from bench.relay_provider import RATE
from bench.relay_start import StartTimes

CHUNK_US = 60.0
FIRST_MS = 20.0
FIRST_STREAMS = 100
MAX_STREAMS = 1000
MIN_RECEIVED_SHARE = 0.95  # share of the sent chunks that arrive in the same time
MAX_LIVE_LATENESS_MS = 1000.0  # a stream of which every hundredth chunk is later than this is not live
MAX_TIME_RATIO = 1.5  # ratio of two medians that counts as the same
MAX_START_SECONDS = 2.0


class DatabaseReport(Struct, frozen=True):
    database: str
    rest_percent: float
    loads: list[RelayFigures]
    pages: list[Times]
    start: StartTimes


class Goal(Struct, frozen=True):
    name: str
    database: str
    wanted: str
    found: str
    met: bool


class Report(Struct, frozen=True):
    machine: str
    versions: dict[str, str]
    bare: list[BareCost]
    databases: list[DatabaseReport]
    goals: list[Goal]


def goals(databases: Sequence[DatabaseReport]) -> list[Goal]:
    return [goal for on in databases for goal in (*_relay_goals(on), *_other_goals(on))]


def _relay_goals(on: DatabaseReport) -> Iterator[Goal]:
    for load in on.loads:
        if load.streams > 1:
            yield _cpu_goal(on.database, load)
        if load.newcomer_p50_ms is not None and load.newcomer_p99_ms is not None:
            beside = f"first token beside {load.streams} streams"
            yield _at_most(f"{beside}, p50", on.database, load.newcomer_p50_ms, FIRST_MS, " ms")
            yield _at_most(f"{beside}, p99", on.database, load.newcomer_p99_ms, FIRST_MS, " ms")
        if load.streams == MAX_STREAMS:
            found = f"{load.lost:,} lost, {load.cuts:,} cut off"
            whole = not load.lost and not load.cuts and not load.troubles
            yield Goal(f"{_streams(load)} without loss", on.database, "0 lost, 0 cut off", found, whole)


def _cpu_goal(database: str, load: RelayFigures) -> Goal:
    """A server that falls behind does less than it should: its cost a chunk means nothing."""
    goal = _at_most(f"CPU a chunk, {_streams(load)}", database, load.chunk_us, CHUNK_US, " µs")
    if load.chunks_a_second >= MIN_RECEIVED_SHARE * RATE * load.streams and load.late_p99_ms <= MAX_LIVE_LATENESS_MS:
        return goal
    return replace(goal, found="fell behind", met=False)


def _other_goals(on: DatabaseReport) -> Iterator[Goal]:
    for times in on.pages:
        yield _at_most(f"{times.what}, 10,000 against 100", on.database, times.ratio, MAX_TIME_RATIO, " x")
    yield _at_most("`moot serve` answers /healthz", on.database, on.start.healthz_s, MAX_START_SECONDS, " s")
    yield _at_most("`moot serve` answers /api/me", on.database, on.start.me_s, MAX_START_SECONDS, " s")


def _at_most(name: str, database: str, found: float, limit: float, unit: str) -> Goal:
    return Goal(name, database, f"<= {limit:g}{unit}", f"{_short(found)}{unit}", found <= limit)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _streams(load: RelayFigures) -> str:
    runs = "" if load.lanes == 1 else f" in runs of {load.lanes}"
    return f"{load.streams:,} stream{'s' if load.streams > 1 else ''}{runs}"


def write(report: Report, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def show(report: Report) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    print(f"{report.machine}; {versions}.")
    tables = (_load_lines, _first_token_lines, _pages, _starts)
    for table in tables:
        print()
        print("\n".join(table(report.databases)))
    print()
    print("\n".join(_above_bare(report)))
    print()
    print("\n".join(_goals(report.goals)))
    for on in report.databases:
        for load in on.loads:
            for trouble in load.troubles:
                print(f"{on.database}, {_streams(load)}: {trouble}")


def _load_lines(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _head(
        f"{RATE} chunks a second each",
        *(
            "chunks/s",
            "chunks an event",
            "µs a chunk",
            "core %",
            "database, µs",
            "late p50, ms",
            "late p99, ms",
        ),
        *("lost", "cut off"),
    )
    for on in databases:
        yield _row(f"{on.database}, at rest", *[""] * 3, f"{on.rest_percent:.1f}", *[""] * 5)
        for load in on.loads:
            yield _row(
                f"{on.database}, {_streams(load)}",
                f"{load.chunks_a_second:,.0f}",
                f"{load.chunks_an_event:.2f}",
                _short(load.chunk_us),
                f"{load.core_percent:.0f}",
                _short(load.database_us) if load.database_us else "",
                _short(load.late_p50_ms),
                _short(load.late_p99_ms),
                f"{load.lost:,}",
                f"{load.cuts:,}",
            )


def _above_bare(report: Report) -> Iterator[str]:
    """Set each cost beside that of the barest relay of as many streams."""
    names = [on.database for on in report.databases]
    yield from _head("µs a chunk", "barest relay", *(f"{name}{more}" for name in names for more in ("", ", ratio")))
    for least in report.bare:
        cells = [_short(least.chunk_us)]
        for on in report.databases:
            (cost,) = (x.chunk_us for x in on.loads if (x.streams, x.lanes) == (least.streams, 1))
            cells += [_short(cost), f"{cost / least.chunk_us:.2f}"]
        yield _row(f"{least.streams:,} streams", *cells)


def _first_token_lines(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _head("first token, ms", "one more, p50", "p99", "all at once, p50", "p99")
    for on in databases:
        for load in on.loads:
            if load.newcomer_p50_ms is not None and load.newcomer_p99_ms is not None:
                yield _row(
                    f"{on.database}, {_streams(load)}",
                    _short(load.newcomer_p50_ms),
                    _short(load.newcomer_p99_ms),
                    _short(load.first_p50_ms),
                    _short(load.first_p99_ms),
                )


def _pages(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _head("a page", "of 100, ms", "of 10,000, ms", "ratio")
    for on in databases:
        for times in on.pages:
            few, many = _short(times.few_ms), _short(times.many_ms)
            yield _row(f"{on.database}, {times.what}", few, many, f"{times.ratio:.2f}")


def _starts(databases: Sequence[DatabaseReport]) -> Iterator[str]:
    yield from _head("seconds from the start", "/healthz", "/api/me", "first /healthz", "first /api/me")
    for on in databases:
        start = on.start
        seconds = (start.healthz_s, start.me_s, start.first_healthz_s, start.first_me_s)
        yield _row(on.database, *(f"{value:.2f}" for value in seconds))


def _goals(found: Sequence[Goal]) -> Iterator[str]:
    yield "| goal | database | wanted | found | |"
    yield "| --- | --- | ---: | ---: | --- |"
    for goal in found:
        yield _row(goal.name, goal.database, goal.wanted, goal.found, "met" if goal.met else "not met")


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row("---", *("---:" for _ in names[1:]))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
