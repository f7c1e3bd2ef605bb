import msgspec
import pytest

from moot.types.discussion_events import Activity, DiscussionChanged, DiscussionDeleted, DiscussionEvent
from moot.types.discussions import Discussion, Run
from moot.types.participants import make_participants

DISCUSSION = Discussion(
    id="dis_1",
    title="Tables",
    status="archived",
    mode="parallel",
    participants=make_participants(("a/one", "a/one")),
    rounds=2,
    persona=None,
    project=None,
    language="en",
    model=None,
    summary=None,
    usefulness=None,
    exported_at=None,
    created_at=1.0,
    updated_at=2.0,
)
RUN = Run(id="run_1", discussion="dis_1", message="msg_1", mode="parallel", status="running", created_at=1.0)
SAMPLE_EVENTS: tuple[DiscussionEvent, ...] = (
    Activity((RUN,)),
    Activity(()),
    DiscussionChanged(DISCUSSION, (RUN,)),
    DiscussionDeleted("dis_1"),
)


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
