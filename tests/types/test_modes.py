from typing import get_args

import msgspec
import pytest

from moot.types.errors import UsageError
from moot.types.modes import (
    DEFAULT_LESSON_TURNS,
    KNOWS_OTHERS_MODES,
    MAX_LESSON_TURNS,
    SOLO_MODES,
    WINDOWED_MODES,
    AdvisorOptions,
    DirectedOptions,
    ModeName,
    check_mode,
    default_mode,
)


def test_default_advisor_options_have_three_question_turns_only() -> None:
    rules = AdvisorOptions()
    assert (rules.early, rules.cross_talk, rules.synthesis) == (3, False, False)


def test_default_advisor_options_encode_as_empty_object() -> None:
    assert msgspec.json.encode(AdvisorOptions()) == b"{}"
    assert msgspec.json.decode(b'{"early":0}', type=AdvisorOptions) == AdvisorOptions(early=0)


def test_default_directed_options_have_ten_turns() -> None:
    assert (DirectedOptions().turns, DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS) == (10, 10, 20)


def test_directed_options_encode_only_changed_values() -> None:
    assert msgspec.json.encode(DirectedOptions()) == b"{}"
    rules = DirectedOptions(turns=3, trigger="alpha", topic="Squares")
    assert msgspec.json.decode(msgspec.json.encode(rules), type=DirectedOptions) == rules


def test_mode_sets_cover_every_mode_name() -> None:
    assert set(get_args(ModeName)) == SOLO_MODES | KNOWS_OTHERS_MODES
    assert set(get_args(ModeName)) >= WINDOWED_MODES


def test_solo_modes_that_know_others_are_advisors_and_directed() -> None:
    assert {"advisors", "directed"} == SOLO_MODES & KNOWS_OTHERS_MODES


def test_default_mode_depends_on_number_of_participants() -> None:
    assert (default_mode(["one"]), default_mode(["one", "two"])) == ("single", "parallel")


def test_check_mode_requires_two_participants_for_debate() -> None:
    check_mode("debate", ["one", "two"])
    check_mode("single", ["one"])
    with pytest.raises(UsageError, match="at least two"):
        check_mode("debate", ["one"])
