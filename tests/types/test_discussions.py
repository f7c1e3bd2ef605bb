from typing import get_args

import msgspec
import pytest

from moot.types.chunks import Usage
from moot.types.discussions import (
    LIVE_STATUSES,
    Activity,
    Discussion,
    DiscussionChanged,
    DiscussionDeleted,
    DiscussionEvent,
    Message,
    Run,
)
from moot.types.events import RunStatus
from moot.types.faults import make_fault
from moot.types.participants import make_participants

DISCUSSION = Discussion(
    id="dis_1",
    title="Tables",
    status="active",
    mode="consensus",
    participants=make_participants(("a/one", "b/two")),
    rounds=2,
    persona=None,
    project="pro_1",
    language="de",
    model=None,
    summary=None,
    usefulness=0.5,
    exported_at=None,
    created_at=1.0,
    updated_at=2.0,
)
MESSAGE = Message(
    id="msg_1",
    discussion="dis_1",
    role="assistant",
    content="Rou",
    seq=7,
    run="run_1",
    participant="beta",
    name="Beta",
    stage="round",
    round=1,
    status="partial",
    provider="b",
    model="b/two",
    usage=Usage(1, 2),
    cost_usd=0.1,
    fault=make_fault("network", "The connection broke."),
    visible_to=("beta",),
    view="everything",
    visible_until=6,
    created_at=3.0,
)
RUN = Run(id="run_1", discussion="dis_1", message=None, mode="continue", status="waiting", created_at=1.0)
SAMPLE_EVENTS: tuple[DiscussionEvent, ...] = (
    Activity((RUN,)),
    Activity(()),
    DiscussionChanged(DISCUSSION, (RUN,)),
    DiscussionDeleted("dis_1"),
)


@pytest.mark.parametrize("value", [DISCUSSION, MESSAGE, RUN], ids=lambda value: type(value).__name__)
def test_discussion_message_and_run_survive_json_round_trip(value: msgspec.Struct) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


@pytest.mark.parametrize(
    ("field", "value"), [("role", "narrator"), ("status", "lost"), ("visible_to", "beta"), ("seq", "7")]
)
def test_message_with_invalid_field_is_rejected(field: str, value: str) -> None:
    data = msgspec.to_builtins(MESSAGE) | {field: value}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(data, Message)


def test_message_is_completed_and_visible_to_all_by_default() -> None:
    message = Message(id="msg_1", discussion="dis_1", role="user", content="Why?")
    assert (message.status, message.visible_to, message.hidden) == ("completed", None, False)


def test_live_statuses_exclude_final_run_statuses() -> None:
    assert set(LIVE_STATUSES).isdisjoint(get_args(RunStatus))
    assert RUN.status in LIVE_STATUSES


@pytest.mark.parametrize("change", SAMPLE_EVENTS, ids=lambda change: type(change).__name__)
def test_discussion_event_survives_json_round_trip(change: DiscussionEvent) -> None:
    assert msgspec.json.decode(msgspec.json.encode(change), type=DiscussionEvent) == change


def test_discussion_event_tags_match_expected_names() -> None:
    assert [msgspec.to_builtins(change)["type"] for change in SAMPLE_EVENTS] == [
        "activity",
        "activity",
        "discussion_changed",
        "discussion_deleted",
    ]


def test_discussion_deleted_event_has_only_id() -> None:
    assert msgspec.json.encode(DiscussionDeleted("dis_1")) == b'{"type":"discussion_deleted","id":"dis_1"}'


def test_discussion_event_with_unknown_tag_is_rejected() -> None:
    with pytest.raises(msgspec.ValidationError, match="'discussion_lost'"):
        msgspec.json.decode(b'{"type":"discussion_lost","id":"dis_1"}', type=DiscussionEvent)
