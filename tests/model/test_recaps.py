import pytest

from moot.model.recaps import Recap


@pytest.mark.parametrize(
    ("covered", "now", "covers"),
    [(4, 5, True), (4, 6, False), (8, 10, True), (7, 10, False), (3, 2, True), (0, 0, True), (12, 15, True)],
)
def test_a_recap_counts_while_it_covers_four_of_five_messages(covered: int, now: int, covers: bool) -> None:
    recap = Recap(id="r", discussion="d", points=(), messages=covered, model="a/b", created_at=0.0)
    assert recap.still_covers(now) == covers
