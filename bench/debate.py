"""What Moot adds to a debate: its wall time beside the longest calls of its stages, which nothing can go below.

Run `python -m bench.debate`. Models are scripts in the same process: in ours for a run that is not stored, in `moot serve`
for a run that is stored, in SQLite or Postgres, and read by a client of server-sent events. Linux only.
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

from bench.databases import Postgres, create_workspace, postgres
from bench.debaters import QUESTION, debater_scripts, measure_bare_calls, scripted_seconds
from bench.processes import moot_serve
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
Debate = Callable[[ScriptsByLane], Awaitable["DebateTiming"]]


class DebateTiming(Struct, frozen=True):
    """`synthesis` is how long after the last answer of the debate the synthesis started."""

    seconds: float
    synthesis: float


class Row(Struct, frozen=True):
    where: str
    lanes: int
    written: float
    slept: float
    took: float
    synthesis_ms: float

    @property
    def percent(self) -> float:
        return 100 * (self.took / self.slept - 1)


def debate_timing(events: Sequence[Event], seconds: float) -> DebateTiming:
    """Read the figures from the log, once it is sure that nothing was left out."""
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == "completed", events[-1]
    assert all(any(isinstance(event, kind) for event in events) for kind in REQUIRED_EVENTS), "not all was found"
    answers = [event.at for event in events if isinstance(event, TurnEnded) and event.stage == "debate"]
    begun = [event.at for event in events if isinstance(event, TurnStarted) and event.stage == "synthesis"]
    return DebateTiming(seconds, min(begun) - max(answers))


async def debate_inline(scripts: ScriptsByLane) -> DebateTiming:
    """Debate as `moot ask` does."""
    provider, events = ScriptedProvider(Scripts(scripts)), list[Event]()
    plan = RunPlan(mode="debate", participants=make_participants(tuple(scripts)))
    chains = {who.id: [ResolvedModel(who.model, provider, who.model, KeyRing(()))] for who in plan.participants}
    run = EphemeralRun(plan=plan, question=user_message(QUESTION), chains=chains)
    began = time.monotonic()
    await run.execute(RunLog(events.extend), ModelCaller(), StopSignal())
    return debate_timing(events, time.monotonic() - began)


@asynccontextmanager
async def debate_on_server(server: Postgres | None, scripts: ScriptsByLane) -> AsyncIterator[Debate]:
    """Debate in `moot serve`, measured by a client that creates the discussion and reads the run's events."""
    async with create_workspace(server) as place:
        script = place.folder / "debaters.yaml"
        script.write_bytes(msgspec.yaml.encode(scripts))
        settings = f'[providers.scripted]\nscript = "{script}"\n'
        async with moot_serve(place.folder, place.url, settings) as served, aiohttp.ClientSession() as http:
            await served.wait_until_answered("/readyz")

            async def debate(scripts: ScriptsByLane) -> DebateTiming:
                began = time.monotonic()
                events = await _run_debate(http, served.url, [f"scripted/{lane}" for lane in scripts])
                return debate_timing(events, time.monotonic() - began)

            yield debate


async def _run_debate(http: aiohttp.ClientSession, url: str, models: Sequence[str]) -> list[Event]:
    body = {"message": QUESTION, "mode": "debate", "participants": models}
    async with http.post(f"{url}/api/discussions", json=body) as opened:
        assert opened.status == 201, await opened.text()
        run = (await opened.json())["run"]["id"]
    events: list[Event] = []
    async with http.get(f"{url}/api/runs/{run}/events") as stream:
        async for line in stream.content:
            if line.startswith(b"data: "):
                events.append(msgspec.json.decode(line[6:], type=Event))
                if isinstance(events[-1], RunEnded):
                    break
    return events


async def measure_debate(where: str, debate: Debate, scripts: ScriptsByLane, rounds: int) -> Row:
    """Take turns with the bare calls, so that both have the same machine; medians of each."""
    await debate(scripts)  # everything is loaded
    slept, found = [], []
    for _ in range(rounds):
        slept.append(await measure_bare_calls(scripts))
        found.append(await debate(scripts))
    return Row(
        where=where,
        lanes=len(scripts),
        written=scripted_seconds(scripts),
        slept=median(slept),
        took=median(one.seconds for one in found),
        synthesis_ms=1e3 * median(one.synthesis for one in found),
    )


async def measure_all(server: Postgres | None, rounds: int) -> list[Row]:
    rows = []
    for lanes in LANES:
        scripts = debater_scripts(lanes)
        rows.append(await measure_debate("`moot ask`", debate_inline, scripts, rounds))
        async with debate_on_server(None, scripts) as debate:
            rows.append(await measure_debate("SQLite", debate, scripts, rounds))
        if server is not None:
            async with debate_on_server(server, scripts) as debate:
                rows.append(await measure_debate(f"Postgres {server.version}", debate, scripts, rounds))
    return rows


def show(rows: Sequence[Row]) -> None:
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}; "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    print("| a debate | lanes | as written, s | as slept, s | took, s | above, % | synthesis after, ms | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for row in rows:
        goal = "met" if row.percent <= MAX_OVERHEAD_PERCENT else "not met"
        figures = f"{row.written:.3f} | {row.slept:.3f} | {row.took:.3f} | {row.percent:.2f}"
        print(f"| {row.where} | {row.lanes} | {figures} | {row.synthesis_ms:.1f} | {goal} |")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.debate", description=__doc__)
    options.add_argument("--quick", action="store_true", help="one round each; its figures are rough")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    chosen = options.parse_args()
    with postgres() as server:
        rows = uvloop.run(measure_all(server, 1 if chosen.quick else 3))
    show(rows)
    if chosen.json:
        chosen.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")


if __name__ == "__main__":
    main()
