from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.tasks.knowledge import SHORT_MESSAGE_CHARACTERS, project_material, transcript_material
from moot.types.discussions import Discussion, Message
from moot.types.knowledge import Insight
from moot.types.participants import make_participants


def make_message(index: int, content: str) -> Message:
    answer = index % 2
    return Message(
        id=f"msg_{index}",
        discussion="dis_1",
        role="assistant" if answer else "user",
        name="Alpha" if answer else None,
        content=content,
    )


def make_discussion(index: int, summary: str | None = "We met.") -> Discussion:
    return Discussion(
        id=f"dis_{index}",
        title=f"Table {index}",
        status="active",
        mode="single",
        participants=make_participants(("scripted/echo",)),
        rounds=2,
        persona=None,
        project="project_1",
        language="en",
        model=None,
        summary=summary,
        usefulness=0.5,
        exported_at=1.0,
        created_at=0.0,
        updated_at=0.0,
    )


def make_insight(index: int, discussion_id: str) -> Insight:
    return Insight(
        id=f"insight_{index}",
        discussion=discussion_id,
        project="project_1",
        kind="pain_point",
        title=f"It wobbles {index}",
        detail="On every\nold floor.",
        category="legs",
        suggestion="Use a wedge.",
        severity="high",
        answers_insight=None,
        messages=(),
        created_at=0.0,
    )


def make_messages(*contents: str) -> list[Message]:
    return [make_message(place, content) for place, content in enumerate(contents)]


def test_transcript_material_labels_each_message() -> None:
    written = transcript_material(make_messages("What is a moot?", "A meeting.\nOf all."), 10_000)
    assert written.text == snapshot(
        """\
[m1] The person:
What is a moot?

[m2] Alpha:
A meeting.
Of all.\
"""
    )
    assert written.sources == {"m1": "msg_0", "m2": "msg_1"}


def test_transcript_material_skips_system_failed_hidden_and_blank_messages() -> None:
    messages = make_messages("one", "two", "three", "four", "five")
    odd = [
        replace(messages[0], role="system"),
        replace(messages[1], status="failed"),
        replace(messages[2], hidden=True),
        replace(messages[3], content=" \n"),
        messages[4],
    ]
    assert transcript_material(odd, 10_000).text == "[m1] The person:\nfive"
    assert transcript_material(odd[:4], 10_000).sources == {}


def test_transcript_material_labels_synthesis() -> None:
    synthesis = replace(make_message(0, "All agree."), role="synthesis")
    assert transcript_material([synthesis], 10_000).text == "[m1] Synthesis:\nAll agree."


def test_transcript_material_shortens_oldest_messages_first_with_note() -> None:
    written = transcript_material(make_messages("a" * 1000, "b" * 1000, "c" * 1000), 2500)
    first, *_ = written.text.split("\n\n")
    assert first == snapshot("This discussion is long. Older messages are shortened: those end in ….")
    assert "a" * SHORT_MESSAGE_CHARACTERS not in written.text
    assert "…" in written.text.split("\n\n")[1]
    assert "b" * 1000 in written.text
    assert "c" * 1000 in written.text
    assert set(written.sources) == {"m1", "m2", "m3"}


def test_transcript_material_omits_oldest_messages_and_labels_when_too_long() -> None:
    written = transcript_material(make_messages(*["x" * 1000] * 50), 5000)
    assert written.text.split("\n\n")[0] == snapshot(
        "This discussion is long. What was said before m34 is left out. Older messages are shortened: those end in …."
    )
    assert "m50" in written.sources
    assert "m1" not in written.sources
    assert "[m1]" not in written.text


def test_transcript_material_truncates_single_long_message() -> None:
    written = transcript_material(make_messages("x" * 100_000), 2000)
    assert len(written.text) < 2200
    assert written.sources == {"m1": "msg_0"}


@given(st.lists(st.integers(1, 3000), max_size=40), st.integers(1000, 20_000))
def test_transcript_material_fits_limit_and_keeps_newest_messages(sizes: Sequence[int], max_chars: int) -> None:
    written = transcript_material(make_messages(*("x" * size for size in sizes)), max_chars)
    assert len(written.text) <= max_chars + 200
    labels = [f"m{place}" for place in range(1, len(sizes) + 1)]
    assert list(written.sources) == labels[len(labels) - len(written.sources) :]
    assert bool(written.sources) == bool(sizes)
    assert all(f"[{label}]" in written.text for label in written.sources)


def test_project_material_lists_discussions_and_insights_newest_first() -> None:
    discussions = [make_discussion(2), make_discussion(1, None)]
    insights = [make_insight(3, "dis_2"), replace(make_insight(2, "dis_9"), severity=None, suggestion=None)]
    assert project_material(discussions, insights, 10_000) == snapshot("""\
Discussions, newest first:
d1 Table 2: We met.
d2 Table 1

Insights, newest first:
- (pain_point, high; legs; d1) It wobbles 3: On every old floor. Suggested: Use a wedge.
- (pain_point; legs; an earlier discussion) It wobbles 2: On every old floor.\
""")


def test_project_material_omits_oldest_entries_with_note_when_too_long() -> None:
    discussions = [make_discussion(place, "word " * 500) for place in range(50)]
    insights = [make_insight(place, f"dis_{place}") for place in range(200)]
    written = project_material(discussions, insights, 8000)
    assert len(written) < 8500
    assert written.splitlines()[-1] == snapshot(
        "46 older discussions and 141 older insights are left out for want of room."
    )
    assert "It wobbles 0" in written
