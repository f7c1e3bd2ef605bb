"""Measure the overhead of Moot in a debate: its duration, relative to the model calls on its critical path alone.

Run `python -m bench.debate`. Models are scripts. A run without a database executes in this process, as in `moot ask`.
A stored run executes in `moot serve`, with SQLite or Postgres, and a client reads its server-sent events. Linux only.
"""

import argparse
import os
import platform
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import aiohttp
import msgspec
import uvloop
from msgspec import Struct

from bench.databases import Postgres, create_workspace, run_postgres
from bench.debate_scripts import QUESTION, build_debate_scripts, compute_scripted_seconds, measure_bare_calls
from bench.processes import run_moot_server
from moot.engine.runs.ephemeral import EphemeralRun, RunLog
from moot.engine.turns.model_caller import ModelCaller
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.streaming.cancellation import StopSignal
from moot.types.events import ClaimsExtracted, Event, RankingMade, RunEnded, SummaryMade, TurnEnded, TurnStarted
from moot.types.participants import make_participants
from moot.types.requests import user_message
from moot.types.run_plan import RunPlan

LANES = (3, 12)
MAX_OVERHEAD_PERCENT = 2.0
REQUIRED_EVENTS = (SummaryMade, ClaimsExtracted, RankingMade)

ScriptsByLane = dict[str, Script]
RunDebate = Callable[[ScriptsByLane], Awaitable["DebateTiming"]]


class DebateTiming(Struct, frozen=True):
    """`synthesis` is the delay in seconds from the last turn of the debate stage to the start of the synthesis."""

    seconds: float
    synthesis: float


class DebateResult(Struct, frozen=True):
    storage: str
    lanes: int
    computed: float
    bare_calls: float
    duration: float
    synthesis_ms: float

    @property
    def overhead_percent(self) -> float:
        return 100 * (self.duration / self.bare_calls - 1)


def read_timing(events: Sequence[Event], seconds: float) -> DebateTiming:
    """Return the timing from the event log, and check that the run completed with all events."""
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == "completed", events[-1]
    assert all(any(isinstance(event, kind) for event in events) for kind in REQUIRED_EVENTS), "an event is missing"
    answers = [event.at for event in events if isinstance(event, TurnEnded) and event.stage == "debate"]
    started = [event.at for event in events if isinstance(event, TurnStarted) and event.stage == "synthesis"]
    return DebateTiming(seconds, min(started) - max(answers))


async def run_inline_debate(scripts: ScriptsByLane) -> DebateTiming:
    """Run a debate in this process, as `moot ask` does."""
    provider, events = ScriptedProvider(Scripts(scripts)), list[Event]()
    plan = RunPlan(mode="debate", participants=make_participants(tuple(scripts)))
    chains = {p.id: [ResolvedModel(p.model, provider, p.model, KeyRing(()))] for p in plan.participants}
    run = EphemeralRun(plan=plan, question=user_message(QUESTION), chains=chains)
    start_time = time.monotonic()
    await run.execute(RunLog(events.extend), ModelCaller(), StopSignal())
    return read_timing(events, time.monotonic() - start_time)


@asynccontextmanager
async def serve_debates(server: Postgres | None, scripts: ScriptsByLane) -> AsyncIterator[RunDebate]:
    """Start `moot serve`, and yield a function that runs a debate as a client and reads the event stream."""
    async with create_workspace(server) as workspace:
        script = workspace.folder / "debate_scripts.yaml"
        script.write_bytes(msgspec.yaml.encode(scripts))
        settings = f'[providers.scripted]\nscript = "{script}"\n'
        async with (
            run_moot_server(workspace.folder, workspace.url, settings) as moot_server,
            aiohttp.ClientSession() as http,
        ):
            await moot_server.wait_for_response("/readyz")

            async def run_debate(scripts: ScriptsByLane) -> DebateTiming:
                start_time = time.monotonic()
                events = await _request_debate(http, moot_server.url, [f"scripted/{lane}" for lane in scripts])
                return read_timing(events, time.monotonic() - start_time)

            yield run_debate


async def _request_debate(http: aiohttp.ClientSession, url: str, models: Sequence[str]) -> list[Event]:
    body = {"message": QUESTION, "mode": "debate", "participants": models}
    async with http.post(f"{url}/api/discussions", json=body) as response:
        assert response.status == 201, await response.text()
        run = (await response.json())["run"]["id"]
    events: list[Event] = []
    async with http.get(f"{url}/api/runs/{run}/events") as stream:
        async for line in stream.content:
            if line.startswith(b"data: "):
                events.append(msgspec.json.decode(line[6:], type=Event))
                if isinstance(events[-1], RunEnded):
                    break
    return events


async def measure_debate(storage: str, run_debate: RunDebate, scripts: ScriptsByLane, rounds: int) -> DebateResult:
    """Alternate between the bare calls and the debate, so that other processes affect both, and return the medians."""
    await run_debate(scripts)  # warm up: load modules and fill caches
    bare_calls, timings = [], []
    for _ in range(rounds):
        bare_calls.append(await measure_bare_calls(scripts))
        timings.append(await run_debate(scripts))
    return DebateResult(
        storage=storage,
        lanes=len(scripts),
        computed=compute_scripted_seconds(scripts),
        bare_calls=median(bare_calls),
        duration=median(timing.seconds for timing in timings),
        synthesis_ms=1e3 * median(timing.synthesis for timing in timings),
    )


async def measure_all(server: Postgres | None, rounds: int) -> list[DebateResult]:
    rows = []
    for lanes in LANES:
        scripts = build_debate_scripts(lanes)
        rows.append(await measure_debate("`moot ask`", run_inline_debate, scripts, rounds))
        async with serve_debates(None, scripts) as run_debate:
            rows.append(await measure_debate("SQLite", run_debate, scripts, rounds))
        if server is not None:
            async with serve_debates(server, scripts) as run_debate:
                rows.append(await measure_debate(f"Postgres {server.version}", run_debate, scripts, rounds))
    return rows


def print_report(rows: Sequence[DebateResult]) -> None:
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}; "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    print("| storage | lanes | computed, s | bare calls, s | debate, s | overhead, % | synthesis delay, ms | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for row in rows:
        verdict = "met" if row.overhead_percent <= MAX_OVERHEAD_PERCENT else "not met"
        cells = f"{row.computed:.3f} | {row.bare_calls:.3f} | {row.duration:.3f} | {row.overhead_percent:.2f}"
        print(f"| {row.storage} | {row.lanes} | {cells} | {row.synthesis_ms:.1f} | {verdict} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.debate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round each; its results are not precise")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE as JSON")
    arguments = parser.parse_args()
    with run_postgres() as server:
        rows = uvloop.run(measure_all(server, 1 if arguments.quick else 3))
    print_report(rows)
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")


if __name__ == "__main__":
    main()
