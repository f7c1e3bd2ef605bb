from typing import get_args

from moot.model.modes import ALONE_TOO, TOGETHER, WINDOWED, ModeName


def test_what_is_said_of_modes_is_said_of_modes_that_there_are() -> None:
    assert set(get_args(ModeName)) == ALONE_TOO | TOGETHER
    assert set(get_args(ModeName)) >= WINDOWED
