"""The page and Python reduce the events of a run to the same state."""

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from moot import Moot
from moot.types.events import (
    AnalysisResult,
    Event,
    Notice,
    ReferenceSummarized,
    RunEnded,
    RunStarted,
    SpeakerSelected,
    StageStarted,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnKey,
    TurnStarted,
    TurnStatus,
    VoteCast,
)
from moot.types.modes import ModeName
from moot.types.run_state import RunState, ToolCallState, TurnState, fold_events
from tests.support.node import run_node
from tests.types.test_events import SAMPLE_EVENTS

RECORDED_RUNS: dict[ModeName, tuple[str, ...]] = {
    "single": ("scripted/thinker",),
    "parallel": ("scripted/echo", "scripted/flaky", "scripted/unauthorized", "scripted/reset"),
    "consensus": ("scripted/echo", "scripted/forbidden"),
    "debate": ("scripted/advocate", "scripted/sceptic", "scripted/undecided"),
    "advisors": ("scripted/echo", "scripted/thinker"),
    "directed": ("scripted/teacher", "scripted/assistant", "scripted/student"),
}
RANDOM_LOGS = 200
TURN_KEYS = [TurnKey(participant, "answer", round) for participant in ("alpha", "beta") for round in (0, 1)]
ENDS = [replace(one, status=s) for one in SAMPLE_EVENTS if isinstance(one, TurnEnded) for s in get_args(TurnStatus)]
STARTS = [one for one in SAMPLE_EVENTS if isinstance(one, TurnStarted)] * 5
EVENTS = (*SAMPLE_EVENTS, *ENDS, *STARTS, Notice(kind="retried", message="Beta is asked again."))


async def record_run(mode: ModeName, models: Sequence[str]) -> list[Event]:
    async with Moot() as moot:
        return [event async for event in moot.ask("Why?", models, mode=mode)]


def random_log(source: random.Random) -> list[Event]:
    """Return a log in which only live turns have other events than a start and an end, and each call has its own id."""
    log: list[Event] = []
    live: set[TurnKey] = set()
    calls = ["unknown"]
    for seq in range(1, source.randrange(100)):
        event, key = source.choice(EVENTS), source.choice(TURN_KEYS)
        if hasattr(event, "turn_key"):
            if key not in live and not isinstance(event, (TurnStarted, TurnEnded)):
                continue
            event = replace(event, participant=key.participant, stage=key.stage, round=key.round)
        match event:
            case TurnStarted():
                live.add(key)
            case TurnEnded():
                live.discard(key)
            case ToolCalled():
                calls.append(f"call_{seq}")
                event = replace(event, call_id=calls[-1])
            case ToolReturned():
                event = replace(event, call_id=source.choice(calls))
            case SpeakerSelected():
                event = replace(event, turn=seq)
        log.append(replace(event, run="run_1", seq=seq, at=float(seq)))
    return log


def to_json(value: object) -> Any:
    return json.loads(msgspec.json.encode(value))


def python_view(run: RunState) -> dict[str, Any]:
    """Return the state in the form of the page."""
    analyses = [one for one in run.analyses if isinstance(one, AnalysisResult)]
    return {
        "status": run.status,
        "participants": to_json(run.participants),
        "stages": [{"stage": one.stage, "round": one.round} for one in run.stages],
        "notices": to_json(run.notices),
        "turns": [_turn_view(turn) for turn in run.turns.values()],
        "actions": to_json(run.actions),
        "agreement": to_json(run.agreement),
        "summary": to_json(run.summary),
        "claims": to_json(run.claims),
        "ranking": to_json(run.ranking),
        "votes": to_json([one for one in analyses if isinstance(one, VoteCast)]),
        "speakerSelections": to_json([one for one in analyses if isinstance(one, SpeakerSelected)]),
        "referenceSummaries": to_json([one for one in analyses if isinstance(one, ReferenceSummarized)]),
    }


def _turn_view(turn: TurnState) -> dict[str, Any]:
    end = to_json(turn.end) or {}
    return {
        "key": f"{turn.key.stage}/{turn.key.round}/{turn.key.participant}",
        "state": turn.status if turn.end else "live",
        "text": turn.text,
        "thoughts": turn.thoughts,
        "attempt": turn.attempt,
        "model": turn.model,
        "calls": [_call_view(call) for call in turn.calls.values()],
        "firstTokenSeconds": end.get("first_token_seconds"),
        "latencySeconds": end.get("latency_seconds"),
        "cost": end.get("cost_usd"),
        "finish": end.get("finish_reason"),
        **{name: end.get(name) for name in ("usage", "fault")},
    }


def _call_view(state: ToolCallState) -> dict[str, Any]:
    call, result = state.call, state.result
    return {
        "id": call.call_id,
        "name": call.name,
        "arguments": call.arguments,
        "textOffset": state.text_offset,
        "result": result and {"content": result.content, "isError": result.is_error, "seconds": result.seconds},
    }


def page_view(run: dict[str, Any]) -> dict[str, Any]:
    """Return what Python keeps too. Python has finer states of a live turn, and no state of a live run."""
    return {
        **{name: run[name] for name in ("participants", "stages", "notices", "agreement", "votes")},
        **{name: run[name] for name in ("speakerSelections", "referenceSummaries")},
        "status": None if run["status"] == "running" else run["status"],
        "summary": run["summary"] and run["summary"]["summary"],
        "claims": run["claims"] and run["claims"]["claims"],
        "ranking": run["ranking"] and run["ranking"]["ranking"],
        "actions": [{name: one[name] for name in one if name != "textOffset"} for one in run["actions"]],
        "turns": [_page_turn_view(turn) for turn in run["turns"]],
    }


def _page_turn_view(turn: dict[str, Any]) -> dict[str, Any]:
    compared = _turn_view(TurnState(TurnKey("")))
    calls = [{name: call[name] for name in call if name != "pendingApproval"} for call in turn["calls"]]
    state = "live" if turn["state"] in {"waiting", "speaking"} else turn["state"]
    return {name: turn[name] for name in compared} | {"calls": calls, "state": state}


def assert_same_states(logs: Sequence[Sequence[Event]], path: Path) -> None:
    path.write_bytes(msgspec.json.encode(logs))
    for log, page_run in zip(logs, json.loads(run_node("tests/fold_logs.ts", path)), strict=True):
        assert python_view(fold_events(log)) == page_view(page_run)


async def test_recorded_runs_have_same_state_at_any_time(tmp_path: Path) -> None:
    recorded = await asyncio.gather(*(record_run(mode, models) for mode, models in RECORDED_RUNS.items()))
    assert {type(event) for log in recorded for event in log} >= {RunStarted, StageStarted, TextDelta, RunEnded}
    prefixes = [log[:end] for log in recorded for end in {*range(0, len(log), 7), len(log)}]
    assert_same_states(prefixes, tmp_path / "logs.json")


def test_random_runs_have_same_state(tmp_path: Path) -> None:
    source = random.Random(1)  # noqa: S311 - the same logs in each run
    assert_same_states([random_log(source) for _ in range(RANDOM_LOGS)], tmp_path / "logs.json")
