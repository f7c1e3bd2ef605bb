"""A lesson in the terminal: speech and actions on standard output, the director on standard error."""

from io import StringIO

from inline_snapshot import snapshot

from moot.terminal.readers import LessonReader
from moot.types.actions import Action
from moot.types.drawing import ClearWhiteboard, DrawText
from moot.types.events import ActionRejected, ActionTaken, Event, RunStarted, SpeakerSelected
from moot.types.participants import Participant
from tests.support.run_events import (
    CONNECTION_BROKE,
    HOSTILE_TEXT,
    STRIPPED_TEXT,
    notice_event,
    text_delta,
    turn_ended,
    turn_started,
)

LESSON_STARTED = RunStarted(
    participants=(
        Participant("mira", "Mira", "a/one", role="teacher"),
        Participant("tom", "Tom", "b/two", role="student"),
        Participant("li", "Li", "b/two"),
    )
)


def speaker_selected(next: str, reason: str = "So it is.") -> Event:
    return SpeakerSelected(cache_key="b", turn=0, next=next, reason=reason)


def action_taken(participant: str, action: Action) -> Event:
    return ActionTaken(participant=participant, stage="answer", round=0, id="act_1", action=action)


def action_rejected(participant: str, name: str, reason: str) -> Event:
    return ActionRejected(participant=participant, stage="answer", round=0, name=name, reason=reason)


def print_lesson(*events: Event) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    reader = LessonReader(out, err)
    for event in events:
        reader([event])
    reader.close()
    return out.getvalue(), err.getvalue()


def test_speech_and_actions_are_printed_in_order() -> None:
    out, err = print_lesson(
        LESSON_STARTED,
        speaker_selected("mira", "Selected as the first speaker."),
        turn_started("mira"),
        action_taken("mira", DrawText(content="1 + 3", x=1, y=1, element_id="sum")),
        text_delta("mira", "Look "),
        text_delta("mira", "at this."),
        action_taken("mira", ClearWhiteboard()),
        text_delta("mira", " Now go on."),
        action_rejected("mira", "wb_dance", "There is no such action."),
        turn_ended("mira", "Look at this. Now go on."),
        speaker_selected("USER", "Do you see it?"),
    )
    assert out == snapshot("""\
=== Mira (teacher) · a/one ===
[wb_draw_text sum]
Look at this.
[wb_clear]
Now go on.

""")
    assert err == snapshot("""\
moot: Mira (teacher) speaks next. Selected as the first speaker.
moot: wb_dance was rejected: There is no such action.
moot: You speak next. Do you see it?
""")


def test_end_is_announced_and_missing_role_is_omitted() -> None:
    _, err = print_lesson(LESSON_STARTED, speaker_selected("li"), speaker_selected("END", "All 3 turns were taken."))
    assert err == snapshot("""\
moot: Li speaks next. So it is.
moot: The lesson is over. All 3 turns were taken.
""")


def test_partial_turn_prints_ending_line() -> None:
    out, _ = print_lesson(
        LESSON_STARTED,
        turn_started("tom", "b/two"),
        text_delta("tom", "I th"),
        turn_ended("tom", "I th", status="partial", error=CONNECTION_BROKE),
    )
    assert out == snapshot("""\
=== Tom (student) · b/two ===
I th
[partial: The connection broke. The partial answer is above.]

""")


def test_notice_starts_new_line() -> None:
    out, err = print_lesson(
        LESSON_STARTED,
        turn_started("tom"),
        text_delta("tom", "One"),
        notice_event("Trying again.", "tom"),
        text_delta("tom", "Two"),
    )
    assert out == "=== Tom (student) · a/one ===\nOne\nTwo\n"
    assert "Trying again." in err


def test_control_characters_are_removed() -> None:
    out, err = print_lesson(
        LESSON_STARTED,
        speaker_selected("mira", HOSTILE_TEXT),
        turn_started("mira"),
        text_delta("mira", HOSTILE_TEXT),
        action_rejected("mira", HOSTILE_TEXT, HOSTILE_TEXT),
    )
    assert "\x1b" not in out + err
    assert STRIPPED_TEXT in out
    assert STRIPPED_TEXT in err


def test_event_batch_prints_same_as_single_events() -> None:
    events = [
        LESSON_STARTED,
        speaker_selected("mira"),
        turn_started("mira"),
        text_delta("mira", "Yes."),
        turn_ended("mira", "Yes."),
    ]
    out = StringIO()
    reader = LessonReader(out, StringIO())
    reader(events)
    reader.close()
    assert out.getvalue() == print_lesson(*events)[0]
