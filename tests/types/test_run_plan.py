import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.types.model_info import Measure
from moot.types.participants import seat
from moot.types.run_plan import Plan

PARTICIPANTS = seat(("a/one", "b/two", "c/three"))
IDS = [who.id for who in PARTICIPANTS]


def test_everybody_speaks_unless_somebody_is_spoken_to() -> None:
    assert Plan(mode="parallel", participants=PARTICIPANTS).speaking == PARTICIPANTS
    assert Plan(mode="parallel", participants=PARTICIPANTS, to=()).speaking == ()


@given(st.lists(st.sampled_from([*IDS, "somebody-else"])))
def test_those_who_are_spoken_to_keep_the_order_of_their_seats(to: list[str]) -> None:
    speaking = Plan(mode="parallel", participants=PARTICIPANTS, to=tuple(to)).speaking
    assert [who.id for who in speaking] == [id for id in IDS if id in to]


@given(st.lists(st.sampled_from([*IDS, "somebody-else"]), unique=True))
def test_those_who_are_to_answer_do_so_in_the_order_in_which_they_are_named(answering: list[str]) -> None:
    plan = Plan(mode="consensus", participants=PARTICIPANTS, answering=tuple(answering))
    assert [who.id for who in plan.speaking] == [id for id in answering if id in IDS]


def test_who_is_not_spoken_to_does_not_answer() -> None:
    plan = Plan(mode="consensus", participants=PARTICIPANTS, to=("beta",), answering=("gamma", "beta"))
    assert [who.id for who in plan.speaking] == ["beta"]


def test_a_participant_is_found_by_its_id() -> None:
    plan = Plan(mode="single", participants=PARTICIPANTS)
    assert [plan.participant(id) for id in IDS] == list(PARTICIPANTS)


def test_whoever_takes_a_plan_up_again_sees_the_same() -> None:
    plan = Plan(
        mode="continue",
        participants=PARTICIPANTS,
        personas={"beta": "A carpenter."},
        project="A project.",
        language="de",
        rounds=3,
        turns=4,
        first=2,
        to=("beta",),
        introduced=False,
    )
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_what_was_not_decided_is_not_written() -> None:
    written = msgspec.json.encode(Plan(mode="single", participants=()))
    assert written == b'{"mode":"single","participants":[]}'
    plan = msgspec.json.decode(written, type=Plan)
    assert (plan.rounds, plan.turns, plan.first, plan.to, plan.language) == (2, 1, 0, None, None)


def test_a_plan_does_not_change() -> None:
    plan = Plan(mode="single", participants=PARTICIPANTS)
    with pytest.raises(AttributeError, match="immutable"):
        plan.mode = "parallel"  # type: ignore[misc]


def test_advisors_who_are_not_active_do_not_speak() -> None:
    some = tuple(replace(who, active=who.id != "beta") for who in PARTICIPANTS)
    plan = Plan(mode="advisors", participants=some)
    assert [who.id for who in plan.speaking] == ["alpha", "gamma"]
    assert plan.advised
    assert replace(plan, mode="parallel").speaking == some, "in other modes everybody does"


def test_where_no_advisor_is_active_the_first_who_is_spoken_to_answers_for_them() -> None:
    nobody = tuple(replace(who, active=False) for who in PARTICIPANTS)
    plan = Plan(mode="advisors", participants=nobody)
    assert ([who.id for who in plan.speaking], plan.advised) == (["alpha"], False)
    assert [who.id for who in replace(plan, to=("beta", "gamma")).speaking] == ["beta"]
    assert replace(plan, to=()).speaking == ()


def test_another_model_comes_with_what_is_known_of_it() -> None:
    plan = Plan(mode="advisors", participants=PARTICIPANTS, measures={"a/one": Measure(context=9000)})
    small = Measure(context=2000)
    changed = plan.with_model("beta", "d/four", {"d/four": small})
    assert (changed.measure("d/four"), changed.measure("a/one").context) == (small, 9000)
    assert [who.model for who in changed.participants] == ["a/one", "d/four", "c/three"]
    assert changed.measure("c/three") == Measure()
    assert plan.with_model("beta", "a/one", {"a/one": small}).measures == plan.measures, "others have it too"
