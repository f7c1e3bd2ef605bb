import os
import signal
from contextlib import closing

from moot.board.png import png
from moot.board.replay import EMPTY, after
from moot.engine.painting import Painter
from moot.model.actions import read_action

BOARD = after(EMPTY, read_action("wb_draw_text", {"content": "Squares", "x": 50, "y": 50}, None))


async def test_another_process_paints_the_same_picture_and_is_replaced_when_it_dies() -> None:
    with closing(Painter()) as painter:
        assert await painter.png(BOARD) == png(BOARD)
        assert painter._pool is not None
        (process,) = painter._pool._processes
        os.kill(process, signal.SIGKILL)
        assert await painter.png(BOARD) == png(BOARD)
