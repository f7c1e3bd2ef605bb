"""A pytest plugin that shows where the time of a test run goes, summed by folder and by fixture.

Run `uv run python -m pytest -p tools.durations`. A fixture's time is its own: the fixtures that it asks for are counted apart.
Times are those of all workers together, so four workers spend four seconds in one.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

MAX_FIXTURES = 15  # fixtures

# In a worker:
_nested_seconds: list[float] = []  # for each fixture that is being set up, the seconds that others took within it
_pending_seconds: defaultdict[str, float] = defaultdict(float)
# In the process that prints:
_tests: Counter[str] = Counter()
_seconds: defaultdict[tuple[str, str], float] = defaultdict(float)  # by folder and phase
_fixtures: defaultdict[str, float] = defaultdict(float)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    _nested_seconds.append(0.0)
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        took = time.perf_counter() - start
        within = _nested_seconds.pop()
        if _nested_seconds:
            _nested_seconds[-1] += took
        name = f"{fixturedef.baseid or 'plugin'}: {fixturedef.argname} ({fixturedef.scope})"
        _pending_seconds[name] += took - within


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send the times of the fixtures along, from the worker to the process that prints."""
    report = yield
    if call.when == "setup":
        report.user_properties = [*report.user_properties, *_pending_seconds.items()]
        _pending_seconds.clear()
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "setup":
        for name, seconds in report.user_properties:
            if isinstance(seconds, float):
                _fixtures[name] += seconds
    folder = "/".join(Path(report.nodeid.partition("::")[0]).parts[:2])
    _tests[folder] += report.when == "call"
    _seconds[folder, report.when or ""] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write = terminalreporter.write_line
    terminalreporter.section("seconds by folder")
    write(f"{'':32}{'tests':>8}{'setup':>9}{'call':>9}{'teardown':>9}{'all':>9}")
    sums = {folder: sum(_seconds[folder, phase] for phase in ("setup", "call", "teardown")) for folder in _tests}
    for folder, total in sorted(sums.items(), key=lambda one: -one[1]):
        phases = "".join(f"{_seconds[folder, phase]:9.1f}" for phase in ("setup", "call", "teardown"))
        write(f"{folder:32}{_tests[folder]:8}{phases}{total:9.1f}")
    write(f"{'all':32}{_tests.total():8}{'':27}{sum(sums.values()):9.1f}")
    terminalreporter.section("seconds by fixture")
    for name, seconds in sorted(_fixtures.items(), key=lambda one: -one[1])[:MAX_FIXTURES]:
        write(f"{name:72}{seconds:9.1f}")
