import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.actions import parse_action
from moot.types.drawing import MAX_CODE_LINES, DrawCode, EditCode, split_code_lines
from moot.whiteboard.code_listing import (
    CodeLine,
    CodeListing,
    create_listing,
    edit_listing,
    find_edit_problem,
)
from tests.support.whiteboard_strategies import EDITS


def test_create_listing_numbers_lines_from_top() -> None:
    assert create_listing("a\n\nb") == CodeListing(
        (CodeLine("L1", "a"), CodeLine("L2", ""), CodeLine("L3", "b")), named=3
    )


def test_lines_of_splits_any_line_ending() -> None:
    assert split_code_lines("a\r\nb\rc\n") == ["a", "b", "c"]


def test_edit_listing_accepts_single_line_id() -> None:
    edit = EditCode(element_id="code-1", operation="delete_lines", line_id="L1")
    assert edit_listing(create_listing("a\nb"), edit).lines == (CodeLine("L2", "b"),)


def test_insertion_goes_outside_of_selected_lines() -> None:
    after = EditCode(element_id="c", operation="insert_after", line_ids=("L1", "L2"), content="x")
    before = EditCode(element_id="c", operation="insert_before", line_ids=("L1", "L2"), content="x")
    assert [line.text for line in edit_listing(create_listing("a\nb"), after).lines] == ["a", "b", "x"]
    assert [line.text for line in edit_listing(create_listing("a\nb"), before).lines] == ["x", "a", "b"]


def test_find_edit_problem_returns_none_for_valid_edit() -> None:
    assert (
        find_edit_problem(create_listing("a"), EditCode(element_id="c", operation="delete_lines", line_id="L1")) is None
    )


@given(st.lists(EDITS, max_size=20))
def test_edits_keep_line_ids_unique_and_lines_limited(edits: list[EditCode]) -> None:
    listing = create_listing("a\nb\nc")
    for edit in edits:
        before = {line.id for line in listing.lines}
        named = listing.named
        listing = edit_listing(listing, edit)
        new = {line.id for line in listing.lines} - before
        assert all(int(id.removeprefix("L")) > named for id in new)
        assert len({line.id for line in listing.lines}) == len(listing.lines) <= MAX_CODE_LINES


@pytest.mark.parametrize("code", ["x\r\n" * 150, "x\n" * MAX_CODE_LINES])
def test_line_limit_counts_displayed_lines(code: str) -> None:
    drawing = parse_action("wb_draw_code", {"code": code, "x": 0, "y": 0}, None)
    assert isinstance(drawing, DrawCode)
    assert len(create_listing(drawing.code).lines) <= MAX_CODE_LINES
