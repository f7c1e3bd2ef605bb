from typing import Any

from msgspec.structs import replace

from moot.server.mcp.ask import (
    MAX_RESULT_CHARS,
    TAIL_CHARS,
    McpRunReport,
    ParticipantAnswer,
    render_answers,
)
from moot.types.events import ApprovalRequested, Event, RunEnded, StageStarted, TurnEnded
from moot.types.modes import LESSON_STAGE
from tests.support.run_events import (
    CONNECTION_BROKE,
    notice_event,
    round_started,
    run_started,
    text_delta,
    text_retracted,
    turn_ended,
    turn_started,
)

TWO_PARTICIPANTS = run_started("a/one", "b/two")


def apply_events(*events: Event) -> tuple[McpRunReport, list[str]]:
    report = McpRunReport()
    return report, [words for event in events if (words := report.apply_event(event))]


def in_stage(turn: TurnEnded, stage: str, round: int = 0) -> TurnEnded:
    return replace(turn, stage=stage, round=round)


def answer_texts(report: McpRunReport) -> list[tuple[str, str]]:
    return [(one.name, one.text) for one in report.final_answers]


def test_report_returns_progress_text_for_events() -> None:
    _, progress_texts = apply_events(
        TWO_PARTICIPANTS,
        round_started(0),
        StageStarted(stage="cross_talk"),
        turn_started("alpha"),
        text_delta("alpha", "A meeting."),
        notice_event("Trying again.", "alpha"),
        turn_ended("alpha", "A meeting."),
        RunEnded(status="completed"),
    )
    assert progress_texts == [
        "Stage: Round 1.",
        "Stage: To each other.",
        "Alpha is asked (a/one).",
        "Trying again.",
        "Alpha has ended: completed.",
    ]


def test_report_announces_pending_approval() -> None:
    wants = ApprovalRequested(
        participant="beta", stage="answer", round=0, call_id="call_1", name="notes/write_down", timeout_seconds=600
    )
    _, (words,) = apply_events(TWO_PARTICIPANTS, wants)
    assert words.startswith("Beta wants to call notes/write_down and waits for approval. ")


def test_live_preview_contains_latest_text_of_all_active_participants() -> None:
    report, _ = apply_events(
        TWO_PARTICIPANTS,
        turn_started("alpha"),
        turn_started("beta"),
        text_delta("alpha", "One.\n\n"),
        text_delta("alpha", "Two."),
        text_delta("beta", "x" * 500),
    )
    assert report.live_preview == f"Alpha: One. Two.\nBeta: {'x' * TAIL_CHARS}"
    assert report.characters == 510


def test_live_preview_omits_retracted_and_ended_turns() -> None:
    report, _ = apply_events(
        TWO_PARTICIPANTS,
        turn_started("alpha"),
        text_delta("alpha", "Hm."),
        text_retracted("alpha"),
        text_delta("beta", "Yes."),
        turn_ended("beta", "Yes."),
    )
    assert report.live_preview == ""


def test_final_answers_contain_last_completed_answer_per_participant() -> None:
    report, _ = apply_events(
        TWO_PARTICIPANTS,
        in_stage(turn_ended("alpha", "First."), "round", 0),
        in_stage(turn_ended("beta", "Second."), "round", 0),
        in_stage(turn_ended("alpha", "Third."), "round", 1),
        in_stage(turn_ended("beta", "", status="failed", error=CONNECTION_BROKE), "round", 1),
    )
    assert answer_texts(report) == [("Alpha", "Third."), ("Beta", "Second.")]


def test_final_answers_contain_only_synthesis_when_completed() -> None:
    report, _ = apply_events(
        TWO_PARTICIPANTS,
        in_stage(turn_ended("alpha", "Yes."), "initial"),
        in_stage(turn_ended("beta", "No."), "initial"),
        in_stage(turn_ended("alpha", "Perhaps.", details="Because."), "synthesis"),
    )
    assert answer_texts(report) == [("Alpha", "Perhaps.\n\nBecause.")]


def test_final_answers_ignore_failed_synthesis() -> None:
    report, _ = apply_events(
        TWO_PARTICIPANTS,
        in_stage(turn_ended("alpha", "Yes."), "initial"),
        in_stage(turn_ended("alpha", status="failed", error=CONNECTION_BROKE), "synthesis"),
    )
    assert answer_texts(report) == [("Alpha", "Yes.")]


def test_final_answers_contain_all_turns_of_lesson() -> None:
    report, _ = apply_events(
        TWO_PARTICIPANTS,
        *(
            in_stage(turn_ended(who, f"{turn}"), LESSON_STAGE, turn)
            for turn, who in enumerate(("alpha", "beta", "alpha"))
        ),
    )
    assert answer_texts(report) == [("Alpha", "0"), ("Beta", "1"), ("Alpha", "2")]


def participant_answer(**more: Any) -> ParticipantAnswer:
    return ParticipantAnswer(
        **{"participant": "alpha", "name": "Alpha", "model": "a/one", "status": "completed", "text": "Yes."} | more
    )


def test_render_answers_returns_single_answer_unchanged() -> None:
    assert render_answers((participant_answer(),)) == "Yes."


def test_render_answers_adds_headings_and_failure_reasons() -> None:
    failed = participant_answer(name="Beta", text="", status="failed", fault="The connection broke.")
    stopped = participant_answer(name="Gamma", text="Well", status="stopped")
    assert render_answers((participant_answer(), failed, stopped)) == (
        "## Alpha (a/one)\n\nYes.\n\n## Beta (a/one)\n\n[failed: The connection broke.]\n\n"
        "## Gamma (a/one)\n\nWell\n\n[stopped]"
    )


def test_render_answers_marks_truncated_answer() -> None:
    report, _ = apply_events(
        TWO_PARTICIPANTS,
        turn_started("alpha"),
        text_delta("alpha", "Ye"),
        turn_ended("alpha", "Ye", finish="length"),
    )
    assert render_answers(report.final_answers) == "Ye\n\n[Cut at the token limit.]"


def test_render_answers_without_answers_says_so() -> None:
    assert render_answers(()) == "No participant answered."


def test_render_answers_truncates_result_at_maximum_size() -> None:
    text = render_answers((participant_answer(text="x" * (MAX_RESULT_CHARS + 1)),))
    assert text.endswith("[The rest is omitted. read_discussion returns the whole text.]")
    assert len(text) < MAX_RESULT_CHARS + 100
