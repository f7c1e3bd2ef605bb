"""Dialogues: who is asked, in which order, and what the log says about it."""

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
from tests.engine.tables import Recorded
from tests.taking import LabServer

SPEAKER = ModelCaller(Limits(idle=60, total=120), backoff_seconds=0.001, jitter=lambda: 0.5)
SOON_SILENT = ModelCaller(Limits(idle=0.1, total=120), backoff_seconds=0.001, jitter=lambda: 0.5)
REQUEST = ModelRequest(model="", messages=(user_message("What is a moot?"),))


def chain(*names: str, **scripts: Script) -> list[ResolvedModel]:
    provider = ScriptedProvider(Scripts({**BUILT_IN_SCRIPTS, **scripts}))
    return [ResolvedModel(f"scripted/{name}", provider, name, KeyRing(())) for name in names]


async def spoken(
    models: Sequence[ResolvedModel],
    stop: StopSignal | None = None,
    speaker: ModelCaller = SPEAKER,
    request: ModelRequest = REQUEST,
    act_of: NewLessonParser | None = None,
    names: SpeakerNames | None = None,
) -> list[Event]:
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)

    ended = await speaker.call(
        TurnKey("alpha"), models, request, stop or StopSignal(), emit, new_lesson_parser=act_of, names=names
    )
    assert not any(isinstance(event, TurnEnded) for event in events)  # whoever lets it speak tells of its end
    return [*events, ended]


def told(events: list[Event]) -> list[str]:
    """The dialogue in short: attempts, notices, and how it ended."""
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


def end(events: list[Event]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


async def test_a_good_answer() -> None:
    events = await spoken(chain("echo"))
    assert told(events) == ["1: scripted/echo", "completed by scripted/echo"]
    turn = end(events)
    assert (turn.message.text, turn.finish, turn.cost) == ("What is a moot?", "stop", 0.0)
    assert turn.usage == Usage(4, 4)
    assert turn.first_token is not None
    assert turn.latency >= turn.first_token


async def test_an_answer_that_nobody_watches_is_given_and_counted_like_a_turn() -> None:
    def counted() -> float:
        return (
            REGISTRY.get_sample_value("moot_turns_total", {"provider": "scripted", "status": "completed"})
            or 0
        )

    before = counted()
    ended = await SPEAKER.complete_request(chain("overloaded", "echo"), REQUEST, StopSignal())
    assert (ended.message.text, ended.model) == ("What is a moot?", "scripted/echo")
    assert counted() == before + 1


async def test_an_overloaded_model_is_asked_again() -> None:
    events = await spoken(chain("flaky"))
    assert told(events) == ["1: scripted/flaky", "retry", "2: scripted/flaky", "completed by scripted/flaky"]


async def test_three_tries_then_the_next_model_and_the_log_says_who_answered() -> None:
    events = await spoken(chain("overloaded", "echo"))
    assert told(events) == [
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


async def test_nothing_left_is_a_failed_turn_with_its_reason() -> None:
    turn = end(await spoken(chain("unauthorized")))
    assert turn.status == "failed"
    assert turn.fault is not None
    assert turn.fault.kind == "auth"
    assert turn.usage == Usage()


@pytest.mark.parametrize("fault", ["unauthorized", "forbidden", "html", "huge_line"])
async def test_what_asking_again_cannot_mend_is_not_asked_again(fault: str) -> None:
    assert told(await spoken(chain(fault))) == [f"1: scripted/{fault}", f"failed by scripted/{fault}"]


@pytest.mark.parametrize("fault", ["reset", "error_event", "broken_json", "no_finish"])
async def test_after_text_was_shown_the_turn_ends_partial(fault: str) -> None:
    events = await spoken(chain(fault, "echo"))
    assert told(events) == [f"1: scripted/{fault}", f"partial by scripted/{fault}"]
    assert end(events).message.text
    assert end(events).usage.estimated


async def test_an_empty_answer_is_asked_for_again_at_most_twice() -> None:
    events = await spoken(chain("empty"))
    assert [line for line in told(events) if line == "asked_again"] == ["asked_again"] * 2
    assert told(events)[-1] == "failed by scripted/empty"


async def test_silence_is_retried_then_fails() -> None:
    events = await spoken(chain("silence"), speaker=SOON_SILENT)
    assert told(events).count("retry") == 1
    assert told(events)[-1] == "failed by scripted/silence"


async def test_blocked_content_goes_to_nobody_else() -> None:
    blocked = Script(answer="", fault="content_filter")
    assert told(await spoken(chain("blocked", "echo", blocked=blocked)))[-1] == "failed by scripted/blocked"


async def test_a_short_wait_is_waited_and_said_a_long_one_is_not() -> None:
    once = Script(fault="retry_ms", fault_times=1)
    assert told(await spoken(chain("once", once=once))) == [
        "1: scripted/once",
        "waiting",
        "2: scripted/once",
        "completed by scripted/once",
    ]
    impatient = ModelCaller(max_wait_seconds=0.1)
    assert told(await spoken(chain("retry_seconds", "echo"), speaker=impatient)) == [
        "1: scripted/retry_seconds",
        "fallback",
        "2: scripted/echo",
        "completed by scripted/echo",
    ]


async def test_a_stop_during_the_wait_ends_the_turn() -> None:
    stop = StopSignal()
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)
        if any(isinstance(event, Notice) for event in more):
            stop.request_stop()

    ended = await ModelCaller().call(TurnKey("alpha"), chain("retry_seconds"), REQUEST, stop, emit)
    assert ended.status == "stopped"


async def test_a_stop_keeps_what_came() -> None:
    stop = StopSignal()
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)
        if any(isinstance(event, TextDelta) for event in more):
            stop.request_stop()

    ended = await SPEAKER.call(TurnKey("alpha"), chain("steady"), REQUEST, stop, emit)
    assert (ended.status, ended.message.text, ended.fault) == ("stopped", "A table ", None)


async def test_a_stop_before_the_start_asks_nobody() -> None:
    stop = StopSignal()
    stop.request_stop("follow_up_interrupt")
    assert told(await spoken(chain("echo"), stop)) == ["interrupted by scripted/echo"]


async def test_missing_usage_is_estimated_and_zero_stays_zero() -> None:
    assert end(await spoken(chain("no_usage"))).usage.estimated
    assert end(await spoken(chain("zero_usage"))).usage == Usage()


async def test_a_tool_call_is_a_completed_stream() -> None:
    tool = Script(answer="Looking.", tool=LOOK_UP_TOOL)
    events = await spoken(chain("tool", tool=tool))
    assert end(events).status == "completed"


async def test_a_tool_that_nobody_offered_is_no_answer() -> None:
    invented = Script(answer="", tool=LOOK_UP_TOOL)
    events = await spoken(chain("invented", "echo", invented=invented))
    assert told(events).count("asked_again") == 2
    assert told(events)[-1] == "completed by scripted/echo"


def keyed(lab: LabServer, script: str, *keys: Key) -> ResolvedModel:
    provider = HttpProvider("lab", WIRE_FORMATS["openai"](), f"{lab.url}/v1", lab.transport)
    return ResolvedModel(f"lab/{script}", provider, script, KeyRing(keys))


async def test_keys_are_tried_in_turn_and_named_but_never_shown(lab: LabServer) -> None:
    keys = [Key(f"KEY_{n}", f"sk-canary-{n}-0123456789") for n in range(4)]
    keys[0].uses = 9
    events = await spoken([keyed(lab, "unauthorized", *keys)])
    assert told(events) == [
        "1: lab/unauthorized",
        "next_key",
        "2: lab/unauthorized",
        "next_key",
        "3: lab/unauthorized",
        "failed by lab/unauthorized",
    ]
    assert [call.key for call in lab.lab.received_requests] == [key.secret for key in keys[1:4]]
    fault = end(events).fault
    assert fault is not None
    assert "KEY_3" in fault.message
    assert "canary" not in str(events)


async def test_a_limited_key_rests_and_the_next_one_answers(lab: LabServer) -> None:
    lab.add(limited=Script(fault="retry_seconds", fault_times=1))
    first, second = Key("A", "sk-a-0123456789"), Key("B", "sk-b-0123456789")
    still = KeyRing((first, second), clock=lambda: 0.0)  # its rest is a second, and must not end here
    model = replace(keyed(lab, "limited", first, second), keys=still)
    assert told(await spoken([model]))[1] == "next_key"
    assert model.keys.select_key(set()) is second
    assert told(await spoken([model])) == ["1: lab/limited", "completed by lab/limited"]
    assert [call.key for call in lab.lab.received_requests] == [first.secret, second.secret, second.secret]


async def test_unknown_prices_stay_unknown(lab: LabServer) -> None:
    assert end(await spoken([keyed(lab, "echo")])).cost is None


async def test_a_key_is_not_blamed_for_what_was_asked(lab: LabServer) -> None:
    lab.add(thinker=Script(answer="", thoughts="and on and on", fault="length"))
    for script in ("thinker", "no-such-model", "empty"):
        keys = [Key(name, f"sk-{name}-0123456789") for name in "AB"]
        model = keyed(lab, script, *keys)
        events = await spoken([model])
        assert "next_key" not in told(events)
        assert all(key.cooldown_until == 0 for key in keys)
    assert [call.model for call in lab.lab.received_requests] == ["thinker", "empty", "empty", "empty"]


async def test_an_answer_that_was_stopped_is_counted_by_what_came(lab: LabServer) -> None:
    lab.add(long=Script(answer="word " * 200, chunk=500, pace=0.02))
    provider = HttpProvider("lab", WIRE_FORMATS["anthropic"](), f"{lab.url}/v1", lab.transport)
    stop, events = StopSignal(), list[Event]()

    async def emit(more: list[Event]) -> None:
        events.extend(more)
        if any(isinstance(event, TextDelta) for event in more):
            stop.request_stop()

    model = ResolvedModel("lab/long", provider, "long", KeyRing(()))
    ended = await SPEAKER.call(TurnKey("alpha"), [model], REQUEST, stop, emit)
    assert (ended.status, ended.usage.output, ended.usage.estimated) == ("stopped", 125, True)


async def test_white_space_is_an_empty_answer() -> None:
    blank = Script(answer=" \n ")
    assert told(await spoken(chain("blank", "echo", blank=blank)))[-1] == "completed by scripted/echo"


async def test_a_mistake_of_ours_is_a_failed_turn_and_keeps_what_came(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(ScriptedProvider):
        async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
            yield [Text("so far")]
            raise KeyError(key)

    model = ResolvedModel("broken/x", Broken(Scripts(BUILT_IN_SCRIPTS)), "x", KeyRing(()))
    turn = end(await spoken([model, *chain("echo")]))
    assert (turn.status, turn.message.text, turn.model) == ("partial", "so far", "broken/x")
    assert turn.fault is not None
    assert "KeyError" in turn.fault.message
    assert "KeyError" in caplog.text


async def test_nonsense_counts_do_not_hurt_anybody(lab: LabServer) -> None:
    class Negative(ScriptedProvider):
        def call_cost_usd(self, model: str, usage: Usage) -> float | None:
            return profiles.call_cost_usd("https://api.openai.com/v1", "gpt-4o-mini", usage)

        async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
            yield [Text("fine"), Usage(1, -1), Done("stop")]

    model = ResolvedModel("negative/x", Negative(Scripts(BUILT_IN_SCRIPTS)), "x", KeyRing(()))
    assert end(await spoken([model])).status == "completed"


async def test_every_key_that_was_limited_rests(lab: LabServer) -> None:
    keys = [Key(name, f"sk-{name}-0123456789") for name in "ABC"]
    await spoken([keyed(lab, "retry_seconds", *keys)])
    assert all(key.cooldown_until > 0 for key in keys)


class Blind(Recorded):
    def model_profile(self, model: str) -> Profile:
        return Profile(files=frozenset({"text"}))


async def test_a_fallback_that_cannot_read_a_file_is_told_that_there_is_one() -> None:
    sees, blind = Recorded({}), Blind({})
    models = [
        ResolvedModel("scripted/overloaded", sees, "overloaded", KeyRing(())),
        ResolvedModel("scripted/echo", blind, "echo", KeyRing(())),
    ]
    picture = File("cat.png", "image/png", b"\x89PNG")
    asked = ModelRequest(model="", messages=(user_message(picture, "What is it?"),))
    turn = end(await spoken(models, request=asked))
    assert all(call.messages == asked.messages for call in sees.asked)
    assert turn.message.text.startswith("(cat.png, an image, came with this message")
    assert turn.message.text.endswith("What is it?")


class Door:
    """Lets calls through as it is told: None is at once, a number is the seconds to wait."""

    def __init__(self, *answers: float | None) -> None:
        self.answers = list(answers)

    async def __call__(self) -> float | None:
        return self.answers.pop(0)


def at_a_door(*answers: float | None) -> tuple[ModelCaller, Door]:
    door = Door(*answers)
    return ModelCaller(backoff_seconds=0.001, max_wait_seconds=1.0, acquire_call=door), door


async def test_every_attempt_is_counted() -> None:
    speaker, door = at_a_door(None, None)
    assert told(await spoken(chain("flaky"), speaker=speaker))[-1] == "completed by scripted/flaky"
    assert door.answers == []


async def test_a_call_waits_for_its_turn_and_says_so_once() -> None:
    speaker, _ = at_a_door(0.01, 0.01, None)
    events = await spoken(chain("echo"), speaker=speaker)
    assert told(events) == ["waiting", "1: scripted/echo", "completed by scripted/echo"]


async def test_a_call_that_would_wait_too_long_fails_in_words_and_nobody_else_is_asked() -> None:
    speaker, _ = at_a_door(0.01, 2.0)
    models = chain("echo", "steady")
    models[0] = ResolvedModel("scripted/echo", models[0].provider, "echo", KeyRing((Key("A_KEY", "x"),)))
    events = await spoken(models, speaker=speaker)
    assert told(events) == ["waiting", "failed by scripted/echo"]
    trouble = end(events).fault
    assert trouble is not None
    assert (trouble.kind, end(events).usage, end(events).cost) == ("rate_limit", Usage(), 0.0)
    assert "Moot itself" in trouble.message
    assert "model_calls_a_minute" in trouble.message
    key = models[0].keys.select_key(set())
    assert (key and key.source) == "A_KEY", "the key is not to blame"


async def test_whoever_waits_for_its_turn_can_be_stopped() -> None:
    speaker, _ = at_a_door(0.9)
    stop = StopSignal()

    async def emit(events: list[Event]) -> None:
        if any(isinstance(event, Notice) for event in events):
            stop.request_stop()

    ended = await speaker.call(TurnKey("alpha"), chain("echo"), REQUEST, stop, emit)
    assert (ended.status, ended.fault) == ("stopped", None)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("silence", "Try again, or choose a faster model."),
        ("retry_ms", "Try again later, or choose another model."),
        ("overloaded", "Try again later, or choose another model."),
        ("unauthorized", "Check the key and what it may be used for."),
    ],
)
async def test_what_fails_says_what_to_do(script: str, words: str) -> None:
    speaker = SOON_SILENT if script == "silence" else SPEAKER
    turn = end(await spoken(chain(script), speaker=speaker))
    assert turn.status == "failed"
    assert turn.fault is not None
    assert turn.fault.message.count(words) == 1


async def test_what_nobody_counted_is_guessed_as_the_model_is_known_to_count() -> None:
    async def emit(_: list[Event]) -> None: ...

    def measure(model: str) -> ModelLimits:
        assert model == "scripted/uncounted"
        return ModelLimits(characters_per_token=2.0)

    models = chain("uncounted", uncounted=Script(answer="12345678", fault="no_usage"))
    turn = await SPEAKER.call(TurnKey("alpha"), models, REQUEST, StopSignal(), emit, measure)
    assert turn.usage == Usage(8, 4, estimated=True)


LESSON = '[{"type":"action","name":"wb_open","params":{}},{"type":"text","content":"Look."}]'


def acting() -> LessonTurnParser:
    return LessonTurnParser("teacher", EMPTY_BOARD)


class TestActs:
    async def test_a_turn_of_speech_and_actions_ends_with_its_script(self) -> None:
        turn = end(await spoken(chain("mira", mira=Script(answer=LESSON)), act_of=acting))
        assert (turn.status, turn.message.text, turn.message.script) == ("completed", "Look.", LESSON)

    async def test_where_nothing_was_shown_the_model_is_asked_again_with_an_act_of_its_own(self) -> None:
        mira = Script(answer=LESSON, fault="overloaded", fault_times=1)
        events = await spoken(chain("mira", mira=mira), act_of=acting)
        assert told(events) == ["1: scripted/mira", "retry", "2: scripted/mira", "completed by scripted/mira"]
        assert len([event for event in events if isinstance(event, ActionTaken)]) == 1

    async def test_what_broke_off_before_anything_was_complete_is_asked_again(self) -> None:
        mira = Script(answer=LESSON, fault="reset", fault_after=1, fault_times=1, chunk=20)
        events = await spoken(chain("mira", mira=mira), act_of=acting)
        assert told(events)[-1] == "completed by scripted/mira"
        assert end(events).message.script == LESSON

    async def test_after_an_action_was_shown_nobody_is_asked_again(self) -> None:
        mira = Script(answer=LESSON, fault="reset", fault_after=1, chunk=60)
        events = await spoken(chain("mira", "echo", mira=mira), act_of=acting)
        assert told(events) == ["1: scripted/mira", "partial by scripted/mira"]
        assert end(events).message.script == '[{"type":"action","name":"wb_open","params":{}}]'

    @pytest.mark.parametrize("nothing", ["[]", '[{"type":"action","name":"wb_dance"}]'])
    async def test_an_act_in_which_nothing_happens_is_asked_again_and_then_fails(self, nothing: str) -> None:
        events = await spoken(chain("mira", mira=Script(answer=nothing)), act_of=acting)
        assert told(events).count("asked_again") == 2
        assert (end(events).status, end(events).message.script) == ("failed", "")


class Speaking(ScriptedProvider):
    """Gives one answer after the other, the last one for ever."""

    def __init__(self, *answers: str) -> None:
        super().__init__(Scripts({str(n): Script(answer=one, chunk=3) for n, one in enumerate(answers)}))
        self._left = [str(n) for n in range(len(answers))]

    def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        place = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        return super().stream_chunks(replace(request, model=place), key)


class TestAsOneself:
    NAMES = SpeakerNames("Alpha", ("Beta", "Ada"))

    async def heard(self, *answers: str, stop: StopSignal | None = None) -> list[Event]:
        model = ResolvedModel("scripted/actor", Speaking(*answers), "actor", KeyRing(()))
        return await spoken([model], stop, names=self.NAMES)

    @staticmethod
    def shown(events: list[Event]) -> str:
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    async def test_ones_own_label_is_taken_off(self) -> None:
        events = await self.heard("**Alpha**: It is a meeting.")
        assert told(events) == ["1: scripted/actor", "completed by scripted/actor"]
        assert self.shown(events) == end(events).message.text == "It is a meeting."

    async def test_who_speaks_as_another_is_asked_again_and_nothing_of_it_is_told(self) -> None:
        events = await self.heard("<think>Hm.</think>Beta: I object.", "Ada: And why?", "It is a meeting.")
        assert told(events) == [
            "1: scripted/actor",
            "asked_again",
            "2: scripted/actor",
            "asked_again",
            "3: scripted/actor",
            "completed by scripted/actor",
        ]
        assert self.shown(events) == end(events).message.text == "It is a meeting."
        assert [one.message for one in events if isinstance(one, Notice)] == [
            "The answer began with words of Beta; asking again.",
            "The answer began with words of Ada; asking again.",
        ]

    async def test_what_was_thrown_away_is_paid_for(self) -> None:
        once = end(await self.heard("It is a meeting."))
        twice = end(await self.heard("Beta: I object.", "It is a meeting."))
        assert twice.usage.input == 2 * once.usage.input

    async def test_after_two_times_the_label_is_taken_off(self) -> None:
        events = await self.heard("Beta: I object.")
        assert told(events).count("asked_again") == 2
        assert self.shown(events) == end(events).message.text == "I object."

    async def test_a_label_alone_is_no_answer(self) -> None:
        events = await self.heard("Alpha:", "It is a meeting.")
        assert told(events)[1:3] == ["asked_again", "2: scripted/actor"]
        assert end(events).message.text == "It is a meeting."

    async def test_a_stop_ends_it(self) -> None:
        stop = StopSignal()
        model = ResolvedModel("scripted/actor", Speaking("Beta: I object."), "actor", KeyRing(()))
        events: list[Event] = []

        async def emit(more: list[Event]) -> None:
            events.extend(more)
            if any(isinstance(event, Notice) for event in more):
                stop.request_stop()

        ended = await SPEAKER.call(TurnKey("alpha"), [model], REQUEST, stop, emit, names=self.NAMES)
        assert (ended.status, ended.message.text) == ("stopped", "")
        assert told(events) == ["1: scripted/actor", "asked_again"]
