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


def test_at_first_they_ask_three_times_and_nothing_follows_their_answers() -> None:
    rules = AdvisorOptions()
    assert (rules.early, rules.cross_talk, rules.synthesis) == (3, False, False)


def test_only_what_is_not_usual_is_written_down() -> None:
    assert msgspec.json.encode(AdvisorOptions()) == b"{}"
    assert msgspec.json.decode(b'{"early":0}', type=AdvisorOptions) == AdvisorOptions(early=0)


def test_a_lesson_has_ten_turns_unless_somebody_says_otherwise() -> None:
    assert (DirectedOptions().turns, DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS) == (10, 10, 20)


def test_only_what_differs_is_kept() -> None:
    assert msgspec.json.encode(DirectedOptions()) == b"{}"
    rules = DirectedOptions(turns=3, trigger="alpha", topic="Squares")
    assert msgspec.json.decode(msgspec.json.encode(rules), type=DirectedOptions) == rules


def test_what_is_said_of_modes_is_said_of_modes_that_there_are() -> None:
    assert set(get_args(ModeName)) == SOLO_MODES | KNOWS_OTHERS_MODES
    assert set(get_args(ModeName)) >= WINDOWED_MODES


def test_whoever_is_alone_is_told_of_nobody_unless_a_table_can_be_small() -> None:
    assert {"advisors", "directed"} == SOLO_MODES & KNOWS_OTHERS_MODES


def test_one_speaks_alone_and_several_side_by_side_unless_somebody_says_how() -> None:
    assert (default_mode(["one"]), default_mode(["one", "two"])) == ("single", "parallel")


def test_a_debate_takes_two() -> None:
    check_mode("debate", ["one", "two"])
    check_mode("single", ["one"])
    with pytest.raises(UsageError, match="at least two"):
        check_mode("debate", ["one"])
