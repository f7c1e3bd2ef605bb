"""A lesson in the terminal: words and deeds on standard output, the director beside it."""

from io import StringIO

from inline_snapshot import snapshot

from moot.terminal.lesson import LessonReader
from moot.types.actions import Action
from moot.types.drawing import Clear, DrawText
from moot.types.events import ActionDropped, ActionTaken, Decided, Event, RunStarted
from moot.types.participants import Participant
from tests.terminal.dialogue import BROKE, HARMLESS, HOSTILE, begins, ends, notice, says

CLASS = RunStarted(
    participants=(
        Participant("mira", "Mira", "a/one", role="teacher"),
        Participant("tom", "Tom", "b/two", role="student"),
        Participant("li", "Li", "b/two"),
    )
)


def decides(next: str, reason: str = "So it is.") -> Event:
    return Decided(basis="b", turn=0, next=next, reason=reason)


def does(who: str, action: Action) -> Event:
    return ActionTaken(participant=who, stage="answer", round=0, id="act_1", action=action)


def drops(who: str, name: str, reason: str) -> Event:
    return ActionDropped(participant=who, stage="answer", round=0, name=name, reason=reason)


def read(*events: Event) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    reader = LessonReader(out, err)
    for event in events:
        reader([event])
    reader.close()
    return out.getvalue(), err.getvalue()


def test_who_speaks_what_is_said_and_done_stand_in_their_order() -> None:
    out, err = read(
        CLASS,
        decides("mira", "Chosen to begin."),
        begins("mira"),
        does("mira", DrawText(content="1 + 3", x=1, y=1, element_id="sum")),
        says("mira", "Look "),
        says("mira", "at this."),
        does("mira", Clear()),
        says("mira", " Now go on."),
        drops("mira", "wb_dance", "There is no such action."),
        ends("mira", "Look at this. Now go on."),
        decides("USER", "Do you see it?"),
    )
    assert out == snapshot("""\
=== Mira (teacher) · a/one ===
[wb_draw_text sum]
Look at this.
[wb_clear]
Now go on.

""")
    assert err == snapshot("""\
moot: Mira (teacher) has the word. Chosen to begin.
moot: wb_dance was left out: There is no such action.
moot: You have the word. Do you see it?
""")


def test_the_end_is_told_and_who_has_no_role_has_only_a_name() -> None:
    _, err = read(CLASS, decides("li"), decides("END", "All 3 turns were taken."))
    assert err == snapshot("""\
moot: Li has the word. So it is.
moot: It is over. All 3 turns were taken.
""")


def test_a_turn_that_breaks_off_says_so() -> None:
    out, _ = read(
        CLASS,
        begins("tom", "b/two"),
        says("tom", "I th"),
        ends("tom", "I th", status="partial", trouble=BROKE),
    )
    assert out == snapshot("""\
=== Tom (student) · b/two ===
I th
[partial: The connection broke. What came is kept above.]

""")


def test_a_notice_does_not_stand_in_the_middle_of_a_line() -> None:
    out, err = read(
        CLASS, begins("tom"), says("tom", "One"), notice("Trying again.", "tom"), says("tom", "Two")
    )
    assert out == "=== Tom (student) · a/one ===\nOne\nTwo\n"
    assert "Trying again." in err


def test_nothing_that_is_said_or_named_can_move_the_cursor() -> None:
    out, err = read(
        CLASS,
        decides("mira", HOSTILE),
        begins("mira"),
        says("mira", HOSTILE),
        drops("mira", HOSTILE, HOSTILE),
    )
    assert "\x1b" not in out + err
    assert HARMLESS in out
    assert HARMLESS in err


def test_all_events_at_once_read_like_one_after_the_other() -> None:
    events = [CLASS, decides("mira"), begins("mira"), says("mira", "Yes."), ends("mira", "Yes.")]
    out = StringIO()
    reader = LessonReader(out, StringIO())
    reader(events)
    reader.close()
    assert out.getvalue() == read(*events)[0]
