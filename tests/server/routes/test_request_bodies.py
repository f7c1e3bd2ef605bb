from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar import get
from litestar.testing import create_test_client
from msgspec import UNSET

from moot.server.requests import PageCursor, PageLimit
from moot.server.routes.discussions import ContinueRequest, MessageDraft
from moot.server.routes.runs import StopRequest
from moot.services.run_plans import DiscussionChange, DiscussionDraft, require_text
from moot.types.errors import UsageError

MINIMAL_DRAFT = {"message": "What is a moot?", "participants": ["scripted/echo"]}


def test_discussion_draft_has_defaults() -> None:
    new = msgspec.convert(MINIMAL_DRAFT, DiscussionDraft)
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
        ("task_model", "scripted/echo"),
        ("files", ["file_1"] * 10),
    ],
)
def test_discussion_draft_accepts_values_at_limits(field: str, value: Any) -> None:
    assert getattr(msgspec.convert(MINIMAL_DRAFT | {field: value}, DiscussionDraft), field)


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        (DiscussionDraft, MINIMAL_DRAFT | {"message": "x" * 10_001}),
        (DiscussionDraft, MINIMAL_DRAFT | {"participants": ["scripted/echo"] * 25}),
        (DiscussionDraft, MINIMAL_DRAFT | {"participants": [{"model": "scripted/echo", "key": "sk-1"}]}),
        (DiscussionDraft, MINIMAL_DRAFT | {"participants": ["scripted/" + "x" * 192]}),
        (DiscussionDraft, MINIMAL_DRAFT | {"participants": ["no-provider"]}),
        (DiscussionDraft, MINIMAL_DRAFT | {"participants": [{"model": "scripted/" + "x" * 192}]}),
        (DiscussionDraft, MINIMAL_DRAFT | {"participants": [{"model": "no-provider"}]}),
        (DiscussionDraft, MINIMAL_DRAFT | {"model": "scripted/" + "x" * 192}),
        (DiscussionDraft, MINIMAL_DRAFT | {"model": "no-provider"}),
        (DiscussionChange, {"model": "no-provider"}),
        (DiscussionDraft, MINIMAL_DRAFT | {"task_model": "no-provider"}),
        (DiscussionDraft, MINIMAL_DRAFT | {"files": ["file_1"] * 11}),
        (DiscussionDraft, MINIMAL_DRAFT | {"files": [""]}),
        (DiscussionChange, {"files": ["file_1"]}),
        (MessageDraft, {"message": "x", "files": ["file_1"] * 11}),
        (DiscussionChange, {"title": None}),
        (DiscussionChange, {"mode": None}),
        (DiscussionChange, {"participants": None}),
        (DiscussionChange, {"summary": "mine"}),
        (DiscussionChange, {"id": "dis_1"}),
        (MessageDraft, {"message": "x", "to": []}),
        (MessageDraft, {"message": "x", "role": "system"}),
        (ContinueRequest, {"turns": 51}),
        (ContinueRequest, {"turns": 0}),
        (ContinueRequest, {"turns": "2"}),
        (StopRequest, {"participant": ""}),
    ],
)
def test_schemas_reject_invalid_values(type_: Any, body: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, type_)


def test_discussion_change_distinguishes_unset_from_null() -> None:
    changes = msgspec.convert({"persona": None}, DiscussionChange)
    assert (changes.persona, changes.project) == (None, UNSET)


@given(st.text())
def test_require_text_returns_text_unless_blank(words: str) -> None:
    if words.strip():
        assert require_text(words) == words
    else:
        with pytest.raises(UsageError, match=r"^title: "):
            require_text(words, "title")


@get("/")
async def get_page(cursor: PageCursor = None, limit: PageLimit = 50) -> dict[str, Any]:
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
def test_page_query_parses_cursor_and_limit(query: str, seen: dict[str, Any]) -> None:
    with create_test_client([get_page]) as client:
        assert client.get(f"/{query}").json() == seen


@pytest.mark.parametrize("query", ["?limit=0", "?limit=101", "?limit=x", "?cursor=%00", "?cursor=", "?cursor=a%0A"])
def test_page_query_rejects_invalid_cursor_and_limit(query: str) -> None:
    with create_test_client([get_page]) as client:
        assert client.get(f"/{query}").status_code == 400
