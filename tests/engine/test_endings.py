"""What is kept of turns that ended, and the words for those that gave no answer."""

from typing import get_args

from msgspec.structs import replace

from moot.engine.endings import charge_of, refused, stopped_words, turn_message
from moot.engine.scene import Scene
from moot.model.chunks import Usage
from moot.model.errors import MissingKey
from moot.model.events import Answer, Reason, Seat, TurnEnded
from moot.model.participants import Participant
from moot.model.plans import Plan

ALPHA = Participant(id="alpha", name="Alpha", model="openai/one")
SCENE = Scene(run="run_1", discussion="dis_1", plan=Plan(mode="debate", participants=(ALPHA,), to=("alpha",)))
ENDED = TurnEnded(
    participant="alpha",
    stage="synthesis",
    round=1,
    status="partial",
    message=Answer("Half of", "Hm.", "Aside."),
    model="openrouter/vendor/two",
    usage=Usage(3, 2),
    cost=0.5,
)


def test_the_message_says_who_answered_and_for_whom() -> None:
    message = turn_message(SCENE, ENDED)
    assert (message.content, message.thoughts, message.details) == ("Half of", "Hm.", "Aside.")
    assert (message.participant, message.name) == ("alpha", "Alpha")
    assert (message.provider, message.model) == ("openrouter", "openrouter/vendor/two")
    assert (message.stage, message.round, message.status) == ("synthesis", 1, "partial")
    assert (message.usage, message.cost, message.audience) == (Usage(3, 2), 0.5, ("alpha",))
    assert message.version_of is None


def test_a_synthesis_is_charged_as_one() -> None:
    charges = [charge_of(replace(ENDED, stage=stage)) for stage in ("synthesis", "debate")]
    assert [one.purpose for one in charges] == ["synthesis", "answer"]
    assert {(one.model, one.usage, one.cost, one.participant) for one in charges} == {
        ("openrouter/vendor/two", Usage(3, 2), 0.5, "alpha")
    }


def test_every_reason_has_words_of_its_own() -> None:
    words = [stopped_words(reason) for reason in (None, *get_args(Reason))]
    assert len(set(words)) == len(words)


def test_one_without_a_key_has_failed_for_nothing() -> None:
    ended = refused(Seat("alpha", "initial"), ALPHA, MissingKey("No key: store one."))
    assert (ended.status, ended.cost, ended.model) == ("failed", 0.0, "openai/one")
    assert ended.fault is not None
    assert (ended.fault.message, ended.fault.retryable) == ("No key: store one.", False)
