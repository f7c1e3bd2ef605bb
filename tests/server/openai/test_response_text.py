"""How events become one answer: what is reasoning, what is content, and in which order."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from moot.server.openai.response_text import NO_ANSWER_MESSAGE, RESTART_MARKER, STOPPED_MESSAGE, ResponseText
from moot.types.billing import Charge
from moot.types.chunks import FinishReason, Usage
from moot.types.events import (
    Answer,
    ApprovalRequested,
    Event,
    Notice,
    RunEnded,
    RunStarted,
    RunStatus,
    SummaryMade,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.types.faults import make_fault
from moot.types.modes import AdvisorOptions, ModeName
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan

A, B = "alpha", "beta"


def run_plan(mode: ModeName, count: int = 2, *, synthesis: bool = False) -> RunPlan:
    return RunPlan(
        mode=mode,
        participants=make_participants(("x/y",) * count),
        advisors=AdvisorOptions(synthesis=synthesis),
    )


def text_delta(participant: str, text: str, stage: str = "answer", round: int = 0) -> TextDelta:
    return TextDelta(participant=participant, stage=stage, round=round, text=text)


def turn_started(participant: str, stage: str = "answer", attempt: int = 1) -> TurnStarted:
    return TurnStarted(participant=participant, stage=stage, round=0, attempt=attempt, model="x/y")


def turn_ended(
    participant: str,
    text: str = "",
    stage: str = "answer",
    round: int = 0,
    *,
    status: TurnStatus = "completed",
    fault_message: str = "",
    finish: FinishReason | None = None,
    thoughts: str = "",
) -> TurnEnded:
    return TurnEnded(
        participant=participant,
        stage=stage,
        round=round,
        status=status,
        message=Answer(text=text, thoughts=thoughts),
        model="x/y",
        usage=Usage(input=2, output=1),
        cost_usd=None,
        finish_reason=finish,
        fault=make_fault("network", fault_message) if fault_message else None,
    )


def response_text(plan: RunPlan, *events: Event, status: RunStatus = "completed") -> ResponseText:
    response = ResponseText(plan)
    response.apply_events([RunStarted(participants=plan.participants), *events, RunEnded(status=status)])
    return response


def test_single_participant_text_is_streamed_as_content() -> None:
    response = ResponseText(run_plan("single", 1))
    thought = ThoughtDelta(participant=A, stage="answer", round=0, text="Hm.")
    assert [
        (bit.text, bit.is_content)
        for bit in response.apply_events([thought, text_delta(A, "Four"), text_delta(A, ".")])
    ] == [
        ("Hm.", False),
        ("Four", True),
        (".", True),
    ]
    assert response.failure, "it is not over"
    assert response.apply_events([turn_ended(A, "Four.", thoughts="Hm."), RunEnded(status="completed")]) == []
    assert not response.failure
    assert response.finish == "stop"
    assert (response.content, response.reasoning) == ("Four.", "Hm.")


def approval_requested(participant: str, stage: str = "answer") -> ApprovalRequested:
    return ApprovalRequested(
        participant=participant,
        stage=stage,
        round=0,
        run="run_1",
        call_id="call_1",
        name="notes/write",
        timeout_seconds=600,
    )


def test_pending_approval_is_streamed_immediately_as_reasoning() -> None:
    response = ResponseText(run_plan("single", 1))
    first, asked = response.apply_events([text_delta(A, "I keep that."), approval_requested(A)])
    assert (first.text, asked.is_content) == ("I keep that.", False)
    assert asked.text.startswith("[Alpha wants to call notes/write and waits for approval. ")
    assert "POST /api/runs/run_1/approvals/call_1" in asked.text
    response = response_text(
        run_plan("debate"),
        text_delta(A, "One.", "initial"),
        approval_requested(B, "initial"),
        text_delta(A, "Two.", "initial"),
    )
    assert response.reasoning.startswith("**Alpha, first answer**\n\nOne.\n\n[Beta wants to call")
    assert response.reasoning.endswith("]\n\nTwo.")


def test_pending_approval_is_omitted_from_whole_answer() -> None:
    response = ResponseText(run_plan("single", 1))
    response.apply_whole_turns([approval_requested(A), turn_ended(A, "Kept."), RunEnded(status="completed")])
    assert (response.content, response.reasoning) == ("Kept.", "")


def test_debate_turns_are_reasoning_and_synthesis_is_content() -> None:
    response = response_text(
        run_plan("debate"),
        text_delta(A, "Yes.", "initial"),
        turn_ended(A, "Yes.", "initial"),
        text_delta(B, "No.", "initial"),
        turn_ended(B, "No.", "initial"),
        text_delta(A, "Perhaps.", "debate"),
        turn_ended(A, "Perhaps.", "debate"),
        text_delta(A, "It depends.", "synthesis"),
        turn_ended(A, "It depends.", "synthesis"),
    )
    assert response.content == "It depends."
    assert response.reasoning == (
        "**Alpha, first answer**\n\nYes.\n\n**Beta, first answer**\n\nNo.\n\n**Alpha, having read the others**\n\nPerhaps."
    )


def test_text_of_other_participants_is_buffered_until_active_turn_ends() -> None:
    response = ResponseText(run_plan("parallel"))
    assert [bit.text for bit in response.apply_events([text_delta(A, "One"), text_delta(B, "Two")])] == [
        "**Alpha**\n\nOne"
    ]
    assert [
        bit.text for bit in response.apply_events([turn_ended(B, "Two"), text_delta(A, "."), turn_ended(A, "One.")])
    ] == [
        ".",
        "\n\n**Beta**\n\nTwo",
    ]


def test_last_consensus_round_is_content() -> None:
    turns = [turn_ended(who, f"{who} {round_}", "round", round_) for round_ in range(2) for who in (A, B)]
    response = response_text(run_plan("consensus"), *turns)
    assert response.content == "**Alpha**\n\nalpha 1\n\n**Beta**\n\nbeta 1"
    assert response.reasoning == "**Alpha, round 1**\n\nalpha 0\n\n**Beta, round 1**\n\nbeta 0"


def test_advisor_answers_are_content_unless_synthesis_follows() -> None:
    turns = (turn_ended(A, "Go."), turn_ended(B, "Stay."))
    assert response_text(run_plan("advisors"), *turns).content == "**Alpha**\n\nGo.\n\n**Beta**\n\nStay."
    both = response_text(run_plan("advisors", synthesis=True), *turns, turn_ended(A, "Wait.", "synthesis"))
    assert (both.content, both.reasoning) == ("Wait.", "**Alpha**\n\nGo.\n\n**Beta**\n\nStay.")


def test_latest_answers_are_content_when_synthesis_is_missing() -> None:
    response = response_text(
        run_plan("debate"),
        turn_ended(A, "Old.", "initial"),
        turn_ended(A, "Yes.", "debate"),
        turn_ended(B, "No.", "debate"),
        Notice(kind="missing", message="Nobody could sum up."),
    )
    assert response.content == "**Alpha**\n\nYes.\n\n**Beta**\n\nNo."
    assert response.reasoning.endswith("[Nobody could sum up.]")


def test_failed_participant_is_replaced_by_failure_note() -> None:
    response = response_text(
        run_plan("parallel"), turn_ended(A, status="failed", fault_message="Out."), turn_ended(B, "Two.")
    )
    assert response.content == "**Alpha**\n\n[failed: Out.]\n\n**Beta**\n\nTwo."
    assert response.failure is None


def test_restarted_turn_is_marked_only_when_text_was_already_sent() -> None:
    response = response_text(
        run_plan("parallel"),
        turn_started(A),
        text_delta(A, "On"),
        turn_started(B),
        text_delta(B, "Tw"),
        turn_started(A, attempt=2),
        turn_started(B, attempt=2),
        text_delta(A, "One."),
        text_delta(B, "Two."),
        turn_ended(A, "One."),
        turn_ended(B, "Two."),
    )
    assert response.content == f"**Alpha**\n\nOn{RESTART_MARKER}One.\n\n**Beta**\n\nTwo."


def test_retracted_text_is_followed_by_restart_marker() -> None:
    response = response_text(
        run_plan("single", 1),
        text_delta(A, "Let me see"),
        TextRetracted(participant=A, stage="answer", round=0),
        text_delta(A, "Four."),
        turn_ended(A, "Four."),
    )
    assert response.content == f"Let me see{RESTART_MARKER}Four."


def test_whole_turns_omit_text_of_restarted_attempts() -> None:
    response = ResponseText(run_plan("single", 1))
    response.apply_whole_turns(
        [turn_started(A), text_delta(A, "Fo"), turn_started(A, attempt=2), text_delta(A, "Four.")]
    )
    response.apply_whole_turns([turn_ended(A, "Four.", thoughts="Hm."), RunEnded(status="completed")])
    assert (response.content, response.reasoning) == ("Four.", "Hm.")


def test_failed_run_has_failure_message() -> None:
    response = response_text(
        run_plan("single", 1), turn_ended(A, status="failed", fault_message="Out."), status="failed"
    )
    assert str(response.failure) == "Out."
    assert str(response_text(run_plan("single", 1), text_delta(A, "Fo"), status="stopped").failure) == STOPPED_MESSAGE
    assert str(response_text(run_plan("single", 1), turn_ended(A, " ")).failure) == NO_ANSWER_MESSAGE


def test_usage_sums_all_charges() -> None:
    charge = Charge(purpose="summary", model="x/y", usage=Usage(input=10), cost_usd=None)
    found = SummaryMade(cache_key="", summary=None, usage=Usage(input=100))  # type: ignore[arg-type]
    response = response_text(
        run_plan("single", 1),
        turn_ended(A, "Four."),
        Notice(kind="missing", message="", charge=charge),
        found,
    )
    assert response.usage == Usage(input=112, output=1)


def test_truncated_answer_has_finish_reason_length() -> None:
    assert response_text(run_plan("single", 1), turn_ended(A, "Fo", finish="length")).finish == "length"
    response = response_text(
        run_plan("debate"), turn_ended(A, "Summed", "synthesis", status="partial", fault_message="Broke off.")
    )
    assert (response.content, response.finish) == ("Summed\n\n[cut off: Broke off.]", "length")
    response = response_text(
        run_plan("debate"), turn_ended(A, "Half", "initial", status="partial", fault_message="Broke off.")
    )
    assert (response.content, response.finish) == ("Half\n\n[cut off: Broke off.]", "length")


@given(
    st.lists(st.sampled_from(["alpha", "beta", "gamma"]), max_size=40),
    st.permutations(["alpha", "beta", "gamma"]),
)
def test_interleaved_texts_are_emitted_contiguously_per_participant(
    speakers: Sequence[str], order: Sequence[str]
) -> None:
    words: dict[str, str] = dict.fromkeys(order, "")
    events: list[Event] = []
    for number, who in enumerate(speakers):
        words[who] += f"{who[0]}{number} "
        events.append(text_delta(who, f"{who[0]}{number} "))
    events += [turn_ended(who, words[who]) for who in order]
    response = response_text(run_plan("parallel", 3), *events)
    for who, text in words.items():
        assert not text or f"**{who.capitalize()}**\n\n{text}" in response.content
    assert sum(map(len, words.values())) <= len(response.content) or not speakers
    assert response.usage == Usage(input=6, output=3)
