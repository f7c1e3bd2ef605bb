import re
import time
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from moot.model.ids import new_id

SECONDS = st.integers(min_value=0, max_value=2**48 // 1000 - 1)


def made_at(seconds: float) -> str:
    with patch.object(time, "time", return_value=seconds):
        return new_id("run")


@given(SECONDS, SECONDS)
def test_ids_sort_by_the_time_they_were_made(one: int, other: int) -> None:
    earlier, later = sorted((one, other))
    assert later == earlier or made_at(earlier) < made_at(later)


def test_a_millisecond_is_enough_to_tell_two_apart() -> None:
    assert made_at(1.001) < made_at(1.002)


def test_ids_of_one_moment_differ() -> None:
    with patch.object(time, "time", return_value=1.0):
        assert len({new_id("run") for _ in range(1000)}) == 1000


def test_an_id_says_what_it_names_and_has_no_letter_that_looks_like_another() -> None:
    assert re.fullmatch(r"run_[0-9a-hjkmnp-tv-z]{26}", new_id("run"))
