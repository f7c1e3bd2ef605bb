from moot.board.stroke import stroke
from moot.model.drawings import DrawLine, Head
from tests.board.parsing import Node, parsed


def parts(first: Head, last: Head, end: float = 100) -> list[Node]:
    drawing = DrawLine(start_x=0, start_y=0, end_x=end, end_y=0, points=(first, last))
    return list(parsed(stroke(drawing)))


def test_a_plain_line_goes_from_end_to_end() -> None:
    (line,) = parts("", "")
    assert (line.get("x1"), line.get("x2")) == ("0", "100")


def test_the_tip_of_an_arrow_is_at_the_end_of_the_line() -> None:
    line, head = parts("", "arrow")
    assert (head.get("points") or "").startswith("100,0 ")
    assert float(line.get("x2") or 0) < 100


def test_a_dot_sits_on_the_end() -> None:
    _, dot = parts("dot", "")
    assert (dot.tag, dot.get("cx")) == ("circle", "0")


def test_a_line_of_no_length_has_no_arrows() -> None:
    assert [part.tag for part in parts("arrow", "arrow", end=0)] == ["line"]


def test_a_dashed_line_has_dashes() -> None:
    drawing = DrawLine(start_x=0, start_y=0, end_x=9, end_y=0, style="dashed")
    assert 'stroke-dasharray="8 6"' in stroke(drawing)
