from typing import get_args

from moot.model.modes import ALONE_TOO, TOGETHER, WINDOWED, ModeName


def test_what_is_said_of_modes_is_said_of_modes_that_there_are() -> None:
    assert set(get_args(ModeName)) == ALONE_TOO | TOGETHER
    assert set(get_args(ModeName)) >= WINDOWED


def test_whoever_is_alone_is_told_of_nobody_unless_a_table_can_be_small() -> None:
    assert {"advisors", "directed"} == ALONE_TOO & TOGETHER
