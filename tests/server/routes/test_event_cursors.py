import re

import pytest

from moot.server.routes.events import parse_event_cursors
from moot.server.sse import parse_event_seq, resync_frame
from moot.store.runs.event_log import RunProgress
from moot.types.errors import NotFound
from moot.types.primitives import EVENT_CURSOR_PATTERN

RUN_PROGRESS = {"run_a": RunProgress(live=True, last_seq=7), "run_b": RunProgress(live=False, last_seq=3)}


def test_event_cursor_is_run_and_last_event_seq() -> None:
    assert parse_event_cursors([], RUN_PROGRESS) == ({}, [])
    assert parse_event_cursors(["run_a:0", "run_b:3"], RUN_PROGRESS) == ({"run_a": 0, "run_b": 3}, [])


def test_last_cursor_for_run_wins() -> None:
    assert parse_event_cursors(["run_a:9", "run_a:5"], RUN_PROGRESS) == ({"run_a": 5}, [])


@pytest.mark.parametrize("never", ["8", "9" * 80])
def test_cursor_beyond_last_event_resets_run(never: str) -> None:
    assert parse_event_cursors([f"run_a:{never}", "run_b:1"], RUN_PROGRESS) == ({"run_a": 0, "run_b": 1}, ["run_a"])


def test_cursor_for_run_of_other_discussion_is_not_found() -> None:
    with pytest.raises(NotFound, match="run_c"):
        parse_event_cursors(["run_a:1", "run_c:1"], RUN_PROGRESS)


def test_cursor_pattern_matches_only_valid_cursors() -> None:
    assert all(re.search(EVENT_CURSOR_PATTERN, right) for right in ("run_a:0", "run_01jcx:57"))
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
        assert not re.search(EVENT_CURSOR_PATTERN, wrong), wrong


def test_parse_event_seq_returns_none_for_invalid_numbers() -> None:
    assert [parse_event_seq(text) for text in ("0", "57", "9" * 15)] == [0, 57, 10**15 - 1]
    assert [parse_event_seq(text) for text in ("", "-1", "x", "1.5", "9" * 16, "\u0663", "\u00b2")] == [None] * 7


def test_resync_frame_names_run() -> None:
    assert resync_frame("run_a") == b'event: resync\ndata: {"type":"resync","run":"run_a","after":0}\n\n'
