import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from moot.services import image_renderer
from moot.services.image_renderer import ImageRenderer
from moot.types.actions import parse_action
from moot.types.errors import RateLimited, UsageError
from moot.whiteboard.render.png import render_png
from moot.whiteboard.state import EMPTY_BOARD, apply_action

BOARD = apply_action(EMPTY_BOARD, parse_action("wb_draw_text", {"content": "Squares", "x": 50, "y": 50}, None))


@pytest.fixture(autouse=True)
def _long_render_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the renderer time to start on a busy machine."""
    monkeypatch.setattr(image_renderer, "RENDER_TIMEOUT_SECONDS", 120.0)


@pytest.fixture
def renderer() -> Iterator[ImageRenderer]:
    with closing(ImageRenderer()) as opened:
        yield opened


async def test_render_png_equals_direct_rendering_and_survives_worker_death(
    renderer: ImageRenderer,
) -> None:
    assert await renderer.render_png(BOARD) == render_png(BOARD)
    assert renderer._pool is not None
    (process,) = renderer._pool._processes
    os.kill(process, signal.SIGKILL)
    again = await asyncio.gather(renderer.render_png(BOARD), renderer.render_png(EMPTY_BOARD))
    assert list(again) == [render_png(BOARD), render_png(EMPTY_BOARD)]


async def test_render_png_timeout_is_rejected_and_next_call_succeeds(
    renderer: ImageRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as short_timeout:
        short_timeout.setattr(image_renderer, "RENDER_TIMEOUT_SECONDS", 0.0)
        with pytest.raises(UsageError, match="Remove formulas"):
            await renderer.render_png(BOARD)
    assert await renderer.render_png(BOARD) == render_png(BOARD)


async def test_render_png_rejects_too_many_waiting_requests(
    renderer: ImageRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_renderer, "MAX_WAITING", 1)
    rendered, refused = await asyncio.gather(
        renderer.render_png(BOARD), renderer.render_png(BOARD), return_exceptions=True
    )
    assert rendered == render_png(BOARD)
    assert isinstance(refused, RateLimited)


KILLED_SERVER_SCRIPT = """
import asyncio, os, signal
from moot.whiteboard.state import EMPTY_BOARD
from moot.services import image_renderer
from moot.services.image_renderer import ImageRenderer

async def main():
    image_renderer.RENDER_TIMEOUT_SECONDS = 120.0
    renderer = ImageRenderer()
    await renderer.render_png(EMPTY_BOARD)
    print(*renderer._pool._processes, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_render_worker_exits_with_killed_server(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(KILLED_SERVER_SCRIPT)
    ended = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, tmp_path / "server.py"], stdout=subprocess.PIPE, text=True, timeout=120, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    for _ in range(600):
        if not is_process_alive(int(ended.stdout)):
            return
        time.sleep(0.1)
    pytest.fail("it lives on")


def is_process_alive(pid: int) -> bool:
    """On Linux a process that has ended stays listed until its parent waits for it."""
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()
