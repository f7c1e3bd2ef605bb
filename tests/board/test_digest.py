from hypothesis import given
from inline_snapshot import snapshot

from moot.board.digest import digest
from moot.board.replay import EMPTY, Entry, replayed
from moot.model.drawings import Close, DrawText, Open
from tests.board.ledgers import LEDGERS
from tests.board.lesson import LESSON, board_of


def test_an_empty_board_is_told_in_a_line() -> None:
    assert digest(EMPTY) == "The whiteboard (1000 x 563) is closed and empty."
    assert digest(board_of(Open())) == "The whiteboard (1000 x 563) is open and empty."


def test_a_board_is_told_element_by_element() -> None:
    assert digest(replayed(LESSON), {"ada": "Ada"}) == snapshot("""\
The whiteboard (1000 x 563) is open, with 8 elements:
- text-1: text "How things grow", at (40, 24), 560 x 44, by Ada
- chart-1: column chart over 2025, 2026, at (40, 84), 300 x 210, by Ada
- chart-2: pie chart over Sun, Wind, at (360, 84), 220 x 210, by Ada
- latex-1: formula \\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}, at (610, 84), 350 x 90, by Ada
- table-1: table of 3 x 2, headed n | n², at (40, 320), 300 x 150, by Ada
- code-1: code python, at (560, 320), 400 x 200, by Ada
  L1: def grow(n):
  L2:     total = 1
  L3:     for _ in range(n):
  L4:         total *= 2
  L5:     return total
- sun: circle #5b8def, at (400, 330), 100 x 100, by Ada
- line-1: arrow, from (500, 380) to (570, 380), by Ada
It is crowded: delete or clear what is no longer needed before you draw more.
Mend this: line-1 goes through code-1: end it at the edge, or lead it around.\
""")


def test_a_closed_board_keeps_its_elements() -> None:
    assert digest(board_of(DrawText(content="Hi", x=0, y=0), Close())) == (
        'The whiteboard (1000 x 563) is closed, with 1 element:\n- text-1: text "Hi", at (0, 0), 400 x 100'
    )


def test_six_elements_are_a_crowd() -> None:
    texts = [DrawText(content="a", x=0, y=y * 90, height=80) for y in range(6)]
    assert "crowded" not in digest(board_of(*texts[:5]))
    assert digest(board_of(*texts)).endswith(
        "It is crowded: delete or clear what is no longer needed before you draw more."
    )


@given(LEDGERS)
def test_a_digest_is_short(ledger: list[Entry]) -> None:
    assert len(digest(replayed(ledger))) < 12_000
