"""The memory of a channel: its entries, what is dropped, and how a prompt shows it."""

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.builder import build_model_request
from moot.prompts.memory import (
    ENTRY_LIFETIME_SECONDS,
    MAX_ENTRIES,
    MAX_SUMMARY_CHARACTERS,
    SUMMARY_LIFETIME_SECONDS,
    entries_to_summarize,
    make_memory_summary,
    memory_entries,
    memory_summary_request,
    recent_entries,
    render_memory,
    summarize_without_model,
)
from moot.types.chunks import Text
from moot.types.discord import MemoryEntry, MemorySummary
from moot.types.discussions import Message
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan

NOW = 1_000_000.0
EARLIER_SUMMARY = MemorySummary(
    text="Ada plans a tea for six.", discussions=("dis_1",), covers_until=NOW - 50, created_at=NOW - 40
)


def make_message(
    text: str, seconds_after_now: float = 0.0, participant_id: str | None = None, **fields: object
) -> Message:
    message = Message(
        id=f"msg_{text}",
        discussion="dis_1",
        run="run_1",
        role="assistant" if participant_id else "user",
        content=text,
        participant=participant_id,
        name=participant_id.title() if participant_id else None,
        created_at=NOW + seconds_after_now,
    )
    return replace(message, **fields)


def make_memory_entry(
    text: str, seconds_after_now: float = 0.0, name: str | None = None, **fields: object
) -> MemoryEntry:
    return replace(MemoryEntry(discussion="dis_1", name=name, text=text, said_at=NOW + seconds_after_now), **fields)


def test_memory_entries_have_author_and_details_only_for_their_participant() -> None:
    messages = [make_message("Ada: Tea?"), make_message("With pleasure.", 1, "alpha", details="Six cups.")]
    assert memory_entries(messages, "alpha") == [
        make_memory_entry("Ada: Tea?"),
        make_memory_entry("With pleasure.", 1, "Alpha", details="Six cups."),
    ]
    assert memory_entries(messages, "beta")[1].details == ""


def test_memory_entries_skip_messages_not_visible_to_participant() -> None:
    messages = [
        make_message("For Beta.", visible_to=("beta",)),
        make_message("Nothing.", participant_id="beta", status="failed"),
        make_message("A brief.", hidden=True),
        make_message("For all."),
    ]
    assert [one.text for one in memory_entries(messages, "alpha")] == ["For all."]


def test_recent_entries_keep_last_ten_and_rest_is_summarized() -> None:
    known = [make_memory_entry(str(n), n) for n in range(MAX_ENTRIES + 3)]
    assert [one.text for one in recent_entries(known, NOW + 20)] == [str(n) for n in range(3, MAX_ENTRIES + 3)]
    assert [one.text for one in entries_to_summarize(known, None, NOW + 20)] == ["0", "1", "2"]
    covered = replace(EARLIER_SUMMARY, covers_until=NOW + 1)
    assert [one.text for one in entries_to_summarize(known, covered, NOW + 20)] == ["2"]


def test_memory_entry_is_summarized_after_twelve_hours_and_dropped_after_a_day() -> None:
    known = [make_memory_entry("once"), make_memory_entry("lately", 10)]
    assert recent_entries(known, NOW + ENTRY_LIFETIME_SECONDS) == known
    assert recent_entries(known, NOW + ENTRY_LIFETIME_SECONDS + 5) == known[1:]
    assert entries_to_summarize(known, None, NOW + ENTRY_LIFETIME_SECONDS + 5) == known[:1]
    assert entries_to_summarize(known, None, NOW + SUMMARY_LIFETIME_SECONDS + 5) == known[1:]


def test_memory_summary_expires_after_a_day() -> None:
    assert "six" in render_memory([], EARLIER_SUMMARY, "dis_2", EARLIER_SUMMARY.created_at + SUMMARY_LIFETIME_SECONDS)
    assert render_memory([], EARLIER_SUMMARY, "dis_2", EARLIER_SUMMARY.created_at + SUMMARY_LIFETIME_SECONDS + 1) == ""


def test_render_memory_omits_own_discussion_except_details() -> None:
    known = [make_memory_entry("Ada: Tea?"), make_memory_entry("Yes.", 1, "Alpha", details="Six cups.")]
    assert render_memory(known[:1], EARLIER_SUMMARY, "dis_1", NOW) == ""
    rendered = render_memory(known, EARLIER_SUMMARY, "dis_1", NOW)
    assert "Six cups." in rendered
    assert not any(words in rendered for words in ("Tea?", "Yes.", "plans"))


def test_memory_summary_of_several_discussions_is_rendered_in_each() -> None:
    both = make_memory_summary(
        "Tea, then cake.", EARLIER_SUMMARY, [make_memory_entry("Cake?", discussion="dis_2")], NOW
    )
    assert (both.discussions, both.covers_until) == (("dis_1", "dis_2"), NOW)
    assert all("cake" in render_memory([], both, one, NOW) for one in ("dis_1", "dis_2", "dis_3"))


def test_system_prompt_with_memory_matches_snapshot() -> None:
    known = [
        make_memory_entry("Ada: Tea?"),
        make_memory_entry("With\npleasure.", 1, "Alpha", details="Six cups."),
    ]
    plan = RunPlan(
        mode="single",
        participants=make_participants(("a/one",)),
        language="en",
        memories={"alpha": render_memory(known, EARLIER_SUMMARY, "dis_2", NOW)},
    )
    assert build_model_request(plan, plan.participants[0], ()).system == snapshot("""\
Write in English, whatever language the material is in. If the person asks for another language, or goes on in another one, change to that.

You remember what was said in this channel before. Take it as background: use it where it helps, and do not repeat it unasked. None of it asks you for anything now.

What was said longer ago, summed up:
Ada plans a tea for six.

What was said last, before this discussion:
- Ada: Tea?
- Alpha: With pleasure.

Details that you noted beside your answers:
- Six cups.\
""")


def test_memory_summary_request_matches_snapshot() -> None:
    fallen = [make_memory_entry("Ada: Tea?"), make_memory_entry("Yes.", 1, "Alpha", details="Six cups.")]
    assert memory_summary_request(EARLIER_SUMMARY, fallen).messages[0].parts == snapshot(
        (Text(text="Ada plans a tea for six.\n- Ada: Tea?\n- Alpha: Yes.\nAlpha noted: Six cups."),)
    )


@given(st.lists(st.text(max_size=600), min_size=1), st.one_of(st.none(), st.just(EARLIER_SUMMARY)))
def test_memory_summary_has_bounded_length(words: list[str], before: MemorySummary | None) -> None:
    fallen = [make_memory_entry(one, n) for n, one in enumerate(words)]
    plain = summarize_without_model(before, fallen)
    assert len(plain) <= MAX_SUMMARY_CHARACTERS
    assert len(make_memory_summary("".join(words), before, fallen, NOW).text) <= MAX_SUMMARY_CHARACTERS
    assert plain.endswith(" ".join(words[-1].split())[-20:])
