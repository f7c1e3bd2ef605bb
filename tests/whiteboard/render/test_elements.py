from hypothesis import given
from hypothesis import strategies as st

from moot.types.drawing import DrawLine, LineHead
from moot.whiteboard.render.elements import (
    escape_text,
    format_number,
    format_points,
    render_line,
    svg_colour,
    svg_tag,
)
from tests.whiteboard.markup_parsing import Node, parse_markup


def test_svg_tag_has_attributes_and_content() -> None:
    assert svg_tag("g", svg_tag("rect", x=1.5, rx=None), data_kind="text") == '<g data-kind="text"><rect x="1.5"/></g>'


def test_format_number_is_short() -> None:
    assert [format_number(n) for n in (1, 1.0, 0.125, 100, -0.001, -2.5, 1e12)] == [
        "1",
        "1",
        "0.12",
        "100",
        "0",
        "-2.5",
        "1000000000000",
    ]


def test_svg_colour_of_transparent_is_none() -> None:
    assert svg_colour("transparent") == "none"
    assert svg_colour("#fff") == "#fff"


def test_format_points_joins_pairs() -> None:
    assert format_points((1, 2), (3.5, 4)) == "1,2 3.5,4"


@given(st.text())
def test_escape_text_creates_no_markup(text: str) -> None:
    node = parse_markup(svg_tag("text", escape_text(text), id=text))[0]
    assert len(node) == 0
    assert set(node.attrib) == {"id"}


def test_escape_text_round_trips() -> None:
    assert parse_markup(svg_tag("text", escape_text("<b>&amp;\"'</b>")))[0].text == "<b>&amp;\"'</b>"


def line_parts(first: LineHead, last: LineHead, end: float = 100) -> list[Node]:
    drawing = DrawLine(start_x=0, start_y=0, end_x=end, end_y=0, points=(first, last))
    return list(parse_markup(render_line(drawing)))


def test_plain_line_spans_both_ends() -> None:
    (line,) = line_parts("", "")
    assert (line.get("x1"), line.get("x2")) == ("0", "100")


def test_arrow_tip_is_at_line_end() -> None:
    line, head = line_parts("", "arrow")
    assert (head.get("points") or "").startswith("100,0 ")
    assert float(line.get("x2") or 0) < 100


def test_dot_is_at_line_end() -> None:
    _, dot = line_parts("dot", "")
    assert (dot.tag, dot.get("cx")) == ("circle", "0")


def test_zero_length_line_has_no_arrows() -> None:
    assert [part.tag for part in line_parts("arrow", "arrow", end=0)] == ["line"]


def test_dashed_line_has_dash_array() -> None:
    drawing = DrawLine(start_x=0, start_y=0, end_x=9, end_y=0, style="dashed")
    assert 'stroke-dasharray="8 6"' in render_line(drawing)
