from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.types import events
from moot.types.chunks import Usage
from moot.types.debate import (
    Claim,
    ClaimQuote,
    DebateClaims,
    DebateSummary,
    ParticipantSummary,
    PositionChange,
    RankedAnswer,
    Ranking,
    TableSummary,
)
from moot.types.drawing import OpenWhiteboard
from moot.types.events import (
    ANALYSIS_RESULTS,
    STATUS_BY_STOP_REASON,
    ActionRejected,
    ActionTaken,
    AgreementChecked,
    Answer,
    ApprovalRequested,
    ApprovalResolved,
    ClaimsExtracted,
    Event,
    InstructionsSent,
    Notice,
    RankingMade,
    ReferenceSummarized,
    RunEnded,
    RunStarted,
    RunStatus,
    SpeakerSelected,
    StageStarted,
    StopReason,
    SummaryMade,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnKey,
    TurnStarted,
    TurnStatus,
    VoteCast,
)
from moot.types.faults import make_fault
from moot.types.participants import make_participants

CLAIM_QUOTE = ClaimQuote(participant="alpha", quote="It is round.", message="msg_2")
SUMMARY = DebateSummary(
    original_prompt="Why?",
    overview="They agreed.",
    cross_model=TableSummary(agreements=("Round.",), disagreements=(), convergence_summary="At once."),
    per_model=(
        ParticipantSummary(
            participant="alpha",
            initial_summary="Square.",
            refined_summary="Round.",
            changed_position=True,
            key_points=("No corners.",),
        ),
    ),
)
DEBATE_CLAIMS = DebateClaims(
    claims=(Claim(claim="It is round.", supporters=(CLAIM_QUOTE,), minority=True),),
    position_changes=(
        PositionChange(
            participant="alpha",
            before="Square.",
            after="Round.",
            because_of="beta",
            quote="It is round.",
            message="msg_2",
        ),
    ),
    dropped_quotes=1,
)
RANKING = Ranking(
    answers=(RankedAnswer(participant="beta", points=1.5, votes=2),),
    votes={"alpha": (("beta",), ("gamma",))},
)
decode_event = msgspec.json.Decoder(Event).decode
SAMPLE_EVENTS: tuple[Event, ...] = (
    RunStarted(participants=make_participants(("scripted/echo", "scripted/echo")), run="run_1", seq=1, at=0.5),
    StageStarted(stage="answer"),
    TurnStarted(participant="alpha", stage="answer", round=0, attempt=1, model="scripted/echo"),
    TextDelta(participant="alpha", stage="answer", round=0, text="Round."),
    ThoughtDelta(participant="alpha", stage="answer", round=0, text="Square?"),
    TextRetracted(participant="alpha", stage="answer", round=0),
    ToolCalled(participant="alpha", stage="answer", round=0, call_id="call_1", name="look_up", arguments="{}"),
    ApprovalRequested(
        participant="alpha", stage="answer", round=0, call_id="call_1", name="notes/write", timeout_seconds=600.0
    ),
    ApprovalResolved(participant="alpha", stage="answer", round=0, call_id="call_1", outcome="always"),
    ToolReturned(
        participant="alpha",
        stage="answer",
        round=0,
        call_id="call_1",
        name="notes/write",
        content="Done.",
        is_error=False,
        seconds=0.5,
    ),
    Notice(kind="retry", message="Trying again.", participant="alpha"),
    TurnEnded(
        participant="alpha",
        stage="answer",
        round=0,
        status="partial",
        message=Answer("Rou", "Square?", "A detail."),
        model="scripted/echo",
        usage=Usage(1, 2),
        cost_usd=None,
        fault=make_fault("network", "It broke."),
        first_token_seconds=0.25,
        latency_seconds=1.5,
    ),
    RunEnded(status="completed"),
    InstructionsSent(participant="alpha", stage="debate", round=0, message="msg_1"),
    AgreementChecked(cache_key="b", agree=True, reason="They do.", saved_usd=0.5),
    SummaryMade(cache_key="b", summary=SUMMARY, model="a/b", usage=Usage(1, 2), cost_usd=0.1),
    ClaimsExtracted(cache_key="b", claims=DEBATE_CLAIMS),
    VoteCast(cache_key="b", participant="alpha", ranking=(("beta",), ("gamma", "delta"))),
    RankingMade(cache_key="b", ranking=RANKING),
    ActionTaken(participant="alpha", stage="turn", round=0, id="act_1", action=OpenWhiteboard()),
    ActionRejected(participant="alpha", stage="turn", round=0, name="fly", reason="There is no such action."),
    SpeakerSelected(cache_key="b", turn=1, next="USER", reason="A question is open.", decided_by="model"),
    ReferenceSummarized(cache_key="b", message="msg_1", title="A table", discussion="dis_1", summary="recap_1"),
)


def test_analysis_results_match_union() -> None:
    assert set(ANALYSIS_RESULTS) <= set(get_args(Event))


def test_event_union_has_every_event_class() -> None:
    public = {
        thing
        for name, thing in vars(events).items()
        if isinstance(thing, type) and issubclass(thing, events._Event) and not name.startswith("_")
    }
    assert public == set(get_args(Event)) == {type(event) for event in SAMPLE_EVENTS}


def test_event_tags_match_expected_names() -> None:
    assert [msgspec.to_builtins(event)["type"] for event in SAMPLE_EVENTS] == [
        "run_started",
        "stage_started",
        "turn_started",
        "text_delta",
        "thought_delta",
        "text_retracted",
        "tool_call",
        "approval_requested",
        "approval_resolved",
        "tool_result",
        "notice",
        "turn_ended",
        "run_ended",
        "instructions_sent",
        "agreement_checked",
        "summary",
        "claims",
        "vote",
        "ranking",
        "action",
        "action_rejected",
        "speaker_selected",
        "reference_summarized",
    ]


@pytest.mark.parametrize("event", SAMPLE_EVENTS, ids=lambda event: type(event).__name__)
def test_event_survives_json_round_trip(event: Event) -> None:
    assert decode_event(msgspec.json.encode(event)) == event


@pytest.mark.parametrize("event", SAMPLE_EVENTS[2:10], ids=lambda event: type(event).__name__)
def test_turn_event_has_turn_key(event: TurnStarted) -> None:
    assert event.turn_key == TurnKey("alpha", "answer", 0)


def test_every_stop_reason_maps_to_turn_and_run_status() -> None:
    assert STATUS_BY_STOP_REASON.keys() == set(get_args(StopReason))
    assert set(STATUS_BY_STOP_REASON.values()) <= set(get_args(TurnStatus)) & set(get_args(RunStatus))


@given(st.text())
def test_event_text_survives_json_round_trip(words: str) -> None:
    event = TextDelta(participant="alpha", stage="answer", round=0, text=words)
    assert decode_event(msgspec.json.encode(event)) == event


@pytest.mark.parametrize("event", SAMPLE_EVENTS, ids=lambda event: type(event).__name__)
def test_event_is_immutable(event: Event) -> None:
    with pytest.raises(AttributeError):
        event.seq = 2  # type: ignore[misc]


def test_approval_resolved_event_matches_snapshot() -> None:
    assert msgspec.to_builtins(SAMPLE_EVENTS[8]) == snapshot(
        {
            "type": "approval_resolved",
            "run": "",
            "seq": 0,
            "at": 0.0,
            "participant": "alpha",
            "stage": "answer",
            "round": 0,
            "call_id": "call_1",
            "outcome": "always",
        }
    )
