import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.types.model_info import ModelLimits
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan

PARTICIPANTS = make_participants(("a/one", "b/two", "c/three"))
IDS = [who.id for who in PARTICIPANTS]


def test_all_participants_respond_unless_recipients_are_given() -> None:
    assert RunPlan(mode="parallel", participants=PARTICIPANTS).responding_participants == PARTICIPANTS
    assert RunPlan(mode="parallel", participants=PARTICIPANTS, to=()).responding_participants == ()


@given(st.lists(st.sampled_from([*IDS, "somebody-else"])))
def test_recipients_respond_in_order_of_participants(to: list[str]) -> None:
    speaking = RunPlan(mode="parallel", participants=PARTICIPANTS, to=tuple(to)).responding_participants
    assert [who.id for who in speaking] == [id for id in IDS if id in to]


@given(st.lists(st.sampled_from([*IDS, "somebody-else"]), unique=True))
def test_responders_respond_in_given_order(answering: list[str]) -> None:
    plan = RunPlan(mode="consensus", participants=PARTICIPANTS, responders=tuple(answering))
    assert [who.id for who in plan.responding_participants] == [id for id in answering if id in IDS]


def test_responder_who_is_not_a_recipient_does_not_respond() -> None:
    plan = RunPlan(mode="consensus", participants=PARTICIPANTS, to=("beta",), responders=("gamma", "beta"))
    assert [who.id for who in plan.responding_participants] == ["beta"]


def test_find_participant_returns_participant_by_id() -> None:
    plan = RunPlan(mode="single", participants=PARTICIPANTS)
    assert [plan.find_participant(id) for id in IDS] == list(PARTICIPANTS)


def test_run_plan_survives_json_round_trip() -> None:
    plan = RunPlan(
        mode="continue",
        participants=PARTICIPANTS,
        personas={"beta": "A carpenter."},
        project="A project.",
        language="de",
        rounds=3,
        turns=4,
        first_position=2,
        to=("beta",),
        knows_others=False,
    )
    assert msgspec.json.decode(msgspec.json.encode(plan), type=RunPlan) == plan


def test_run_plan_omits_default_values_in_json() -> None:
    written = msgspec.json.encode(RunPlan(mode="single", participants=()))
    assert written == b'{"mode":"single","participants":[]}'
    plan = msgspec.json.decode(written, type=RunPlan)
    assert (plan.rounds, plan.turns, plan.first_position, plan.to, plan.language) == (2, 1, 0, None, None)


def test_run_plan_is_immutable() -> None:
    plan = RunPlan(mode="single", participants=PARTICIPANTS)
    with pytest.raises(AttributeError, match="immutable"):
        plan.mode = "parallel"  # type: ignore[misc]


def test_inactive_advisors_do_not_respond() -> None:
    some = tuple(replace(who, active=who.id != "beta") for who in PARTICIPANTS)
    plan = RunPlan(mode="advisors", participants=some)
    assert [who.id for who in plan.responding_participants] == ["alpha", "gamma"]
    assert plan.has_advisors
    assert replace(plan, mode="parallel").responding_participants == some, "in other modes everybody does"


def test_first_recipient_responds_when_no_advisor_is_active() -> None:
    inactive = tuple(replace(who, active=False) for who in PARTICIPANTS)
    plan = RunPlan(mode="advisors", participants=inactive)
    assert ([who.id for who in plan.responding_participants], plan.has_advisors) == (["alpha"], False)
    assert [who.id for who in replace(plan, to=("beta", "gamma")).responding_participants] == ["beta"]
    assert replace(plan, to=()).responding_participants == ()


def test_replacing_model_updates_its_limits() -> None:
    plan = RunPlan(mode="advisors", participants=PARTICIPANTS, model_limits={"a/one": ModelLimits(context_tokens=9000)})
    small = ModelLimits(context_tokens=2000)
    changed = plan.with_model("beta", "d/four", {"d/four": small})
    assert (changed.limits_for_model("d/four"), changed.limits_for_model("a/one").context_tokens) == (small, 9000)
    assert [who.model for who in changed.participants] == ["a/one", "d/four", "c/three"]
    assert changed.limits_for_model("c/three") == ModelLimits()
    assert plan.with_model("beta", "a/one", {"a/one": small}).model_limits == plan.model_limits, "others have it too"
