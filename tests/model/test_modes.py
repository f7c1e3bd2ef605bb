from typing import get_args

import pytest

from moot.model.errors import UsageError
from moot.model.modes import ALONE_TOO, TOGETHER, WINDOWED, ModeName, check_mode, usual_mode


def test_what_is_said_of_modes_is_said_of_modes_that_there_are() -> None:
    assert set(get_args(ModeName)) == ALONE_TOO | TOGETHER
    assert set(get_args(ModeName)) >= WINDOWED


def test_whoever_is_alone_is_told_of_nobody_unless_a_table_can_be_small() -> None:
    assert {"advisors", "directed"} == ALONE_TOO & TOGETHER


def test_one_speaks_alone_and_several_side_by_side_unless_somebody_says_how() -> None:
    assert (usual_mode(["one"]), usual_mode(["one", "two"])) == ("single", "parallel")


def test_a_debate_takes_two() -> None:
    check_mode("debate", ["one", "two"])
    check_mode("single", ["one"])
    with pytest.raises(UsageError, match="at least two"):
        check_mode("debate", ["one"])
