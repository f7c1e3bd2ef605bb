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
def test_whoever_reads_a_change_knows_its_kind(change: DiscussionEvent) -> None:
    assert msgspec.json.decode(msgspec.json.encode(change), type=DiscussionEvent) == change


def test_the_kinds_have_names() -> None:
    assert [msgspec.to_builtins(change)["type"] for change in SAMPLE_EVENTS] == [
        "activity",
        "activity",
        "discussion_changed",
        "discussion_deleted",
    ]


def test_of_what_is_gone_only_the_id_is_told() -> None:
    assert msgspec.json.encode(DiscussionDeleted("dis_1")) == b'{"type":"discussion_deleted","id":"dis_1"}'


def test_a_change_of_no_known_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="'discussion_lost'"):
        msgspec.json.decode(b'{"type":"discussion_lost","id":"dis_1"}', type=DiscussionEvent)
