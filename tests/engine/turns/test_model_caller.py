"""Model calls: which models, in which order, and which events."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from prometheus_client import REGISTRY

from moot.engine.turns.attempts import NewLessonParser
from moot.engine.turns.model_caller import ModelCaller
from moot.providers import profiles
from moot.providers.http_provider import HttpProvider
from moot.providers.keys import Key, KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import WIRE_FORMATS, ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, LOOK_UP_TOOL, Script, Scripts
from moot.streaming.cancellation import StopSignal
from moot.streaming.lesson_turn import LessonTurnParser
from moot.streaming.speaker_labels import SpeakerNames
from moot.streaming.turn_stream import Limits
from moot.types.chunks import Done, Text, Usage
from moot.types.events import ActionTaken, Event, Notice, TextDelta, TurnEnded, TurnKey, TurnStarted
from moot.types.model_info import ModelLimits, Profile
from moot.types.requests import File, ModelRequest, user_message
from moot.whiteboard.state import EMPTY_BOARD
from tests.support.provider_turns import ProviderServerSetup
from tests.support.table_harness import RecordingProvider

MODEL_CALLER = ModelCaller(Limits(idle=60, total=120), backoff_seconds=0.001, jitter=lambda: 0.5)
IMPATIENT_CALLER = ModelCaller(Limits(idle=0.1, total=120), backoff_seconds=0.001, jitter=lambda: 0.5)
REQUEST = ModelRequest(model="", messages=(user_message("What is a moot?"),))


def resolve_scripts(*names: str, **scripts: Script) -> list[ResolvedModel]:
    provider = ScriptedProvider(Scripts({**BUILT_IN_SCRIPTS, **scripts}))
    return [ResolvedModel(f"scripted/{name}", provider, name, KeyRing(())) for name in names]


async def run_call(
    models: Sequence[ResolvedModel],
    stop: StopSignal | None = None,
    model_caller: ModelCaller = MODEL_CALLER,
    request: ModelRequest = REQUEST,
    new_lesson_parser: NewLessonParser | None = None,
    names: SpeakerNames | None = None,
) -> list[Event]:
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)

    ended = await model_caller.call(
        TurnKey("alpha"),
        models,
        request,
        stop or StopSignal(),
        emit,
        new_lesson_parser=new_lesson_parser,
        names=names,
    )
    assert not any(isinstance(event, TurnEnded) for event in events)  # the caller sends it
    return [*events, ended]


def describe_events(events: list[Event]) -> list[str]:
    """Describe the events briefly: attempts, notices and the end."""
    lines = []
    for event in events:
        match event:
            case TurnStarted():
                lines.append(f"{event.attempt}: {event.model}")
            case Notice():
                lines.append(event.kind)
            case TurnEnded():
                lines.append(f"{event.status} by {event.model}")
    return lines


def final_turn(events: list[Event]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


async def test_call_completes_with_text_usage_and_latency() -> None:
    events = await run_call(resolve_scripts("echo"))
    assert describe_events(events) == ["1: scripted/echo", "completed by scripted/echo"]
    turn = final_turn(events)
    assert (turn.message.text, turn.finish_reason, turn.cost_usd) == ("What is a moot?", "stop", 0.0)
    assert turn.usage == Usage(4, 4)
    assert turn.first_token_seconds is not None
    assert turn.latency_seconds >= turn.first_token_seconds


async def test_complete_request_answers_and_counts_like_a_turn() -> None:
    def counted() -> float:
        return REGISTRY.get_sample_value("moot_turns_total", {"provider": "scripted", "status": "completed"}) or 0

    before = counted()
    ended = await MODEL_CALLER.complete_request(resolve_scripts("overloaded", "echo"), REQUEST, StopSignal())
    assert (ended.message.text, ended.model) == ("What is a moot?", "scripted/echo")
    assert counted() == before + 1


async def test_overloaded_model_is_retried() -> None:
    events = await run_call(resolve_scripts("flaky"))
    assert describe_events(events) == [
        "1: scripted/flaky",
        "retry",
        "2: scripted/flaky",
        "completed by scripted/flaky",
    ]


async def test_fallback_model_is_called_after_three_attempts() -> None:
    events = await run_call(resolve_scripts("overloaded", "echo"))
    assert describe_events(events) == [
        "1: scripted/overloaded",
        "retry",
        "2: scripted/overloaded",
        "retry",
        "3: scripted/overloaded",
        "fallback",
        "4: scripted/echo",
        "completed by scripted/echo",
    ]
    (fallback,) = [e for e in events if isinstance(e, Notice) and e.kind == "fallback"]
    assert fallback.message.startswith("scripted is overloaded")
    assert fallback.message.endswith(" scripted/echo is asked instead of scripted/overloaded.")


async def test_turn_fails_with_fault_when_no_model_is_left() -> None:
    turn = final_turn(await run_call(resolve_scripts("unauthorized")))
    assert turn.status == "failed"
    assert turn.fault is not None
    assert turn.fault.kind == "auth"
    assert turn.usage == Usage()


@pytest.mark.parametrize("fault", ["unauthorized", "forbidden", "html", "huge_line"])
async def test_non_retryable_fault_is_not_retried(fault: str) -> None:
    assert describe_events(await run_call(resolve_scripts(fault))) == [
        f"1: scripted/{fault}",
        f"failed by scripted/{fault}",
    ]


@pytest.mark.parametrize("fault", ["reset", "error_event", "broken_json", "no_finish"])
async def test_turn_is_partial_when_stream_breaks_after_text(fault: str) -> None:
    events = await run_call(resolve_scripts(fault, "echo"))
    assert describe_events(events) == [f"1: scripted/{fault}", f"partial by scripted/{fault}"]
    assert final_turn(events).message.text
    assert final_turn(events).usage.estimated


async def test_empty_answer_is_requested_again_at_most_twice() -> None:
    events = await run_call(resolve_scripts("empty"))
    assert [line for line in describe_events(events) if line == "asked_again"] == ["asked_again"] * 2
    assert describe_events(events)[-1] == "failed by scripted/empty"


async def test_silent_model_is_retried_then_fails() -> None:
    events = await run_call(resolve_scripts("silence"), model_caller=IMPATIENT_CALLER)
    assert describe_events(events).count("retry") == 1
    assert describe_events(events)[-1] == "failed by scripted/silence"


async def test_filtered_content_is_not_sent_to_fallback_model() -> None:
    blocked = Script(answer="", fault="content_filter")
    assert (
        describe_events(await run_call(resolve_scripts("blocked", "echo", blocked=blocked)))[-1]
        == "failed by scripted/blocked"
    )


async def test_short_retry_after_is_waited_for_and_long_one_uses_fallback() -> None:
    once = Script(fault="retry_ms", faulty_calls=1)
    assert describe_events(await run_call(resolve_scripts("once", once=once))) == [
        "1: scripted/once",
        "waiting",
        "2: scripted/once",
        "completed by scripted/once",
    ]
    impatient = ModelCaller(max_wait_seconds=0.1)
    assert describe_events(await run_call(resolve_scripts("retry_seconds", "echo"), model_caller=impatient)) == [
        "1: scripted/retry_seconds",
        "fallback",
        "2: scripted/echo",
        "completed by scripted/echo",
    ]


async def test_stop_during_wait_ends_turn() -> None:
    stop = StopSignal()
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)
        if any(isinstance(event, Notice) for event in more):
            stop.request_stop()

    ended = await ModelCaller().call(TurnKey("alpha"), resolve_scripts("retry_seconds"), REQUEST, stop, emit)
    assert ended.status == "stopped"


async def test_stop_keeps_text_so_far() -> None:
    stop = StopSignal()
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)
        if any(isinstance(event, TextDelta) for event in more):
            stop.request_stop()

    ended = await MODEL_CALLER.call(TurnKey("alpha"), resolve_scripts("steady"), REQUEST, stop, emit)
    assert (ended.status, ended.message.text, ended.fault) == ("stopped", "A table ", None)


async def test_stop_before_start_makes_no_call() -> None:
    stop = StopSignal()
    stop.request_stop("follow_up_interrupt")
    assert describe_events(await run_call(resolve_scripts("echo"), stop)) == ["interrupted by scripted/echo"]


async def test_missing_usage_is_estimated_and_zero_stays_zero() -> None:
    assert final_turn(await run_call(resolve_scripts("no_usage"))).usage.estimated
    assert final_turn(await run_call(resolve_scripts("zero_usage"))).usage == Usage()


async def test_tool_call_completes_stream() -> None:
    tool = Script(answer="Looking.", tool=LOOK_UP_TOOL)
    events = await run_call(resolve_scripts("tool", tool=tool))
    assert final_turn(events).status == "completed"


async def test_call_of_unknown_tool_is_no_answer() -> None:
    invented = Script(answer="", tool=LOOK_UP_TOOL)
    events = await run_call(resolve_scripts("invented", "echo", invented=invented))
    assert describe_events(events).count("asked_again") == 2
    assert describe_events(events)[-1] == "completed by scripted/echo"


def model_with_keys(lab: ProviderServerSetup, script: str, *keys: Key) -> ResolvedModel:
    provider = HttpProvider("lab", WIRE_FORMATS["openai"](), f"{lab.url}/v1", lab.transport)
    return ResolvedModel(f"lab/{script}", provider, script, KeyRing(keys))


async def test_keys_are_tried_in_turn_and_named_without_secret(provider_server: ProviderServerSetup) -> None:
    keys = [Key(f"KEY_{n}", f"sk-canary-{n}-0123456789") for n in range(4)]
    keys[0].uses = 9
    events = await run_call([model_with_keys(provider_server, "unauthorized", *keys)])
    assert describe_events(events) == [
        "1: lab/unauthorized",
        "next_key",
        "2: lab/unauthorized",
        "next_key",
        "3: lab/unauthorized",
        "failed by lab/unauthorized",
    ]
    assert [call.key for call in provider_server.fake_server.received_requests] == [key.secret for key in keys[1:4]]
    fault = final_turn(events).fault
    assert fault is not None
    assert "KEY_3" in fault.message
    assert "canary" not in str(events)


async def test_rate_limited_key_cools_down_and_next_key_is_used(provider_server: ProviderServerSetup) -> None:
    provider_server.add_scripts(limited=Script(fault="retry_seconds", faulty_calls=1))
    first, second = Key("A", "sk-a-0123456789"), Key("B", "sk-b-0123456789")
    still = KeyRing((first, second), clock=lambda: 0.0)  # it rests for a second, which must not end during the test
    model = replace(model_with_keys(provider_server, "limited", first, second), keys=still)
    assert describe_events(await run_call([model]))[1] == "next_key"
    assert model.keys.select_key(set()) is second
    assert describe_events(await run_call([model])) == ["1: lab/limited", "completed by lab/limited"]
    assert [call.key for call in provider_server.fake_server.received_requests] == [
        first.secret,
        second.secret,
        second.secret,
    ]


async def test_unknown_price_stays_unknown(provider_server: ProviderServerSetup) -> None:
    assert final_turn(await run_call([model_with_keys(provider_server, "echo")])).cost_usd is None


async def test_request_fault_does_not_cool_down_key(provider_server: ProviderServerSetup) -> None:
    provider_server.add_scripts(thinker=Script(answer="", thoughts="and on and on", fault="length"))
    for script in ("thinker", "no-such-model", "empty"):
        keys = [Key(name, f"sk-{name}-0123456789") for name in "AB"]
        model = model_with_keys(provider_server, script, *keys)
        events = await run_call([model])
        assert "next_key" not in describe_events(events)
        assert all(key.cooldown_until == 0 for key in keys)
    assert [call.model for call in provider_server.fake_server.received_requests] == [
        "thinker",
        "empty",
        "empty",
        "empty",
    ]


async def test_stopped_answer_is_counted_by_received_text(
    provider_server: ProviderServerSetup,
) -> None:
    provider_server.add_scripts(long=Script(answer="word " * 200, chunk_chars=500, chunk_interval_seconds=0.02))
    provider = HttpProvider("lab", WIRE_FORMATS["anthropic"](), f"{provider_server.url}/v1", provider_server.transport)
    stop, events = StopSignal(), list[Event]()

    async def emit(more: list[Event]) -> None:
        events.extend(more)
        if any(isinstance(event, TextDelta) for event in more):
            stop.request_stop()

    model = ResolvedModel("lab/long", provider, "long", KeyRing(()))
    ended = await MODEL_CALLER.call(TurnKey("alpha"), [model], REQUEST, stop, emit)
    assert (ended.status, ended.usage.output, ended.usage.estimated) == ("stopped", 125, True)


async def test_blank_answer_is_empty() -> None:
    blank = Script(answer=" \n ")
    assert (
        describe_events(await run_call(resolve_scripts("blank", "echo", blank=blank)))[-1]
        == "completed by scripted/echo"
    )


async def test_provider_exception_ends_turn_partial_with_text_so_far(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(ScriptedProvider):
        async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
            yield [Text("so far")]
            raise KeyError(key)

    model = ResolvedModel("broken/x", Broken(Scripts(BUILT_IN_SCRIPTS)), "x", KeyRing(()))
    turn = final_turn(await run_call([model, *resolve_scripts("echo")]))
    assert (turn.status, turn.message.text, turn.model) == ("partial", "so far", "broken/x")
    assert turn.fault is not None
    assert "KeyError" in turn.fault.message
    assert "KeyError" in caplog.text


async def test_negative_usage_does_not_fail_turn(provider_server: ProviderServerSetup) -> None:
    class Negative(ScriptedProvider):
        def call_cost_usd(self, model: str, usage: Usage) -> float | None:
            return profiles.call_cost_usd("https://api.openai.com/v1", "gpt-4o-mini", usage)

        async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
            yield [Text("fine"), Usage(1, -1), Done("stop")]

    model = ResolvedModel("negative/x", Negative(Scripts(BUILT_IN_SCRIPTS)), "x", KeyRing(()))
    assert final_turn(await run_call([model])).status == "completed"


async def test_every_rate_limited_key_cools_down(provider_server: ProviderServerSetup) -> None:
    keys = [Key(name, f"sk-{name}-0123456789") for name in "ABC"]
    await run_call([model_with_keys(provider_server, "retry_seconds", *keys)])
    assert all(key.cooldown_until > 0 for key in keys)


class TextOnlyProvider(RecordingProvider):
    def model_profile(self, model: str) -> Profile:
        return Profile(files=frozenset({"text"}))


async def test_fallback_model_gets_note_about_unreadable_file() -> None:
    image_provider, text_provider = RecordingProvider({}), TextOnlyProvider({})
    models = [
        ResolvedModel("scripted/overloaded", image_provider, "overloaded", KeyRing(())),
        ResolvedModel("scripted/echo", text_provider, "echo", KeyRing(())),
    ]
    image = File("cat.png", "image/png", b"\x89PNG")
    asked = ModelRequest(model="", messages=(user_message(image, "What is it?"),))
    turn = final_turn(await run_call(models, request=asked))
    assert all(call.messages == asked.messages for call in image_provider.requests)
    assert turn.message.text.startswith("(cat.png, an image, came with this message")
    assert turn.message.text.endswith("What is it?")


class FakeCallLimiter:
    """Admits calls as the test says: None is at once, a number is the seconds to wait."""

    def __init__(self, *waits: float | None) -> None:
        self.waits = list(waits)

    async def __call__(self) -> float | None:
        return self.waits.pop(0)


def create_limited_caller(*waits: float | None) -> tuple[ModelCaller, FakeCallLimiter]:
    call_limiter = FakeCallLimiter(*waits)
    return ModelCaller(backoff_seconds=0.001, max_wait_seconds=1.0, acquire_call=call_limiter), call_limiter


async def test_call_limiter_counts_every_attempt() -> None:
    speaker, call_limiter = create_limited_caller(None, None)
    assert (
        describe_events(await run_call(resolve_scripts("flaky"), model_caller=speaker))[-1]
        == "completed by scripted/flaky"
    )
    assert call_limiter.waits == []


async def test_call_waits_for_call_limiter_with_one_notice() -> None:
    speaker, _ = create_limited_caller(0.01, 0.01, None)
    events = await run_call(resolve_scripts("echo"), model_caller=speaker)
    assert describe_events(events) == ["waiting", "1: scripted/echo", "completed by scripted/echo"]


async def test_call_fails_without_fallback_when_call_limiter_wait_is_too_long() -> None:
    speaker, _ = create_limited_caller(0.01, 2.0)
    models = resolve_scripts("echo", "steady")
    models[0] = ResolvedModel("scripted/echo", models[0].provider, "echo", KeyRing((Key("A_KEY", "x"),)))
    events = await run_call(models, model_caller=speaker)
    assert describe_events(events) == ["waiting", "failed by scripted/echo"]
    trouble = final_turn(events).fault
    assert trouble is not None
    assert (trouble.kind, final_turn(events).usage, final_turn(events).cost_usd) == ("rate_limit", Usage(), 0.0)
    assert "Moot has reached its limit" in trouble.message
    assert "model_calls_per_minute" in trouble.message
    key = models[0].keys.select_key(set())
    assert (key and key.source) == "A_KEY", "the key is not to blame"


async def test_call_waiting_for_call_limiter_can_be_stopped() -> None:
    speaker, _ = create_limited_caller(0.9)
    stop = StopSignal()

    async def emit(events: list[Event]) -> None:
        if any(isinstance(event, Notice) for event in events):
            stop.request_stop()

    ended = await speaker.call(TurnKey("alpha"), resolve_scripts("echo"), REQUEST, stop, emit)
    assert (ended.status, ended.fault) == ("stopped", None)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("silence", "Try again, or choose a faster model."),
        ("retry_ms", "Try again later, or choose another model."),
        ("overloaded", "Try again later, or choose another model."),
        ("unauthorized", "Check the key and its permissions."),
    ],
)
async def test_fault_message_ends_with_advice(script: str, words: str) -> None:
    speaker = IMPATIENT_CALLER if script == "silence" else MODEL_CALLER
    turn = final_turn(await run_call(resolve_scripts(script), model_caller=speaker))
    assert turn.status == "failed"
    assert turn.fault is not None
    assert turn.fault.message.count(words) == 1


async def test_missing_usage_is_estimated_with_characters_per_token_of_model() -> None:
    async def emit(_: list[Event]) -> None: ...

    def measure(model: str) -> ModelLimits:
        assert model == "scripted/uncounted"
        return ModelLimits(characters_per_token=2.0)

    models = resolve_scripts("uncounted", uncounted=Script(answer="12345678", fault="no_usage"))
    turn = await MODEL_CALLER.call(TurnKey("alpha"), models, REQUEST, StopSignal(), emit, measure)
    assert turn.usage == Usage(8, 4, estimated=True)


LESSON_JSON = '[{"type":"action","name":"wb_open","params":{}},{"type":"text","content":"Look."}]'


def create_lesson_parser() -> LessonTurnParser:
    return LessonTurnParser("teacher", EMPTY_BOARD)


class TestLessonTurns:
    async def test_lesson_turn_ends_with_its_items(self) -> None:
        turn = final_turn(
            await run_call(
                resolve_scripts("mira", mira=Script(answer=LESSON_JSON)),
                new_lesson_parser=create_lesson_parser,
            )
        )
        assert (turn.status, turn.message.text, turn.message.lesson_items) == ("completed", "Look.", LESSON_JSON)

    async def test_lesson_turn_is_retried_with_new_parser_when_nothing_was_shown(self) -> None:
        mira = Script(answer=LESSON_JSON, fault="overloaded", faulty_calls=1)
        events = await run_call(resolve_scripts("mira", mira=mira), new_lesson_parser=create_lesson_parser)
        assert describe_events(events) == [
            "1: scripted/mira",
            "retry",
            "2: scripted/mira",
            "completed by scripted/mira",
        ]
        assert len([event for event in events if isinstance(event, ActionTaken)]) == 1

    async def test_lesson_turn_broken_before_first_item_is_retried(self) -> None:
        mira = Script(answer=LESSON_JSON, fault="reset", fault_after_chunks=1, faulty_calls=1, chunk_chars=20)
        events = await run_call(resolve_scripts("mira", mira=mira), new_lesson_parser=create_lesson_parser)
        assert describe_events(events)[-1] == "completed by scripted/mira"
        assert final_turn(events).message.lesson_items == LESSON_JSON

    async def test_lesson_turn_is_not_retried_after_an_action_was_shown(self) -> None:
        mira = Script(answer=LESSON_JSON, fault="reset", fault_after_chunks=1, chunk_chars=60)
        events = await run_call(resolve_scripts("mira", "echo", mira=mira), new_lesson_parser=create_lesson_parser)
        assert describe_events(events) == ["1: scripted/mira", "partial by scripted/mira"]
        assert final_turn(events).message.lesson_items == '[{"type":"action","name":"wb_open","params":{}}]'

    @pytest.mark.parametrize("nothing", ["[]", '[{"type":"action","name":"wb_dance"}]'])
    async def test_lesson_turn_without_items_is_requested_again_then_fails(self, nothing: str) -> None:
        events = await run_call(
            resolve_scripts("mira", mira=Script(answer=nothing)), new_lesson_parser=create_lesson_parser
        )
        assert describe_events(events).count("asked_again") == 2
        assert (final_turn(events).status, final_turn(events).message.lesson_items) == ("failed", "")


class SequenceProvider(ScriptedProvider):
    """Gives the answers in order and repeats the last one."""

    def __init__(self, *answers: str) -> None:
        super().__init__(Scripts({str(n): Script(answer=one, chunk_chars=3) for n, one in enumerate(answers)}))
        self._remaining = [str(n) for n in range(len(answers))]

    def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        place = self._remaining.pop(0) if len(self._remaining) > 1 else self._remaining[0]
        return super().stream_chunks(replace(request, model=place), key)


class TestImpersonation:
    NAMES = SpeakerNames("Alpha", ("Beta", "Ada"))

    async def call_with_answers(self, *answers: str, stop: StopSignal | None = None) -> list[Event]:
        model = ResolvedModel("scripted/actor", SequenceProvider(*answers), "actor", KeyRing(()))
        return await run_call([model], stop, names=self.NAMES)

    @staticmethod
    def visible_text(events: list[Event]) -> str:
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    async def test_own_speaker_label_is_removed(self) -> None:
        events = await self.call_with_answers("**Alpha**: It is a meeting.")
        assert describe_events(events) == ["1: scripted/actor", "completed by scripted/actor"]
        assert self.visible_text(events) == final_turn(events).message.text == "It is a meeting."

    async def test_impersonating_answer_is_requested_again_and_not_shown(self) -> None:
        events = await self.call_with_answers("<think>Hm.</think>Beta: I object.", "Ada: And why?", "It is a meeting.")
        assert describe_events(events) == [
            "1: scripted/actor",
            "asked_again",
            "2: scripted/actor",
            "asked_again",
            "3: scripted/actor",
            "completed by scripted/actor",
        ]
        assert self.visible_text(events) == final_turn(events).message.text == "It is a meeting."
        assert [one.message for one in events if isinstance(one, Notice)] == [
            "The answer spoke as Beta. Asking again.",
            "The answer spoke as Ada. Asking again.",
        ]

    async def test_rejected_answer_is_charged(self) -> None:
        once = final_turn(await self.call_with_answers("It is a meeting."))
        twice = final_turn(await self.call_with_answers("Beta: I object.", "It is a meeting."))
        assert twice.usage.input == 2 * once.usage.input

    async def test_impersonated_label_is_removed_after_two_rejections(self) -> None:
        events = await self.call_with_answers("Beta: I object.")
        assert describe_events(events).count("asked_again") == 2
        assert self.visible_text(events) == final_turn(events).message.text == "I object."

    async def test_label_without_text_is_no_answer(self) -> None:
        events = await self.call_with_answers("Alpha:", "It is a meeting.")
        assert describe_events(events)[1:3] == ["asked_again", "2: scripted/actor"]
        assert final_turn(events).message.text == "It is a meeting."

    async def test_stop_ends_retries_after_impersonation(self) -> None:
        stop = StopSignal()
        model = ResolvedModel("scripted/actor", SequenceProvider("Beta: I object."), "actor", KeyRing(()))
        events: list[Event] = []

        async def emit(more: list[Event]) -> None:
            events.extend(more)
            if any(isinstance(event, Notice) for event in more):
                stop.request_stop()

        ended = await MODEL_CALLER.call(TurnKey("alpha"), [model], REQUEST, stop, emit, names=self.NAMES)
        assert (ended.status, ended.message.text) == ("stopped", "")
        assert describe_events(events) == ["1: scripted/actor", "asked_again"]
