import re

import pytest

from moot.server.event_cursors import (
    CURSOR_PATTERN,
    EventCursors,
    parse_event_cursors,
    parse_event_seq,
    resync_frame,
)
from moot.store.runs.event_log import RunProgress
from moot.types.errors import NotFound

RUN_PROGRESS = {"run_a": RunProgress(live=True, last_seq=7), "run_b": RunProgress(live=False, last_seq=3)}


def test_a_mark_is_a_run_and_the_number_of_the_last_event_of_it() -> None:
    assert parse_event_cursors([], RUN_PROGRESS) == EventCursors({}, ())
    assert parse_event_cursors(["run_a:0", "run_b:3"], RUN_PROGRESS) == EventCursors(
        {"run_a": 0, "run_b": 3}, ()
    )


def test_of_two_marks_for_one_run_the_last_counts() -> None:
    assert parse_event_cursors(["run_a:9", "run_a:5"], RUN_PROGRESS) == EventCursors({"run_a": 5}, ())


@pytest.mark.parametrize("never", ["8", "9" * 80])
def test_a_number_that_a_run_never_had_means_all_of_it(never: str) -> None:
    assert parse_event_cursors([f"run_a:{never}", "run_b:1"], RUN_PROGRESS) == EventCursors(
        {"run_a": 0, "run_b": 1}, ("run_a",)
    )


def test_a_run_of_another_discussion_is_not_there() -> None:
    with pytest.raises(NotFound, match="run_c"):
        parse_event_cursors(["run_a:1", "run_c:1"], RUN_PROGRESS)


def test_what_is_no_mark_is_told_by_its_pattern() -> None:
    assert all(re.search(CURSOR_PATTERN, right) for right in ("run_a:0", "run_01jcx:57"))
    for wrong in (
        "",
        "run_a",
        "run_a:",
        "run_a:-1",
        "run_a:x",
        ":1",
        "a:b:1",
        "run_a:1\n",
        "run_a:\u0663",
        " a:1",
    ):
        assert not re.search(CURSOR_PATTERN, wrong), wrong


def test_a_number_that_cannot_have_been_is_none() -> None:
    assert [parse_event_seq(text) for text in ("0", "57", "9" * 15)] == [0, 57, 10**15 - 1]
    assert [parse_event_seq(text) for text in ("", "-1", "x", "1.5", "9" * 16, "\u0663", "\u00b2")] == [
        None
    ] * 7


def test_a_resync_names_the_run() -> None:
    assert resync_frame("run_a") == b'event: resync\ndata: {"type":"resync","run":"run_a","after":0}\n\n'
