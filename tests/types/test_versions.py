"""Each turn shows one version, at the position of the first."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.versions import (
    apply_version,
    current_version,
    current_versions,
    list_versions,
    turns_with_versions,
    valid_versions,
)

FIRST = Message(
    id="msg_1",
    discussion="dis_1",
    run="run_1",
    role="assistant",
    content="One.",
    seq=5,
    participant="alpha",
    stage="answer",
    model="a/one",
    usage=Usage(1, 2),
    thread="alpha",
    visible_to=("alpha",),
    files=("file_1",),
    view="blind",
    visible_until=4,
    created_at=1.0,
)
REGENERATED = replace(
    FIRST,
    id="msg_2",
    run="run_2",
    content="Two.",
    seq=9,
    model="a/two",
    version_of="msg_1",
    created_at=2.0,
)
EDITED = replace(FIRST, id="msg_3", run=None, content="Three.", seq=11, usage=None, version_of="msg_1", created_at=3.0)
RESELECTED = replace(FIRST, id="msg_4", run=None, seq=12, version_of="msg_1", copy_of="msg_1", created_at=4.0)


def test_message_with_one_version_is_unchanged() -> None:
    assert current_version([FIRST]) is FIRST
    assert current_versions([FIRST]) == (FIRST,)


def test_current_version_keeps_position_of_first_and_text_of_newest() -> None:
    (now,) = current_versions([FIRST, EDITED, REGENERATED])
    assert (now.id, now.seq, now.run, now.created_at) == ("msg_1", 5, "run_1", 1.0)
    assert (now.content, now.usage, now.view, now.files) == ("Three.", None, "blind", ("file_1",))
    assert (now.version, now.versions, now.version_id, now.revised_seq) == (3, 3, "msg_3", 11)
    assert (now.edited, now.version_of) == (True, None)


def test_reselected_version_keeps_its_own_number() -> None:
    now = current_version([FIRST, REGENERATED, EDITED, RESELECTED])
    assert (now.content, now.version, now.versions, now.version_id) == ("One.", 1, 3, "msg_1")
    assert (now.revised_seq, now.edited) == (12, False)


def test_incomplete_attempt_is_no_version() -> None:
    failed = replace(REGENERATED, status="failed", content="")
    stopped = replace(REGENERATED, status="stopped", content="Tw")
    broken = replace(REGENERATED, status="partial", content="Tw")
    assert current_versions([FIRST, failed, stopped, broken]) == (FIRST,)


def test_incomplete_first_version_can_be_selected_again() -> None:
    first = replace(FIRST, status="partial")
    chosen = replace(RESELECTED, status="partial")
    assert (current_version(valid_versions([first, REGENERATED, chosen])).content, first.status) == (
        "One.",
        "partial",
    )


def test_apply_version_shows_any_version_at_position_of_first() -> None:
    turn = [FIRST, REGENERATED, EDITED]
    assert [apply_version(turn, one).content for one in turn] == ["One.", "Two.", "Three."]
    assert {apply_version(turn, one).id for one in turn} == {"msg_1"}


def test_list_versions_lists_each_version_once_by_own_id() -> None:
    found = list_versions([FIRST, REGENERATED, EDITED, RESELECTED])
    assert found.current == "msg_1"
    assert [(one.id, one.run, one.version, one.edited) for one in found.versions] == [
        ("msg_1", "run_1", 1, False),
        ("msg_2", "run_2", 2, False),
        ("msg_3", None, 3, True),
    ]
    assert [one.created_at for one in found.versions] == [1.0, 2.0, 3.0]


def test_versions_of_missing_message_are_omitted() -> None:
    assert current_versions([REGENERATED]) == ()
    other = replace(FIRST, id="msg_9", seq=6)
    assert current_versions([other, REGENERATED]) == (other,)


@given(st.permutations([FIRST, REGENERATED, EDITED, RESELECTED]))
def test_current_versions_do_not_depend_on_row_order(rows: list[Message]) -> None:
    assert current_versions(rows) == (current_version(valid_versions([FIRST, REGENERATED, EDITED, RESELECTED])),)


def test_turn_with_versions_has_all_other_versions() -> None:
    (turn,) = turns_with_versions([FIRST, REGENERATED, EDITED, RESELECTED])
    assert turn.current == current_version([FIRST, REGENERATED, EDITED, RESELECTED])
    assert [(one.id, one.content, one.version) for one in turn.other_versions] == [
        ("msg_2", "Two.", 2),
        ("msg_3", "Three.", 3),
    ]
    (alone,) = turns_with_versions([FIRST])
    assert alone.other_versions == ()
