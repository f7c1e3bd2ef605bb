import asyncio
import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from moot.engine.runs.inline import RunLog, run_inline
from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.attachments import build_question
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.streaming.cancellation import StopSignal
from moot.types.chunks import Text
from moot.types.events import Event, RunEnded, RunStarted, TextDelta, TurnEnded
from moot.types.model_info import Profile
from moot.types.participants import Participant, make_participants
from moot.types.requests import File, ModelMessage, assistant_message, user_message
from moot.types.run_plan import RunPlan
from tests.support.table_harness import RecordingProvider

QUESTION = user_message("What is a moot?")


async def run_question(
    *names: str,
    mode: str = "parallel",
    stop: StopSignal | None = None,
    message: ModelMessage = QUESTION,
    provider: RecordingProvider | None = None,
    on_events: Callable[[list[Event]], None] = lambda _: None,
) -> list[Event]:
    """Put a question to scripts of these names, and return all that a reader is told; `heard` looks on."""
    events: list[Event] = []
    provider = provider or RecordingProvider({})

    def reader(more: Sequence[Event]) -> None:
        events.extend(more)
        on_events(events)

    participants = make_participants(names)
    chains = {who.id: (ResolvedModel(who.model, provider, who.model, KeyRing(())),) for who in participants}
    plan = RunPlan(mode=mode, participants=participants, introduced=False)
    ended = await run_inline(
        plan, message, chains, RunLog(reader), ModelCaller(backoff_seconds=0.001), stop or StopSignal()
    )
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == ended.status
    return events


def turn_statuses(events: list[Event]) -> dict[str, str]:
    return {event.participant: event.status for event in events if isinstance(event, TurnEnded)}


def final_status(events: list[Event]) -> str:
    return events[-1].status if isinstance(events[-1], RunEnded) else "not ended"


async def test_parallel_turns_interleave_and_event_numbers_have_no_gaps() -> None:
    events = await run_question("steady", "steady", "echo")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    speakers = [event.participant for event in events if isinstance(event, TextDelta)]
    assert speakers[:6] != sorted(speakers[:6])  # interleaved
    assert turn_statuses(events) == {"alpha": "completed", "beta": "completed", "gamma": "completed"}


async def test_failed_lane_does_not_affect_other_lanes() -> None:
    events = await run_question("unauthorized", "echo", "reset")
    assert turn_statuses(events) == {"alpha": "failed", "beta": "completed", "gamma": "partial"}
    assert final_status(events) == "completed"


async def test_run_fails_only_when_all_participants_failed() -> None:
    assert final_status(await run_question("unauthorized", "forbidden")) == "failed"


async def test_stop_ends_all_turns_and_keeps_text_so_far() -> None:
    stop = StopSignal()

    def stopping(events: list[Event]) -> None:
        if "gamma" in turn_statuses(events) and any(
            isinstance(one, TextDelta) and one.participant == "alpha" for one in events
        ):
            stop.request_stop()

    events = await run_question("steady", "silence", "echo", stop=stop, on_events=stopping)
    assert turn_statuses(events) == {"alpha": "stopped", "beta": "stopped", "gamma": "completed"}
    assert final_status(events) == "stopped"
    (stopped,) = [e for e in events if isinstance(e, TurnEnded) and e.participant == "alpha"]
    assert stopped.message.text == "".join(
        event.text for event in events if isinstance(event, TextDelta) and event.participant == "alpha"
    )


async def test_every_turn_ends_once_and_after_its_text() -> None:
    events = await run_question("steady", "flaky", "unauthorized", mode="consensus")
    turns = [(e.round, e.participant) for e in events if isinstance(e, TurnEnded)]
    assert turns == [(round_, who) for round_ in range(2) for who in ("alpha", "beta", "gamma")]
    ended: set[tuple[int, str]] = set()
    for event in events:
        if isinstance(event, TextDelta):
            assert (event.round, event.participant) not in ended
        if isinstance(event, TurnEnded):
            ended.add((event.round, event.participant))


async def test_question_is_sent_unchanged() -> None:
    provider = RecordingProvider({})
    asked = build_question("What is it?", "one\ntwo", [File("cat.png", "image/png", b"\x89PNG")])
    await run_question("echo", "echo", message=asked, provider=provider)
    assert [request.messages for request in provider.requests] == [(asked,), (asked,)]
    assert {request.system for request in provider.requests} == {""}


async def test_later_rounds_keep_material_with_the_question() -> None:
    provider = RecordingProvider({})
    asked = build_question("What is it?", "one\ntwo")
    await run_question("echo", "echo", mode="consensus", message=asked, provider=provider)
    first, _, again, _ = provider.requests
    assert first.messages == (asked,)
    assert again.messages[:2] == (asked, assistant_message(_message_text(asked)))


def _message_text(message: ModelMessage) -> str:
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text))


@pytest.mark.parametrize("mode", ["single", "parallel", "consensus"])
async def test_single_model_completes_in_any_mode(mode: str) -> None:
    assert final_status(await run_question("echo", mode=mode)) == "completed"


async def test_first_participant_answers_plainly_when_no_advisor_is_active() -> None:
    provider = RecordingProvider({"any": Script(answer="Four.")})
    who = Participant("alpha", "Alpha", "any", active=False)
    plan = RunPlan(mode="advisors", participants=(who,), personas={"alpha": "You are a carpenter."})
    chains = {"alpha": (ResolvedModel("any", provider, "any", KeyRing(())),)}
    events: list[Event] = []
    await run_inline(plan, user_message("Two and two?"), chains, RunLog(events.extend), ModelCaller(), StopSignal())
    assert turn_statuses(events) == {"alpha": "completed"}
    (asked,) = provider.requests
    assert (asked.system, asked.messages) == ("", (user_message("Two and two?"),))


async def test_advisor_prompt_has_time_of_question_and_fits_context_window() -> None:
    provider = SmallContextProvider({})
    await run_question("echo", mode="advisors", provider=provider, message=build_question("What now?", "word " * 9000))
    (asked,) = provider.requests
    (words,) = [part.text for part in asked.messages[-1].parts if isinstance(part, Text)][-1:]
    assert re.fullmatch(r"\[20\d\d-\d\d-\d\d \d\d:\d\d\] What now\?", words)
    assert provider.profiled_models == ["echo"]


class SmallContextProvider(RecordingProvider):
    """A model that can hold little."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(scripts)
        self.profiled_models: list[str] = []

    def model_profile(self, model: str) -> Profile:
        self.profiled_models.append(model)
        return Profile(context=2048)


async def test_run_log_numbers_events_without_gaps_and_adds_times() -> None:
    read: list[Event] = []

    def reader(events: Sequence[Event]) -> None:
        read.extend(events)

    log = RunLog(reader)
    await log.append_events([RunStarted(participants=())])
    await log.append_events([RunEnded(status="completed"), RunEnded(status="completed")])
    assert [event.seq for event in read] == [1, 2, 3]
    assert {event.run for event in read} == {log.run}
    assert all(event.at > 0 for event in read)
    assert [event.at for event in read] == sorted(event.at for event in read)


async def test_run_log_waits_for_slow_reader() -> None:
    read: list[Event] = []

    async def reader(events: Sequence[Event]) -> None:
        await asyncio.sleep(0)
        read.extend(events)

    await RunLog(reader).append_events([RunStarted(participants=())])
    assert len(read) == 1
