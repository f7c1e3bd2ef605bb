import msgspec
import pytest

from moot.types.errors import UsageError
from moot.types.modes import (
    DEFAULT_LESSON_TURNS,
    MAX_LESSON_TURNS,
    MODE_NAMES,
    MODES,
    AdvisorOptions,
    DirectedOptions,
    adapt_mode,
    assign_lesson_roles,
    check_mode,
    default_mode,
)
from moot.types.participants import LessonRole, Participant
from moot.types.run_plan import RunPlan


def test_default_advisor_options_have_three_question_turns_only() -> None:
    rules = AdvisorOptions()
    assert (rules.question_turns, rules.cross_talk, rules.synthesis) == (3, False, False)


def test_default_advisor_options_encode_as_empty_object() -> None:
    assert msgspec.json.encode(AdvisorOptions()) == b"{}"
    assert msgspec.json.decode(b'{"question_turns":0}', type=AdvisorOptions) == AdvisorOptions(question_turns=0)


def test_default_directed_options_have_ten_turns() -> None:
    assert (DirectedOptions().turns, DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS) == (10, 10, 20)


def test_directed_options_encode_only_changed_values() -> None:
    assert msgspec.json.encode(DirectedOptions()) == b"{}"
    rules = DirectedOptions(turns=3, first_speaker="alpha", topic="Squares")
    assert msgspec.json.decode(msgspec.json.encode(rules), type=DirectedOptions) == rules


def test_every_mode_name_has_a_spec_in_the_same_order() -> None:
    assert (*MODE_NAMES, "continue") == tuple(MODES)


def test_options_are_in_the_plan_field_with_the_name_of_the_mode() -> None:
    fields = {field.name: field.default for field in msgspec.structs.fields(RunPlan)}
    assert {mode: type(fields.get(mode)) for mode, spec in MODES.items() if spec.options} == {
        mode: spec.options for mode, spec in MODES.items() if spec.options
    }


@pytest.mark.parametrize(
    ("mode", "alone", "several"),
    [
        ("single", "single", "parallel"),
        ("parallel", "single", "parallel"),
        ("debate", "single", "debate"),
        ("advisors", "advisors", "advisors"),
    ],
)
def test_adapt_mode_leaves_mode_that_does_not_suit_the_participants(mode: str, alone: str, several: str) -> None:
    assert (adapt_mode(mode, ["one"]), adapt_mode(mode, ["one", "two"])) == (alone, several)


def test_default_mode_depends_on_number_of_participants() -> None:
    assert (default_mode(["one"]), default_mode(["one", "two"])) == ("single", "parallel")


def test_check_mode_requires_two_participants_for_debate() -> None:
    check_mode("debate", ["one", "two"])
    check_mode("single", ["one"])
    with pytest.raises(UsageError, match="at least two"):
        check_mode("debate", ["one"])


@pytest.mark.parametrize(
    ("given", "assigned"),
    [
        ([None, None, None], ["teacher", "student", "student"]),
        (["student", None, "assistant"], ["student", "student", "assistant"]),
        ([None, "teacher", None], ["student", "teacher", "student"]),
    ],
)
def test_first_participant_teaches_if_there_is_no_teacher(
    given: list[LessonRole | None], assigned: list[LessonRole]
) -> None:
    participants = [Participant(str(at), str(at), "a/one", role=role) for at, role in enumerate(given)]
    assert [who.role for who in assign_lesson_roles(participants, "directed")] == assigned
    assert assign_lesson_roles(participants, "debate") == tuple(participants)
