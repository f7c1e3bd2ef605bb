import subprocess
import sys
from struct import unpack_from

from moot.types.drawing import DrawCode, DrawText
from moot.whiteboard.render.png import render_png, use_monospace_letters
from moot.whiteboard.render.svg import render_svg
from moot.whiteboard.state import EMPTY_BOARD, replay_actions
from tests.support.whiteboard_lesson import LESSON_ACTIONS, make_board


def image_size(picture: bytes) -> tuple[int, ...]:
    return unpack_from(">II", picture, 16)


def test_render_png_returns_image_of_fixed_size() -> None:
    picture = render_png(replay_actions(LESSON_ACTIONS))
    assert picture.startswith(b"\x89PNG\r\n")
    assert image_size(picture) == image_size(render_png(EMPTY_BOARD))
    assert image_size(picture)[0] == 1500


def test_render_png_is_deterministic_across_processes() -> None:
    program = (
        "import hashlib; from moot.whiteboard.render.png import render_png; from moot.whiteboard.state import replay_actions;"
        "from tests.support.whiteboard_lesson import LESSON_ACTIONS;"
        "print(hashlib.sha256(render_png(replay_actions(LESSON_ACTIONS))).hexdigest())"
    )
    hashes = {
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for _ in range(2)
    }
    assert len(hashes) == 1


def test_text_is_rendered_with_bundled_fonts() -> None:
    assert render_png(make_board(DrawText(content="Hello", x=0, y=0))) != render_png(
        make_board(DrawText(content="World", x=0, y=0))
    )


def test_missing_glyphs_are_rendered_as_boxes() -> None:
    boxes = render_png(make_board(DrawText(content="白", x=0, y=0)))
    assert boxes == render_png(make_board(DrawText(content="板", x=0, y=0)))
    assert boxes != render_png(make_board(DrawText(content=" ", x=0, y=0)))


def test_code_uses_monospace_letters() -> None:
    code = use_monospace_letters(render_svg(make_board(DrawCode(code="aZ9 <x>", x=0, y=0))))
    assert "\U0001d68a\U0001d689\U0001d7ff\u00a0&lt;\U0001d6a1&gt;</text>" in code


def test_use_monospace_letters_keeps_other_text() -> None:
    board = make_board(DrawText(content="Hello", x=0, y=0))
    assert use_monospace_letters(render_svg(board)) == render_svg(board)


def test_use_monospace_letters_changes_only_letters() -> None:
    board = replay_actions(LESSON_ACTIONS)
    assert use_monospace_letters(render_svg(board)).count("<") == render_svg(board).count("<")
    assert use_monospace_letters(use_monospace_letters(render_svg(board))) == use_monospace_letters(render_svg(board))
