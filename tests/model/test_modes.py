from typing import get_args

from moot.model.modes import ALONE_TOO, TOGETHER, ModeName


def test_modes_of_one_and_of_several_are_modes() -> None:
    assert set(get_args(ModeName)) == ALONE_TOO | TOGETHER


def test_whoever_is_alone_is_told_of_nobody_unless_a_table_can_be_small() -> None:
    assert {"advisors", "directed"} == ALONE_TOO & TOGETHER
