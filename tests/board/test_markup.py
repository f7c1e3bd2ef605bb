from hypothesis import given
from hypothesis import strategies as st

from moot.board.markup import ink, number, points, tag, words
from tests.board.parsing import parsed


def test_a_tag_has_its_attributes_and_its_content() -> None:
    assert (
        tag("g", tag("rect", x=1.5, rx=None), data_kind="text") == '<g data-kind="text"><rect x="1.5"/></g>'
    )


def test_numbers_are_short() -> None:
    assert [number(n) for n in (1, 1.0, 0.125, 100, -0.001, -2.5, 1e12)] == [
        "1",
        "1",
        "0.12",
        "100",
        "0",
        "-2.5",
        "1000000000000",
    ]


def test_nothing_can_be_seen_in_what_is_transparent() -> None:
    assert ink("transparent") == "none"
    assert ink("#fff") == "#fff"


def test_points_are_pairs() -> None:
    assert points((1, 2), (3.5, 4)) == "1,2 3.5,4"


@given(st.text())
def test_whatever_is_written_is_text_and_nothing_else(text: str) -> None:
    node = parsed(tag("text", words(text), id=text))[0]
    assert len(node) == 0
    assert set(node.attrib) == {"id"}


def test_text_is_read_as_it_was_written() -> None:
    assert parsed(tag("text", words("<b>&amp;\"'</b>")))[0].text == "<b>&amp;\"'</b>"
