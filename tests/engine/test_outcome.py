"""What a turn comes to, and what is said of one that failed."""

import pytest
from msgspec.structs import replace

from moot.engine.outcome import explained, giving_up, status_of, was_shown, with_advice
from moot.model.events import ENDED_BY, TurnStatus
from moot.model.faults import Kind, fault
from moot.providers.keys import Key, KeyRing
from moot.providers.registry import Resolved
from moot.providers.scripted import ScriptedProvider
from moot.providers.scripts import Scripts
from moot.streams.turn import Status, StreamResult

MODEL = Resolved("scripted/one", ScriptedProvider(Scripts({})), "one", KeyRing(()))


def failed(kind: Kind, words: str = "It broke.", text: str = "") -> StreamResult:
    return StreamResult("error", text, fault=fault(kind, words))


def words_of(result: StreamResult) -> str:
    assert result.fault is not None
    return result.fault.message


@pytest.mark.parametrize(
    ("status", "text", "came"),
    [
        ("completed", "Yes.", "completed"),
        ("tool_call", "", "completed"),
        ("error", "", "failed"),
        ("error", "Half of", "partial"),
        ("timeout", "Half of", "partial"),
        ("empty_response", "", "failed"),
        *((reason, "Half of", came) for reason, came in ENDED_BY.items()),
    ],
)
def test_how_a_turn_ends(status: Status, text: str, came: TurnStatus) -> None:
    assert status_of(StreamResult(status, text)) == came


def test_an_action_without_words_was_shown_too() -> None:
    assert was_shown(StreamResult("error", script="[{}]"))
    assert not was_shown(StreamResult("error", thoughts="Hm."))


def test_who_failed_is_named_once() -> None:
    assert words_of(explained(failed("network"), MODEL, None)) == "scripted/one: It broke."
    named = failed("network", "scripted broke.")
    assert explained(named, MODEL, None) == named


def test_a_rejected_key_is_named_by_its_source_and_never_shown() -> None:
    key = Key("OPENAI_API_KEY", "sk-secret")
    said = words_of(explained(failed("auth"), MODEL, key))
    assert said == "scripted/one: It broke. It came from OPENAI_API_KEY."
    assert "OPENAI_API_KEY" not in words_of(explained(failed("overloaded"), MODEL, key))


def test_tries_are_told_only_where_another_could_have_helped() -> None:
    assert words_of(giving_up(failed("overloaded"), 3)) == "It broke. Gave up after 3 tries."
    for hopeless in (failed("auth"), StreamResult("empty_response")):
        assert giving_up(hopeless, 3) == hopeless


def test_advice_is_given_once_and_not_beside_words_that_were_shown() -> None:
    advised = with_advice(failed("timeout"))
    assert words_of(advised) == "It broke. Try again, or choose a faster model."
    assert with_advice(advised) == advised
    for result in (
        replace(failed("timeout"), text="Half of"),
        failed("auth"),
        StreamResult("completed", "Yes."),
    ):
        assert with_advice(result) == result
