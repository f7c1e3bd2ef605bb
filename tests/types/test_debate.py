import msgspec

from moot.types.debate import DebateSummary, ParticipantSummary, TableSummary
from moot.types.modes import DebateOptions


def test_debate_summary_json_has_documented_field_names() -> None:
    row = ParticipantSummary(
        participant="alpha",
        initial_summary="No.",
        refined_summary="Yes.",
        changed_position=True,
        key_points=("It scales.",),
    )
    summary = DebateSummary(
        original_prompt="Should we?",
        overview="They agreed.",
        cross_model=TableSummary(agreements=("Yes.",), disagreements=(), convergence_summary="All the way."),
        per_model=(row,),
    )
    encoded = msgspec.json.decode(msgspec.json.encode(summary))
    assert list(encoded) == ["original_prompt", "overview", "cross_model", "per_model"]
    assert list(encoded["cross_model"]) == ["agreements", "disagreements", "convergence_summary"]
    assert list(encoded["per_model"][0]) == [
        "participant",
        "initial_summary",
        "refined_summary",
        "changed_position",
        "key_points",
    ]


def test_default_debate_options_encode_as_empty_object() -> None:
    assert msgspec.json.encode(DebateOptions()) == b"{}"
