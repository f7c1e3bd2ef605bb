from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar import get
from litestar.testing import create_test_client
from msgspec import UNSET

from moot.modes import SELECTABLE_MODES
from moot.server.schemas import (
    DiscussionChange,
    DiscussionDraft,
    GoOn,
    NewMessage,
    PageCursor,
    PageLimit,
    StopWish,
    require_text,
)
from moot.types.errors import UsageError
from moot.types.modes import ModeName

NEW = {"message": "What is a moot?", "participants": ["scripted/echo"]}


def test_little_is_needed_to_open_a_discussion() -> None:
    new = msgspec.convert(NEW, DiscussionDraft)
    assert (new.mode, new.rounds, new.title, new.persona, new.model) == (None, 2, None, None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message", "x"),
        ("message", "x" * 10_000),
        ("title", "x" * 200),
        ("rounds", 1),
        ("rounds", 10),
        ("participants", ["scripted/echo"] * 24),
        ("participants", ["scripted/" + "x" * 191]),
        ("model", "scripted/" + "x" * 191),
        ("participants", [{"model": "scripted/echo", "temperature": 0, "max_tokens": 1, "thinking": "low"}]),
        ("language", "zh-Hant"),
        ("clerk", "scripted/echo"),
        ("files", ["file_1"] * 10),
    ],
)
def test_what_is_just_right_fits(field: str, value: Any) -> None:
    assert getattr(msgspec.convert(NEW | {field: value}, DiscussionDraft), field)


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        (DiscussionDraft, NEW | {"message": "x" * 10_001}),
        (DiscussionDraft, NEW | {"participants": ["scripted/echo"] * 25}),
        (DiscussionDraft, NEW | {"participants": [{"model": "scripted/echo", "key": "sk-1"}]}),
        (DiscussionDraft, NEW | {"participants": ["scripted/" + "x" * 192]}),
        (DiscussionDraft, NEW | {"participants": ["no-provider"]}),
        (DiscussionDraft, NEW | {"participants": [{"model": "scripted/" + "x" * 192}]}),
        (DiscussionDraft, NEW | {"participants": [{"model": "no-provider"}]}),
        (DiscussionDraft, NEW | {"model": "scripted/" + "x" * 192}),
        (DiscussionDraft, NEW | {"model": "no-provider"}),
        (DiscussionChange, {"model": "no-provider"}),
        (DiscussionDraft, NEW | {"clerk": "no-provider"}),
        (DiscussionDraft, NEW | {"files": ["file_1"] * 11}),
        (DiscussionDraft, NEW | {"files": [""]}),
        (DiscussionChange, {"files": ["file_1"]}),
        (NewMessage, {"message": "x", "files": ["file_1"] * 11}),
        (DiscussionChange, {"title": None}),
        (DiscussionChange, {"mode": None}),
        (DiscussionChange, {"participants": None}),
        (DiscussionChange, {"summary": "mine"}),
        (DiscussionChange, {"id": "dis_1"}),
        (NewMessage, {"message": "x", "to": []}),
        (NewMessage, {"message": "x", "role": "system"}),
        (GoOn, {"turns": 51}),
        (GoOn, {"turns": 0}),
        (GoOn, {"turns": "2"}),
        (StopWish, {"participant": ""}),
    ],
)
def test_what_does_not_fit_is_refused(type_: Any, body: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, type_)


def test_a_change_tells_what_is_left_out_from_what_is_taken_away() -> None:
    changes = msgspec.convert({"persona": None}, DiscussionChange)
    assert (changes.persona, changes.project) == (None, UNSET)


def test_every_mode_that_can_be_chosen_can_be_asked_for() -> None:
    assert set(get_args(ModeName)) == set(SELECTABLE_MODES)


@given(st.text())
def test_words_are_kept_as_they_are_unless_they_say_nothing(words: str) -> None:
    if words.strip():
        assert require_text(words) == words
    else:
        with pytest.raises(UsageError, match=r"^title: "):
            require_text(words, "title")


@get("/")
async def page(cursor: PageCursor = None, limit: PageLimit = 50) -> dict[str, Any]:
    return {"cursor": cursor, "limit": limit}


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("", {"cursor": None, "limit": 50}),
        ("?limit=1", {"cursor": None, "limit": 1}),
        ("?limit=100&cursor=project_01", {"cursor": "project_01", "limit": 100}),
        ("?cursor=WzEuNSwiZGlzX18xIl0-_A==", {"cursor": "WzEuNSwiZGlzX18xIl0-_A==", "limit": 50}),
    ],
)
def test_a_page_is_asked_for(query: str, seen: dict[str, Any]) -> None:
    with create_test_client([page]) as client:
        assert client.get(f"/{query}").json() == seen


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=101", "?limit=x", "?cursor=%00", "?cursor=", "?cursor=a%0A"]
)
def test_what_is_no_page_is_refused(query: str) -> None:
    with create_test_client([page]) as client:
        assert client.get(f"/{query}").status_code == 400
