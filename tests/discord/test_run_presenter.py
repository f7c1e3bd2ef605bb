from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.discord.approvals import INTERRUPTED_TEXT, OUTCOME_TEXTS, REPEATED_CALL_WARNING
from moot.discord.format.messages import MOOT_AUTHOR, MessageAuthor, PlannedMessage
from moot.discord.posts import DeliveryStep, DropPending, ResolvePrompt, Retract
from moot.discord.run_presenter import RunPresenter
from moot.types.chunks import FinishReason, Usage
from moot.types.debate import DebateSummary, TableSummary
from moot.types.drawing import OpenWhiteboard
from moot.types.events import (
    ActionTaken,
    Answer,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    Notice,
    RunEnded,
    RunStarted,
    SpeakerSelected,
    SummaryMade,
    TextDelta,
    TextRetracted,
    ToolCalled,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.types.faults import Fault
from moot.types.participants import make_participants
from moot.types.tools import ApprovalOutcome

PARTICIPANTS = make_participants(("scripted/one", "scripted/two", "scripted/three"))
RUN_STARTED = RunStarted(participants=PARTICIPANTS)


def turn_started(participant: str, attempt: int = 1) -> Event:
    return TurnStarted(participant=participant, stage="answer", round=0, attempt=attempt, model="scripted/one")


def text_delta(participant: str, text: str) -> Event:
    return TextDelta(participant=participant, stage="answer", round=0, text=text)


def turn_ended(
    participant: str,
    status: TurnStatus = "completed",
    fault: Fault | None = None,
    thoughts: str = "",
    finish: FinishReason | None = None,
) -> Event:
    return TurnEnded(
        participant=participant,
        stage="answer",
        round=0,
        status=status,
        message=Answer(thoughts=thoughts),
        model="scripted/one",
        usage=Usage(),
        cost_usd=0.0,
        fault=fault,
        finish_reason=finish,
    )


def make_presenter(notice: str = "", opening: Sequence[str] = ()) -> RunPresenter:
    return RunPresenter(
        delivery_style="paragraphs",
        notice=notice,
        opening=[PlannedMessage(text, author=MessageAuthor("anna")) for text in opening],
        random_source=lambda: 0.0,
    )


def present_events(*events: Event, presenter: RunPresenter | None = None) -> list[DeliveryStep]:
    presenting = presenter or make_presenter()
    return [step for event in events for step in presenting.present_event(event)]


def message_texts(steps: Sequence[DeliveryStep]) -> list[tuple[str, str]]:
    return [(step.author.name, step.text) for step in steps if isinstance(step, PlannedMessage)]


def test_turn_is_presented_by_paragraph_with_remainder_at_end() -> None:
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        text_delta("alpha", "One.\n\nTw"),
        text_delta("alpha", "o."),
        turn_ended("alpha"),
    )
    assert message_texts(steps) == [("Alpha", "One."), ("Alpha", "Two.")]
    assert [step.position for step in steps if not isinstance(step, DropPending)] == [0, 1]


def test_overlong_answer_ends_with_overflow_notice() -> None:
    paragraph = f"{'a' * 1900}\n\n"
    steps = message_texts(
        present_events(RUN_STARTED, turn_started("alpha"), text_delta("alpha", 50 * paragraph), turn_ended("alpha"))
    )
    left = 50 * 1900 - sum(len(text) for _, text in steps[:-1])
    assert (len(steps), left > 0) == (41, True)
    assert steps[-1] == ("Alpha", f"-# {left:,} more characters of this answer are kept in Moot.")


def test_parallel_turns_are_presented_one_at_a_time_in_start_order() -> None:
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        turn_started("beta"),
        turn_started("gamma"),
        text_delta("beta", "Beta one.\n\nBeta two.\n\n"),
        text_delta("gamma", "Gamma."),
        turn_ended("gamma"),
        text_delta("alpha", "Alpha one.\n\nAlpha two.\n\nA"),
        turn_ended("beta"),
        turn_ended("alpha"),
    )
    assert message_texts(steps) == [
        ("Beta", "Beta one."),
        ("Beta", "Beta two."),
        ("Gamma", "Gamma."),
        ("Alpha", "Alpha one."),
        ("Alpha", "Alpha two."),
        ("Alpha", "A"),
    ]


def test_opening_message_and_reply_notice_precede_first_answer() -> None:
    events = (RUN_STARTED, turn_started("alpha"), text_delta("alpha", "Yes."), turn_ended("alpha"))
    assert message_texts(present_events(*events, presenter=make_presenter(opening=["Well?", "Or not?"]))) == [
        ("anna", "Well?"),
        ("anna", "Or not?"),
        ("Alpha", "Yes."),
    ]
    assert message_texts(present_events(*events, presenter=make_presenter(notice="-# Replying"))) == [
        ("Alpha", "-# Replying"),
        ("Alpha", "Yes."),
    ]
    assert message_texts(present_events(RUN_STARTED, presenter=make_presenter(notice="-# Replying"))) == []


def test_messages_of_failed_attempt_are_retracted() -> None:
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        text_delta("alpha", "Wrong.\n\nAnd"),
        turn_started("alpha", 2),
        text_delta("alpha", "Right."),
        turn_ended("alpha"),
    )
    assert [type(step) for step in steps] == [PlannedMessage, Retract, PlannedMessage]
    unsaid = steps[1]
    assert isinstance(unsaid, Retract)
    assert unsaid.retracted_positions == (0,)
    assert message_texts(steps)[-1] == ("Alpha", "Right.")


def test_retracted_text_is_retracted_from_channel() -> None:
    retracted = TextRetracted(participant="alpha", stage="answer", round=0)
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        text_delta("alpha", "Hm.\n\nSo"),
        retracted,
        text_delta("alpha", "So."),
        turn_ended("alpha"),
    )
    assert [type(step) for step in steps] == [PlannedMessage, Retract, PlannedMessage]


def test_failed_turn_is_replaced_by_error_message() -> None:
    fault = Fault(kind="auth", message="The key is wrong.\nChange it.", retryable=False)
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        text_delta("alpha", "Half.\n\nA"),
        turn_ended("alpha", "failed", fault),
    )
    assert [type(step) for step in steps] == [PlannedMessage, Retract, PlannedMessage]
    assert message_texts(steps)[-1] == ("Moot", "-# Alpha failed: The key is wrong. Change it.")


def test_incomplete_answer_ends_with_truncation_notice() -> None:
    early = Fault(kind="network", message="The stream ended early.", retryable=True)
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        turn_started("beta"),
        text_delta("alpha", "One."),
        text_delta("alpha", "\n\nTwo"),
        text_delta("beta", "Half"),
        turn_ended("beta", "partial", early),
        turn_ended("alpha", finish="length"),
    )
    assert message_texts(steps) == [
        ("Alpha", "One."),
        ("Alpha", "Two"),
        ("Alpha", "-# Cut at the token limit."),
        ("Beta", "Half"),
        ("Beta", "-# Cut off: The stream ended early."),
    ]


def test_stop_keeps_pending_text_and_interrupt_drops_it() -> None:
    events = (RUN_STARTED, turn_started("alpha"), text_delta("alpha", "One.\n\nTwo"))
    assert message_texts(present_events(*events, turn_ended("alpha", "stopped"))) == [
        ("Alpha", "One."),
        ("Alpha", "Two"),
    ]
    steps = present_events(*events, turn_ended("alpha", "interrupted"), RunEnded(status="interrupted"))
    assert message_texts(steps) == [("Alpha", "One.")]
    assert [type(step) for step in steps] == [PlannedMessage, DropPending, DropPending]


def test_tool_call_flushes_pending_text() -> None:
    called = ToolCalled(participant="alpha", stage="answer", round=0, call_id="1", name="look_up", arguments="{}")
    presenting = make_presenter()
    steps = present_events(
        RUN_STARTED, turn_started("alpha"), text_delta("alpha", "Let me look."), called, presenter=presenting
    )
    assert message_texts(steps) == [("Alpha", "Let me look.")]
    assert presenting.is_calling_tools
    present_events(
        turn_started("beta"),
        text_delta("beta", "Meanwhile."),
        text_delta("alpha", "Found"),
        presenter=presenting,
    )
    assert presenting.is_calling_tools
    presenting.present_event(turn_ended("alpha"))
    assert not presenting.is_calling_tools


def approval_events(call_id: str = "call_1", *, repeated: bool = False) -> tuple[Event, Event]:
    where: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": 0, "call_id": call_id}
    called = ToolCalled(name="notes/write_down", arguments='{"text": "Round."}', **where)
    return called, ApprovalRequested(name="notes/write_down", timeout_seconds=600.0, repeated=repeated, **where)


def approval_resolved(outcome: ApprovalOutcome, call_id: str = "call_1") -> Event:
    return ApprovalResolved(participant="alpha", stage="answer", round=0, call_id=call_id, outcome=outcome)


PROMPT_TEXT = """\
**Alpha** wants to call `notes/write_down`, which may change something:
```json
{"text": "Round."}
```"""


@pytest.mark.parametrize("answer", OUTCOME_TEXTS)
def test_approval_prompt_is_resolved_in_place(answer: ApprovalOutcome) -> None:
    presenting = make_presenter()
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        text_delta("alpha", "Now."),
        *approval_events(),
        presenter=presenting,
    )
    assert steps[-1] == PlannedMessage(position=1, text=PROMPT_TEXT, author=MOOT_AUTHOR, call_id="call_1")
    assert [one.call_id for one in presenting.open_approvals] == ["call_1"]
    assert present_events(approval_resolved(answer), turn_ended("alpha"), presenter=presenting) == [
        ResolvePrompt(position=2, prompt_position=1, text=f"{PROMPT_TEXT}\n-# {OUTCOME_TEXTS[answer]}")
    ]
    assert presenting.open_approvals == ()


def test_restarted_turn_closes_approval_and_warns_about_repeated_call() -> None:
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        *approval_events(),
        turn_started("alpha"),
        *approval_events("call_2", repeated=True),
    )
    [first, settled, second] = steps
    assert isinstance(settled, ResolvePrompt)
    assert (settled.prompt_position, settled.text) == (0, f"{PROMPT_TEXT}\n-# {INTERRUPTED_TEXT}")
    assert message_texts([first, second]) == [
        ("Moot", PROMPT_TEXT),
        ("Moot", f"{PROMPT_TEXT}\n{REPEATED_CALL_WARNING}"),
    ]


def test_reasoning_is_marked_and_split_into_messages() -> None:
    steps = present_events(
        RUN_STARTED,
        turn_started("alpha"),
        text_delta("alpha", "Yes."),
        turn_ended("alpha", thoughts="Hm. " * 1000),
    )
    thoughts = [step for step in steps if isinstance(step, PlannedMessage) and step.is_reasoning]
    assert len(thoughts) == 4
    assert all(len(one.text) <= 1950 for one in thoughts)


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (Notice(kind="fallback", message="Beta answered instead."), [("Moot", "-# Beta answered instead.")]),
        (Notice(kind="retry", message="Again."), []),
        (
            Notice(kind="still_working", message="Still working.", participant="alpha"),
            [("Moot", "-# Alpha: Still working.")],
        ),
        (Notice(kind="tools", message="They are left out."), [("Moot", "-# They are left out.")]),
        (
            SummaryMade(
                cache_key="",
                summary=DebateSummary(
                    original_prompt="",
                    overview="They agree.",
                    per_model=(),
                    cross_model=TableSummary(agreements=(), disagreements=(), convergence_summary=""),
                ),
            ),
            [("Moot", "**Summary** They agree.")],
        ),
        (SpeakerSelected(cache_key="", turn=1, next="USER", reason=""), [("Moot", "-# Over to you.")]),
        (SpeakerSelected(cache_key="", turn=1, next="alpha", reason=""), []),
    ],
)
def test_notices_summaries_and_decisions_are_presented(event: Event, shown: list[tuple[str, str]]) -> None:
    assert message_texts(present_events(RUN_STARTED, event)) == shown


def test_repeated_notice_is_presented_once() -> None:
    missing = Notice(kind="tools", message="It answers without them.", participant="alpha")
    assert message_texts(present_events(RUN_STARTED, missing, missing)) == [("Moot", "-# It answers without them.")]


def test_whiteboard_is_presented_at_end_when_it_was_used() -> None:
    drawn = ActionTaken(participant="alpha", stage="turn", round=0, id="1", action=OpenWhiteboard())
    [post] = present_events(RUN_STARTED, drawn, RunEnded(status="completed"))
    assert isinstance(post, PlannedMessage)
    assert post.kind == "board"
    assert present_events(RUN_STARTED, RunEnded(status="completed")) == []


@given(st.data())
def test_presentation_does_not_depend_on_delta_sizes(data: st.DataObject) -> None:
    texts = {"alpha": "One.\n\nTwo.\n\n`x`\n", "beta": "Three.\n\nFour."}
    order = data.draw(st.lists(st.sampled_from(list(texts)), max_size=40))
    events = [RUN_STARTED, turn_started("alpha"), turn_started("beta")]
    left = dict(texts)
    for who in order:
        size = data.draw(st.integers(1, 5))
        events += [text_delta(who, left[who][:size])] if left[who] else []
        left[who] = left[who][size:]
    events += [text_delta(who, rest) for who, rest in left.items() if rest]
    events += [turn_ended("alpha"), turn_ended("beta")]
    once, again = present_events(*events), present_events(*events)
    assert once == again
    by = {who: [text for name, text in message_texts(once) if name.lower() == who] for who in texts}
    assert by == {"alpha": ["One.", "Two.", "`x`"], "beta": ["Three.", "Four."]}
    assert [
        name for at, (name, _) in enumerate(message_texts(once)) if at and message_texts(once)[at - 1][0] != name
    ] in (
        ["Beta"],
        ["Alpha"],
    )
