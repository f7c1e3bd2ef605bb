import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import closing

import pytest

from moot.board.png import png
from moot.board.replay import EMPTY, after
from moot.engine import painting
from moot.engine.painting import Painter
from moot.model.actions import read_action
from moot.model.errors import Busy, UsageError

BOARD = after(EMPTY, read_action("wb_draw_text", {"content": "Squares", "x": 50, "y": 50}, None))


@pytest.fixture
def painter() -> Iterator[Painter]:
    with closing(Painter()) as painter:
        yield painter


async def test_another_process_paints_the_same_picture_and_is_replaced_when_it_dies(painter: Painter) -> None:
    assert await painter.png(BOARD) == png(BOARD)
    assert painter._pool is not None
    (process,) = painter._pool._processes
    os.kill(process, signal.SIGKILL)
    again = await asyncio.gather(painter.png(BOARD), painter.png(EMPTY))
    assert list(again) == [png(BOARD), png(EMPTY)]


async def test_what_takes_too_long_is_refused_and_the_next_picture_is_painted(
    painter: Painter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as hurried:
        hurried.setattr(painting, "SECONDS", 0.0)
        with pytest.raises(UsageError, match="take formulas off"):
            await painter.png(BOARD)
    assert await painter.png(BOARD) == png(BOARD)


async def test_not_everybody_can_wait(painter: Painter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painting, "MOST_WAITING", 1)
    painted, refused = await asyncio.gather(painter.png(BOARD), painter.png(BOARD), return_exceptions=True)
    assert painted == png(BOARD)
    assert isinstance(refused, Busy)
