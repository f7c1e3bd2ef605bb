import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.actions import read_action
from moot.types.drawing import MOST_LINES, DrawCode, EditCode, lines_of
from moot.whiteboard.code_listing import Line, Listing, edited, listed, objection
from tests.whiteboard.ledgers import EDITS


def test_lines_are_named_from_the_top() -> None:
    assert listed("a\n\nb") == Listing((Line("L1", "a"), Line("L2", ""), Line("L3", "b")), named=3)


def test_line_ends_of_any_system_are_understood() -> None:
    assert lines_of("a\r\nb\rc\n") == ["a", "b", "c"]


def test_a_single_line_may_be_named_where_several_could_be() -> None:
    edit = EditCode(element_id="code-1", operation="delete_lines", line_id="L1")
    assert edited(listed("a\nb"), edit).lines == (Line("L2", "b"),)


def test_of_several_lines_an_insertion_goes_to_the_outer_side() -> None:
    after = EditCode(element_id="c", operation="insert_after", line_ids=("L1", "L2"), content="x")
    before = EditCode(element_id="c", operation="insert_before", line_ids=("L1", "L2"), content="x")
    assert [line.text for line in edited(listed("a\nb"), after).lines] == ["a", "b", "x"]
    assert [line.text for line in edited(listed("a\nb"), before).lines] == ["x", "a", "b"]


def test_an_edit_of_lines_that_are_there_is_not_objected_to() -> None:
    assert objection(listed("a"), EditCode(element_id="c", operation="delete_lines", line_id="L1")) is None


@given(st.lists(EDITS, max_size=20))
def test_whatever_is_edited_names_stay_unique_and_lines_few(edits: list[EditCode]) -> None:
    listing = listed("a\nb\nc")
    for edit in edits:
        before = {line.id for line in listing.lines}
        named = listing.named
        listing = edited(listing, edit)
        new = {line.id for line in listing.lines} - before
        assert all(int(id.removeprefix("L")) > named for id in new)
        assert len({line.id for line in listing.lines}) == len(listing.lines) <= MOST_LINES


@pytest.mark.parametrize("code", ["x\r\n" * 150, "x\n" * MOST_LINES])
def test_lines_are_counted_as_they_are_shown(code: str) -> None:
    drawing = read_action("wb_draw_code", {"code": code, "x": 0, "y": 0}, None)
    assert isinstance(drawing, DrawCode)
    assert len(listed(drawing.code).lines) <= MOST_LINES
