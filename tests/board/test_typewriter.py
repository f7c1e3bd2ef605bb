from moot.board.replay import replayed
from moot.board.svg import svg
from moot.board.typewriter import typed
from moot.model.drawings import DrawCode, DrawText
from tests.board.lesson import LESSON, board_of


def test_code_is_written_in_the_letters_of_a_typewriter() -> None:
    code = typed(svg(board_of(DrawCode(code="aZ9 <x>", x=0, y=0))))
    assert "\U0001d68a\U0001d689\U0001d7ff\u00a0&lt;\U0001d6a1&gt;</text>" in code


def test_other_text_stays_as_it_is() -> None:
    board = board_of(DrawText(content="Hello", x=0, y=0))
    assert typed(svg(board)) == svg(board)


def test_only_letters_change() -> None:
    board = replayed(LESSON)
    assert typed(svg(board)).count("<") == svg(board).count("<")
    assert typed(typed(svg(board))) == typed(svg(board))
