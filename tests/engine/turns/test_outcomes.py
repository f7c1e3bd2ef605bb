"""The outcome of a turn, and the message of a failed one."""

from typing import get_args

import pytest
from msgspec.structs import replace

from moot.engine.turns.outcomes import (
    add_advice,
    add_attempt_count,
    explain_fault,
    has_visible_text,
    rejection_turn_end,
    stop_message,
    turn_charge,
    turn_message,
    turn_status,
)
from moot.providers.keys import Key, KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Scripts
from moot.streaming.turn_stream import StreamResult, StreamStatus
from moot.types.chunks import Usage
from moot.types.errors import MissingKey
from moot.types.events import STATUS_BY_STOP_REASON, Answer, StopReason, TurnEnded, TurnKey, TurnStatus
from moot.types.faults import FaultKind, make_fault
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan

ALPHA = Participant(id="alpha", name="Alpha", model="openai/one")
PLAN = RunPlan(mode="debate", participants=(ALPHA,), to=("alpha",))
TURN_END = TurnEnded(
    participant="alpha",
    stage="synthesis",
    round=1,
    status="partial",
    message=Answer("Half of", "Hm.", "Aside."),
    model="openrouter/vendor/two",
    usage=Usage(3, 2),
    cost_usd=0.5,
)


def test_turn_message_has_participant_model_and_visibility() -> None:
    message = turn_message("run_1", "dis_1", PLAN, TURN_END)
    assert (message.content, message.thoughts, message.details) == ("Half of", "Hm.", "Aside.")
    assert (message.participant, message.name) == ("alpha", "Alpha")
    assert (message.provider, message.model) == ("openrouter", "openrouter/vendor/two")
    assert (message.stage, message.round, message.status) == ("synthesis", 1, "partial")
    assert (message.usage, message.cost_usd, message.visible_to) == (Usage(3, 2), 0.5, ("alpha",))
    assert message.version_of is None


def test_turn_charge_has_purpose_synthesis_for_synthesis_stage() -> None:
    charges = [turn_charge(replace(TURN_END, stage=stage)) for stage in ("synthesis", "debate")]
    assert [one.purpose for one in charges] == ["synthesis", "answer"]
    assert {(one.model, one.usage, one.cost_usd, one.participant) for one in charges} == {
        ("openrouter/vendor/two", Usage(3, 2), 0.5, "alpha")
    }


def test_stop_message_is_unique_per_reason() -> None:
    words = [stop_message(reason) for reason in (None, *get_args(StopReason))]
    assert len(set(words)) == len(words)


def test_rejection_turn_end_is_failed_and_free() -> None:
    ended = rejection_turn_end(TurnKey("alpha", "initial"), ALPHA, MissingKey("No key: store one."))
    assert (ended.status, ended.cost_usd, ended.model) == ("failed", 0.0, "openai/one")
    assert ended.fault is not None
    assert (ended.fault.message, ended.fault.retryable) == ("No key: store one.", False)


MODEL = ResolvedModel("scripted/one", ScriptedProvider(Scripts({})), "one", KeyRing(()))


def failed_result(kind: FaultKind, message: str = "It broke.", text: str = "") -> StreamResult:
    return StreamResult("error", text, fault=make_fault(kind, message))


def fault_message(result: StreamResult) -> str:
    assert result.fault is not None
    return result.fault.message


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        ("completed", "Yes.", "completed"),
        ("tool_call", "", "completed"),
        ("error", "", "failed"),
        ("error", "Half of", "partial"),
        ("timeout", "Half of", "partial"),
        ("empty_response", "", "failed"),
        *((reason, "Half of", expected) for reason, expected in STATUS_BY_STOP_REASON.items()),
    ],
)
def test_turn_status_follows_stream_status_and_text(status: StreamStatus, text: str, expected: TurnStatus) -> None:
    assert turn_status(StreamResult(status, text)) == expected


def test_has_visible_text_counts_actions_but_not_thoughts() -> None:
    assert has_visible_text(StreamResult("error", lesson_items="[{}]"))
    assert not has_visible_text(StreamResult("error", thoughts="Hm."))


def test_explain_fault_names_model_once() -> None:
    assert fault_message(explain_fault(failed_result("network"), MODEL, None)) == "scripted/one: It broke."
    named = failed_result("network", "scripted broke.")
    assert explain_fault(named, MODEL, None) == named


def test_explain_fault_names_key_source_but_not_secret() -> None:
    key = Key("OPENAI_API_KEY", "sk-secret")
    message = fault_message(explain_fault(failed_result("auth"), MODEL, key))
    assert message == "scripted/one: It broke. It came from OPENAI_API_KEY."
    assert "OPENAI_API_KEY" not in fault_message(explain_fault(failed_result("overloaded"), MODEL, key))


def test_add_attempt_count_applies_only_to_retryable_faults() -> None:
    assert fault_message(add_attempt_count(failed_result("overloaded"), 3)) == "It broke. Gave up after 3 tries."
    for hopeless in (failed_result("auth"), StreamResult("empty_response")):
        assert add_attempt_count(hopeless, 3) == hopeless


def test_add_advice_applies_once_and_only_without_visible_text() -> None:
    advised = add_advice(failed_result("timeout"))
    assert fault_message(advised) == "It broke. Try again, or choose a faster model."
    assert add_advice(advised) == advised
    for result in (
        replace(failed_result("timeout"), text="Half of"),
        failed_result("auth"),
        StreamResult("completed", "Yes."),
    ):
        assert add_advice(result) == result
