from moot.board.canvas import Box
from moot.board.trouble import trouble
from tests.board.parsing import parsed


def test_the_reason_stands_above_the_source() -> None:
    tree = parsed(trouble(Box(0, 0, 300, 100), "It is <no> formula.", "{x"))
    assert [node.text for node in tree.iter("text")] == ["It is <no> formula.", "{x"]


def test_a_long_source_is_cut() -> None:
    assert len(trouble(Box(0, 0, 300, 100), "No.", "x" * 100_000)) < 4000
