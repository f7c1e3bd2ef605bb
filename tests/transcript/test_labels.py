from moot.transcript.debate_report import Paragraph
from moot.transcript.labels import (
    ParticipantNames,
    build_run_report,
    error_text,
    format_time,
    recipients_label,
    speaker_label,
    stage_label,
    usage_labels,
)
from moot.types.chunks import Usage
from tests.support.transcript_samples import LESSON_REPORT, MESSAGES, NOON, REPORT, participant_message, user_message

NAMES = ParticipantNames(alpha="Alpha")


def test_speaker_label_always_has_name() -> None:
    assert speaker_label(user_message()) == "Person"
    assert speaker_label(MESSAGES[1]) == "Alpha"
    assert speaker_label(participant_message(0, "So.", name=None)) == "The table"
    assert (NAMES["alpha"], NAMES["omega"]) == ("Alpha", "omega")


def test_stage_label_is_none_for_single_answers() -> None:
    stages = [
        stage_label(participant_message(0, "So.", name, round=1)) for name in ("initial", "round", "answer", "turn")
    ]
    assert stages == ["First answers", "Round 2", None, None]


def test_recipients_label_is_only_for_user_messages() -> None:
    assert recipients_label(user_message(visible_to=("alpha", "omega")), NAMES) == "only for Alpha, omega"
    assert recipients_label(user_message(), NAMES) is None
    assert recipients_label(participant_message(0, "So.", visible_to=("alpha",)), NAMES) is None


def test_usage_labels_omit_unknown_values() -> None:
    assert usage_labels(MESSAGES[1]) == ["1,200 tokens in, 34 out", "$0.0123", "1.5 s"]
    assert usage_labels(participant_message(0, "", usage=Usage(), cost_usd=None, latency_seconds=None)) == []
    assert usage_labels(
        participant_message(0, "", usage=Usage(3, 4, estimated=True), cost_usd=0.0, latency_seconds=None)
    ) == ["about 3 tokens in, 4 out"]


def test_report_of_run_ends_with_status_usage_and_cost() -> None:
    assert build_run_report(REPORT, NAMES).sections[-1] == [
        Paragraph("In all: 5,000 tokens in, 600 out, $0.25", "total"),
    ]
    assert build_run_report(LESSON_REPORT, NAMES).sections[-1] == [
        Paragraph("Stopped. In all: 5,000 tokens in, 600 out, $0.25, and 2 calls whose price is not known", "total"),
    ]


def test_error_text_describes_failed_or_stopped_message() -> None:
    assert error_text(MESSAGES[2]) == "Key rejected for b (HTTP 401)."
    assert error_text(participant_message(0, "", status="failed")) == "It gave no answer."
    assert error_text(participant_message(0, "So", status="stopped")) == "Stopped here."
    assert error_text(participant_message(0, "So.")) is None


def test_format_time_uses_utc() -> None:
    assert format_time(NOON) == "2026-11-15 12:00 UTC"
