"""The director: rules select the next speaker first, then a model. Some participant is always selected."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.tasks.director import (
    DirectorContext,
    DirectorMessage,
    TurnPreview,
    build_director_context,
    decide_by_rules,
    director_task,
    fallback_decision,
    speaker_candidates,
)
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.modes import LESSON_ENDS, USER_SPEAKS_NEXT, DirectedOptions
from moot.types.participants import LessonRole, Participant
from moot.types.run_plan import RunPlan

MIRA = Participant("mira", "Mira", "a/one", role="teacher", priority=10)
TOM = Participant("tom", "Tom", "a/one", role="student")
LI = Participant("li", "Li", "a/one", role="student")
PARTICIPANTS = (MIRA, TOM, LI)


def make_director_context(
    *previous_speakers: str,
    user_text: str = "Go on.",
    participants: tuple[Participant, ...] = PARTICIPANTS,
    **fields: object,
) -> DirectorContext:
    """A context in which these have spoken, in this order. A name with a minus said nothing."""
    turns = [
        TurnPreview(participant=name.strip("-"), name=name.strip("-").title(), preview="" if "-" in name else "Yes.")
        for name in previous_speakers
    ]
    values = {"max_turns": 10, "turn": len(turns), **fields}
    return DirectorContext(
        participants=participants,
        previous_turns=tuple(turns),
        messages=(DirectorMessage("The user", user_text, True),),
        **values,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("context", "next", "why"),
    [
        (make_director_context("mira", "tom", max_turns=2), LESSON_ENDS, "All 2 turns were taken."),
        (make_director_context("mira", "tom-", "li-"), LESSON_ENDS, "Two turns in a row were empty."),
        (make_director_context(participants=(MIRA,)), "mira", "Only Mira can speak."),
        (make_director_context("mira", participants=(MIRA,)), USER_SPEAKS_NEXT, "Mira has answered."),
        (make_director_context(trigger="li", user_text="Tom, why?"), "li", "Selected as the first speaker."),
        (
            make_director_context(trigger="nobody", user_text="Why?"),
            "mira",
            "The user's question waits for an answer.",
        ),
        (make_director_context(user_text="What do you think, tom?"), "tom", "The user spoke to Tom."),
        (make_director_context("tom", user_text="Tom and Li, speak."), "li", "The user spoke to Li."),
        (make_director_context(user_text="Why is that?"), "mira", "The user's question waits for an answer."),
        (
            make_director_context("mira-", user_text="Why is that?"),
            "tom",
            "The user's question waits for an answer.",
        ),
        (make_director_context(participants=()), LESSON_ENDS, "No participant can speak."),
    ],
)
def test_decide_by_rules_selects_speaker_without_model(context: DirectorContext, next: str, why: str) -> None:
    decided = decide_by_rules(context)
    assert decided is not None
    assert (decided.next, decided.reason, decided.decided_by) == (next, why, "rules")


@pytest.mark.parametrize(
    "context",
    [
        make_director_context(user_text="Talk among yourselves."),
        make_director_context("mira", user_text="Why is that?"),
        make_director_context("tom", user_text="Tomorrow, tomatoes."),
        make_director_context("mira", "tom-", "li"),
    ],
)
def test_decide_by_rules_returns_none_when_model_must_choose(context: DirectorContext) -> None:
    assert decide_by_rules(context) is None


def test_decide_by_rules_matches_names_only_as_whole_words() -> None:
    assert decide_by_rules(make_director_context(user_text="Tomorrow we lift the limit.")) is None


def test_speaker_candidates_exclude_last_and_most_frequent_speakers() -> None:
    assert [who.id for who in speaker_candidates(make_director_context())] == ["mira", "tom", "li"]
    assert [who.id for who in speaker_candidates(make_director_context("mira"))] == ["tom", "li"]
    assert [who.id for who in speaker_candidates(make_director_context("mira", "tom", "mira", "tom"))] == ["li"]


def test_director_task_prompt_matches_snapshot_and_limits_choices() -> None:
    context = make_director_context("mira", "tom", user_text="Explain\nit.", topic="Squares")
    task = director_task(context)
    assert task.max_attempts == 1
    (prompt,) = task.request.messages[0].parts
    assert isinstance(prompt, Text)
    assert prompt.text == snapshot("""\
The topic: Squares

At the table:
- mira: Mira, teacher, priority 10
- tom: Tom, student, priority 0
- li: Li, student, priority 0

The last words, oldest first:
- The user (person): Explain it.

Turns since the user spoke:
- Mira: Yes.
- Tom: Yes.

The whiteboard (1000 x 563) is closed and empty.

Turn 3 of 10. You may choose: li, mira, USER, END\
""")
    answer = msgspec.convert({"next": "li", "reason": "She was quiet."}, task.answer_type)
    assert task.to_result(answer).next == "li"  # type: ignore[union-attr]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"next": "tom", "reason": "Again."}, task.answer_type)


def director_material(context: DirectorContext) -> str:
    return "".join(str(part) for part in director_task(context).request.messages[0].parts)


def test_director_task_names_participant_who_opened_topic() -> None:
    assert "The topic (opened by Tom): Squares" in director_material(
        make_director_context("tom", trigger="tom", topic="Squares")
    )
    assert "The topic: Squares" in director_material(make_director_context(trigger="nobody", topic="Squares"))


def test_director_task_has_last_ten_messages_and_rules_see_last_user_message() -> None:
    messages = (
        DirectorMessage("The user", "Li, why?", True),
        *(DirectorMessage("Tom", f"No. {place}!") for place in range(12)),
    )
    context = replace(make_director_context("tom"), messages=messages)
    assert "No. 1!" not in director_material(context)
    assert "No. 2!" in director_material(context)
    assert (decided := decide_by_rules(context)) is not None
    assert decided.next == "li"


def test_director_task_rejects_user_as_first_speaker() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(
            {"next": USER_SPEAKS_NEXT, "reason": "You first."},
            director_task(make_director_context()).answer_type,
        )


participant_lists = st.lists(
    st.builds(
        Participant,
        st.sampled_from(["mira", "tom", "li", "bo"]),
        st.sampled_from(["Mira", "Tom"]),
        st.just("a/one"),
        role=st.sampled_from([*get_args(LessonRole), None]),
        priority=st.integers(-5, 5),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda who: who.id,
)


@given(
    participant_lists,
    st.lists(st.sampled_from(["mira", "tom", "li", "bo", "gone", "tom-"]), max_size=25),
    st.text(),
)
def test_director_always_returns_valid_decision_and_ends(
    present: list[Participant], spoke: list[str], words: str
) -> None:
    context = make_director_context(*spoke, user_text=words, participants=tuple(present))
    decided = decide_by_rules(context) or fallback_decision(context)
    known = {who.id for who in present}
    assert decided.next in {*known, USER_SPEAKS_NEXT, LESSON_ENDS}
    is_first = decided.reason == "Selected as the first speaker."
    if decided.next in known and len(known) > 1 and context.previous_turns and not is_first:
        named = decided.reason.startswith("The user spoke to")
        assert named or decided.next != context.previous_turns[-1].participant
    if context.turn >= context.max_turns:
        assert decided.next == LESSON_ENDS


def make_message(participant_id: str | None, text: str, turn: int = 0, **fields: object) -> Message:
    values = {"status": "completed", "run": "run_1", **fields}
    return Message(
        id=f"msg_{participant_id}_{turn}",
        discussion="dis_1",
        role="assistant" if participant_id else "user",
        content=text,
        participant=participant_id,
        name=participant_id.title() if participant_id else None,
        stage="turn" if participant_id else None,
        round=turn,
        **values,  # type: ignore[arg-type]
    )


def test_director_context_has_only_turns_before_given_turn() -> None:
    plan = RunPlan(mode="directed", participants=PARTICIPANTS, directed=DirectedOptions(turns=4, topic="Squares"))
    log = [
        make_message("li", "Long ago.", run="run_0"),
        make_message(None, "Why?"),
        make_message("mira", "Because. " * 40, lesson_items='[{"type":"action","name":"wb_open"}]'),
        make_message(None, "The board is empty.", hidden=True, visible_to=("tom",)),
        make_message("tom", "Broken", 1, status="failed"),
        make_message("li", "I see.", 2),
    ]
    context = build_director_context(plan, log, "run_1", 2)
    assert [(one.participant, len(one.preview), one.actions) for one in context.previous_turns] == [
        ("mira", 100, ("wb_open",)),
        ("tom", 0, ()),
    ]
    assert [(one.name, one.is_person) for one in context.messages] == [
        ("Li", False),
        ("The user", True),
        ("Mira", False),
    ]
    assert context.last_user_message == "Why?"
    assert context.board.open
    assert build_director_context(plan, log, "run_1", 0).previous_turns == ()


@pytest.mark.parametrize("words", ["\u4e3a\u4ec0\u4e48\uff1f", "\u0644\u0645\u0627\u0630\u0627\u061f"])
def test_decide_by_rules_recognizes_question_marks_of_other_scripts(words: str) -> None:
    decided = decide_by_rules(make_director_context(user_text=words))
    assert decided is not None
    assert decided.reason == "The user's question waits for an answer."


def test_decide_by_rules_finds_name_in_text_without_spaces() -> None:
    anna = Participant("anna", "\u5b89\u5a1c", "a/one")
    decided = decide_by_rules(
        make_director_context(user_text="\u8bf7\u5b89\u5a1c\u56de\u7b54", participants=(MIRA, anna))
    )
    assert decided is not None
    assert decided.next == "anna"


def test_director_cache_key_changes_when_previous_turn_is_retried() -> None:
    silent, spoken = (
        decide_by_rules(make_director_context("mira-", "tom-")),
        fallback_decision(make_director_context("mira", "tom")),
    )
    assert silent is not None
    assert silent.cache_key != spoken.cache_key


def test_first_speaker_option_applies_only_to_first_run() -> None:
    plan = RunPlan(mode="directed", participants=PARTICIPANTS, directed=DirectedOptions(first_speaker="li"))
    log = [
        make_message(None, "Go."),
        make_message("li", "I begin."),
        make_message(None, "Tom, go on.", run="run_2"),
    ]
    assert build_director_context(plan, log[:1], "run_1", 0).trigger == "li"
    assert build_director_context(plan, log, "run_2", 0).trigger is None


def test_director_context_excludes_messages_visible_to_one_participant() -> None:
    plan = RunPlan(mode="directed", participants=PARTICIPANTS)
    opened = '[{"type":"action","name":"wb_open"}]'
    log = [
        make_message(None, "Mira only.", visible_to=("mira",)),
        make_message("mira", "A secret.", visible_to=("mira",), lesson_items=opened),
        make_message(None, "Now all.", run="run_2"),
    ]
    context = build_director_context(plan, log, "run_2", 0)
    assert [one.text for one in context.messages] == ["Now all."]
    assert not context.board.open
