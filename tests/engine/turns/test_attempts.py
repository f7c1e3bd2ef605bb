"""Events, usage and times of a turn cover all its attempts."""

from moot.engine.turns.attempts import TurnAttempts
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Scripts
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import StreamResult
from moot.types.chunks import Usage
from moot.types.events import Event, Notice, TurnKey, TurnStarted
from moot.types.model_info import ModelLimits
from moot.types.requests import ModelRequest, user_message

REQUEST = ModelRequest(model="one", messages=(user_message("12345678"),))


class AttemptsHarness:
    """A started turn and its events."""

    def __init__(self, characters_per_token: float = 4.0) -> None:
        self.events: list[Event] = []
        self.stop = StopSignal()
        self.attempts = TurnAttempts(
            TurnKey("alpha", "debate", 2),
            self.stop,
            self._emit,
            lambda _: ModelLimits(characters_per_token=characters_per_token),
            None,
        )
        self.attempts.model = ResolvedModel("scripted/one", ScriptedProvider(Scripts({})), "one", KeyRing(()))

    async def _emit(self, events: list[Event]) -> None:
        self.events += events


async def test_start_attempt_emits_attempt_number_and_model() -> None:
    begun = AttemptsHarness()
    await begun.attempts.start_attempt()
    await begun.attempts.emit_notice("retry", "Trying again.")
    await begun.attempts.start_attempt()
    assert begun.events == [
        TurnStarted(participant="alpha", stage="debate", round=2, attempt=1, model="scripted/one"),
        Notice(kind="retry", message="Trying again.", participant="alpha"),
        TurnStarted(participant="alpha", stage="debate", round=2, attempt=2, model="scripted/one"),
    ]


async def test_build_turn_end_sums_usage_of_all_attempts() -> None:
    begun = AttemptsHarness()
    for usage in (Usage(10, 1), Usage(10, 5)):
        await begun.attempts.count_usage(REQUEST, StreamResult("completed", "Yes.", usage=usage, finish="stop"))
    ended = begun.attempts.build_turn_end(StreamResult("completed", "Yes."))
    assert (ended.usage, ended.cost_usd) == (Usage(20, 6), 0.0)
    assert (ended.participant, ended.stage, ended.round) == ("alpha", "debate", 2)


async def test_missing_usage_is_estimated_with_model_limits() -> None:
    begun = AttemptsHarness(characters_per_token=2.0)
    await begun.attempts.count_usage(REQUEST, StreamResult("completed", "1234", characters=4))
    assert begun.attempts.build_turn_end(StreamResult("completed", "1234")).usage == Usage(4, 2, estimated=True)


async def test_usage_reported_before_end_of_text_is_replaced_by_estimate() -> None:
    begun = AttemptsHarness()
    early = StreamResult("stopped_by_user", "x" * 40, usage=Usage(2, 1), characters=40)
    await begun.attempts.count_usage(REQUEST, early)
    assert begun.attempts.build_turn_end(early).usage == Usage(2, 10, estimated=True)


async def test_stop_determines_turn_status_after_failure() -> None:
    begun = AttemptsHarness()
    failed = StreamResult("error")
    assert begun.attempts.stop_result_or(failed) == failed
    begun.stop.request_stop("stopped_by_user")
    assert begun.attempts.build_turn_end(begun.attempts.stop_result_or(failed)).status == "stopped"
