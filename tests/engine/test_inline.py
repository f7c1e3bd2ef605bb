import asyncio
from collections.abc import Sequence

from moot.engine.inline import Lane, ask, run_status
from moot.engine.log import RunLog
from moot.engine.speaker import Speaker
from moot.model.events import Event, RunEnded, RunStarted, TextDelta, TurnEnded
from moot.model.participants import seat
from moot.model.requests import ModelRequest, user
from moot.providers.keys import KeyRing
from moot.providers.registry import Resolved
from moot.providers.scripted import ScriptedProvider
from moot.providers.scripts import BUILT_IN, Scripts
from moot.streams.stop import Stop

REQUEST = ModelRequest(model="", messages=(user("What is a moot?"),))


def lanes(*names: str) -> list[Lane]:
    provider = ScriptedProvider(Scripts(BUILT_IN))
    return [
        Lane(who, (Resolved(who.model, provider, name, KeyRing(())),))
        for who, name in zip(seat(names), names, strict=True)
    ]


async def run(*names: str, stop: Stop | None = None) -> list[Event]:
    events: list[Event] = []

    def reader(more: Sequence[Event]) -> None:
        events.extend(more)

    await ask(lanes(*names), REQUEST, RunLog(reader), Speaker(backoff=0.001), stop or Stop())
    return events


def ends(events: list[Event]) -> dict[str, str]:
    return {event.participant: event.status for event in events if isinstance(event, TurnEnded)}


async def test_all_speak_at_the_same_time_and_the_log_has_no_gaps() -> None:
    events = await run("steady", "steady", "echo")
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    speakers = [event.participant for event in events if isinstance(event, TextDelta)]
    assert speakers[:6] != sorted(speakers[:6])  # interleaved
    assert ends(events) == {"alpha": "completed", "beta": "completed", "gamma": "completed"}


async def test_one_failing_lane_never_hurts_another() -> None:
    events = await run("unauthorized", "echo", "reset")
    assert ends(events) == {"alpha": "failed", "beta": "completed", "gamma": "partial"}
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == "completed"


async def test_a_run_fails_only_when_all_failed() -> None:
    events = await run("unauthorized", "forbidden")
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == "failed"


async def test_a_stop_ends_all_and_keeps_what_came() -> None:
    stop = Stop()
    asyncio.get_running_loop().call_later(0.05, stop.request)
    events = await run("steady", "silence", "echo", stop=stop)
    assert ends(events) == {"alpha": "stopped", "beta": "stopped", "gamma": "completed"}
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == "stopped"


def test_a_run_is_what_its_turns_are() -> None:
    assert run_status(["completed", "failed"]) == "completed"
    assert run_status(["completed", "stopped"]) == "stopped"
    assert run_status(["interrupted", "completed"]) == "interrupted"
    assert run_status(["failed", "partial"]) == "failed"
