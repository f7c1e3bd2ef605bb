import msgspec

from moot.types.debate import DebateOptions, DebateSummary, ParticipantSummary, TableSummary


def test_a_summary_is_told_with_the_names_that_readers_know() -> None:
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
    told = msgspec.json.decode(msgspec.json.encode(summary))
    assert list(told) == ["originalPrompt", "overview", "crossModel", "perModel"]
    assert list(told["crossModel"]) == ["agreements", "disagreements", "convergenceSummary"]
    assert list(told["perModel"][0]) == [
        "participant",
        "initialSummary",
        "refinedSummary",
        "changedPosition",
        "keyPoints",
    ]


def test_rules_that_nobody_changed_take_no_room() -> None:
    assert msgspec.json.encode(DebateOptions()) == b"{}"
