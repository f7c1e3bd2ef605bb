"""What is remembered of a channel, what falls out, and what a prompt says of it."""

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.builder import system_prompt
from moot.prompts.memory import (
    LASTS,
    LONGEST_SUMMARY,
    MOST,
    SUMMARY_LASTS,
    fallen_out,
    heard,
    plainly,
    recalled,
    recent,
    summary_of,
    summing_up,
)
from moot.types.chunks import Text
from moot.types.discord import Remembered, Summary
from moot.types.discussions import Message
from moot.types.participants import seat
from moot.types.run_plan import Plan

NOW = 1_000_000.0
BEFORE = Summary(words="Ada plans a tea for six.", discussions=("dis_1",), upto=NOW - 50, created_at=NOW - 40)


def said(words: str, at: float = 0.0, who: str | None = None, **more: object) -> Message:
    message = Message(
        id=f"msg_{words}",
        discussion="dis_1",
        run="run_1",
        role="assistant" if who else "user",
        content=words,
        participant=who,
        name=who.title() if who else None,
        created_at=NOW + at,
    )
    return replace(message, **more)


def remembered(words: str, at: float = 0.0, name: str | None = None, **more: object) -> Remembered:
    return replace(Remembered(discussion="dis_1", name=name, words=words, at=NOW + at), **more)


def test_words_are_remembered_with_who_said_them_and_details_by_whoever_noted_them() -> None:
    told = [said("Ada: Tea?"), said("With pleasure.", 1, "alpha", details="Six cups.")]
    assert heard(told, "alpha") == [
        remembered("Ada: Tea?"),
        remembered("With pleasure.", 1, "Alpha", details="Six cups."),
    ]
    assert heard(told, "beta")[1].details == ""


def test_what_was_not_for_somebody_is_not_remembered() -> None:
    told = [
        said("For Beta.", audience=("beta",)),
        said("Nothing.", who="beta", status="failed"),
        said("A brief.", hidden=True),
        said("For all."),
    ]
    assert [one.words for one in heard(told, "alpha")] == ["For all."]


def test_the_last_ten_are_kept_and_the_others_fall_out() -> None:
    known = [remembered(str(n), n) for n in range(MOST + 3)]
    assert [one.words for one in recent(known, NOW + 20)] == [str(n) for n in range(3, MOST + 3)]
    assert [one.words for one in fallen_out(known, None, NOW + 20)] == ["0", "1", "2"]
    covered = replace(BEFORE, upto=NOW + 1)
    assert [one.words for one in fallen_out(known, covered, NOW + 20)] == ["2"]


def test_after_twelve_hours_words_fall_out_and_after_a_day_they_are_gone() -> None:
    known = [remembered("once"), remembered("lately", 10)]
    assert recent(known, NOW + LASTS) == known
    assert recent(known, NOW + LASTS + 5) == known[1:]
    assert fallen_out(known, None, NOW + LASTS + 5) == known[:1]
    assert fallen_out(known, None, NOW + SUMMARY_LASTS + 5) == known[1:]


def test_a_summary_is_kept_for_a_day() -> None:
    assert "six" in recalled([], BEFORE, "dis_2", BEFORE.created_at + SUMMARY_LASTS)
    assert recalled([], BEFORE, "dis_2", BEFORE.created_at + SUMMARY_LASTS + 1) == ""


def test_what_the_discussion_shows_is_not_said_twice_but_details_are_told() -> None:
    known = [remembered("Ada: Tea?"), remembered("Yes.", 1, "Alpha", details="Six cups.")]
    assert recalled(known[:1], BEFORE, "dis_1", NOW) == ""
    told = recalled(known, BEFORE, "dis_1", NOW)
    assert "Six cups." in told
    assert not any(words in told for words in ("Tea?", "Yes.", "plans"))


def test_a_summary_of_several_discussions_is_told_in_each() -> None:
    both = summary_of("Tea, then cake.", BEFORE, [remembered("Cake?", discussion="dis_2")], NOW)
    assert (both.discussions, both.upto) == (("dis_1", "dis_2"), NOW)
    assert all("cake" in recalled([], both, one, NOW) for one in ("dis_1", "dis_2", "dis_3"))


def test_the_whole_prompt() -> None:
    known = [remembered("Ada: Tea?"), remembered("With\npleasure.", 1, "Alpha", details="Six cups.")]
    plan = Plan(
        mode="single",
        participants=seat(("a/one",)),
        language="en",
        memories={"alpha": recalled(known, BEFORE, "dis_2", NOW)},
    )
    assert system_prompt(plan, plan.participants[0]) == snapshot("""\
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


def test_what_a_clerk_is_asked() -> None:
    fallen = [remembered("Ada: Tea?"), remembered("Yes.", 1, "Alpha", details="Six cups.")]
    assert summing_up(BEFORE, fallen).messages[0].parts == snapshot(
        (Text(text="Ada plans a tea for six.\n- Ada: Tea?\n- Alpha: Yes.\nAlpha noted: Six cups."),)
    )


@given(st.lists(st.text(max_size=600), min_size=1), st.one_of(st.none(), st.just(BEFORE)))
def test_a_summary_is_never_too_long(words: list[str], before: Summary | None) -> None:
    fallen = [remembered(one, n) for n, one in enumerate(words)]
    plain = plainly(before, fallen)
    assert len(plain) <= LONGEST_SUMMARY
    assert len(summary_of("".join(words), before, fallen, NOW).words) <= LONGEST_SUMMARY
    assert plain.endswith(" ".join(words[-1].split())[-20:])
