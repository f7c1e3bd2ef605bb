import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.types.actions import get_action_name
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.drawing import ClearWhiteboard, OpenWhiteboard
from moot.types.events import (
    ActionRejected,
    Event,
    Notice,
    RunEnded,
    SummaryMade,
    TextDelta,
    TextRetracted,
    ToolCalled,
    ToolReturned,
    TurnKey,
    TurnStatus,
)
from moot.types.run_state import TurnState, fold_events
from tests.support import whiteboard_events as lesson
from tests.support.debate_samples import (
    ANALYSIS_EVENTS,
    DEBATE_CLAIMS,
    RANKING,
    SUMMARY,
    debate_events,
)
from tests.support.run_events import (
    CONNECTION_BROKE,
    KEY_REJECTED,
    run_started,
    text_delta,
    text_retracted,
    thought_delta,
    turn_ended,
    turn_started,
)
from tests.support.whiteboard_events import FIRST_TURN, SECOND_TURN, action_taken, turn_fields

TURN = TurnKey("alpha", "answer", 0)
TOOL_CALL = ToolCalled(participant="alpha", stage="answer", round=0, call_id="one", name="words/count", arguments="{}")
TOOL_RESULT = ToolReturned(
    participant="alpha",
    stage="answer",
    round=0,
    call_id="one",
    name="words/count",
    content="2",
    is_error=False,
    seconds=0.5,
)


def turn_after(*events: Event) -> TurnState:
    return fold_events([turn_started("alpha"), *events]).turns[TURN]


def test_turn_status_follows_what_it_streams() -> None:
    assert turn_after().status == "waiting"
    assert turn_after(thought_delta("alpha", "Hm.")).status == "thinking"
    assert turn_after(thought_delta("alpha", "Hm."), text_delta("alpha", "Rou")).status == "speaking"
    assert turn_after(text_delta("alpha", "Rou"), turn_ended("alpha", "Round.")).status == "completed"


def test_live_turn_has_streamed_text_and_thoughts() -> None:
    turn = turn_after(thought_delta("alpha", "Hm. "), text_delta("alpha", "Rou"), text_delta("alpha", "nd."))
    assert (turn.text, turn.thoughts, turn.end) == ("Round.", "Hm. ", None)


def test_ended_turn_has_text_of_its_end() -> None:
    end = turn_ended("alpha", "Square.", model="z/fallback")
    turn = turn_after(text_delta("alpha", "Round."), end)
    assert (turn.text, turn.model, turn.end, turn.parts) == ("Square.", "z/fallback", end, [])


def test_new_attempt_and_retraction_discard_text() -> None:
    again = turn_after(text_delta("alpha", "Squ"), turn_started("alpha", "z/fallback", attempt=2))
    assert (again.text, again.model, again.attempt) == ("", "z/fallback", 2)
    assert turn_after(text_delta("alpha", "Hm."), text_retracted("alpha"), text_delta("alpha", "Yes.")).text == "Yes."


def test_tool_call_knows_where_it_was_made_and_its_result() -> None:
    (call,) = turn_after(text_delta("alpha", "Let me."), TOOL_CALL).calls.values()
    assert (call.call, call.text_offset, call.result) == (TOOL_CALL, 7, None)
    (call,) = turn_after(TOOL_CALL, TOOL_RESULT).calls.values()
    assert call.result == TOOL_RESULT


def test_result_of_unknown_tool_call_is_ignored() -> None:
    assert turn_after(TOOL_RESULT).calls == {}


def test_live_turns_have_not_ended() -> None:
    events = [turn_started("alpha"), turn_started("beta"), turn_ended("beta", "No.")]
    assert [turn.key.participant for turn in fold_events(events).live_turns] == ["alpha"]


def test_retried_turn_ends_twice_and_is_paid_twice() -> None:
    failed = turn_ended("alpha", status="failed", error=KEY_REJECTED, cost=0.25)
    run = fold_events([turn_started("alpha"), failed, turn_started("alpha"), turn_ended("alpha", "Yes.", cost=0.5)])
    assert [turn.status for turn in run.ended_turns] == ["failed", "completed"]
    assert (run.cost_usd, run.usage, len(run.turns)) == (0.75, Usage(20, 40), 1)


def test_run_has_no_status_while_it_runs() -> None:
    ended = RunEnded(status="failed")
    retried = Notice(kind="retried", message="Alpha is asked again.")
    assert fold_events([run_started("a/one")]).status is None
    assert fold_events([run_started("a/one"), ended]).status == "failed"
    assert fold_events([run_started("a/one"), ended, retried]).status is None


def test_debate_has_summary_claims_and_ranking() -> None:
    run = fold_events(debate_events(*ANALYSIS_EVENTS))
    assert (run.summary, run.ranking, run.claims) == (SUMMARY, RANKING, DEBATE_CLAIMS)
    assert run.names == {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}
    assert run.analyses == [*ANALYSIS_EVENTS]


def test_later_summary_replaces_earlier_one() -> None:
    earlier, later = (
        SummaryMade(cache_key=words, summary=replace(SUMMARY, overview=words))
        for words in ("They differ.", "They agree.")
    )
    assert fold_events([earlier, later]).summary == later.summary
    assert fold_events([later, earlier]).summary == earlier.summary


def test_paid_calls_include_failed_analyses() -> None:
    charge = Charge(purpose="summary", model="a/one", usage=Usage(5), cost_usd=1.0)
    notice = Notice(kind="missing", message="There is no summary.", charge=charge)
    run = fold_events([turn_ended("alpha", cost=0.5), notice])
    assert (run.analyses, run.notices, run.cost_usd, run.usage) == ([charge], [notice], 1.5, Usage(15, 20))


def test_fault_of_run_is_the_newest() -> None:
    events = [turn_ended("alpha", error=KEY_REJECTED), turn_ended("beta", error=CONNECTION_BROKE), turn_ended("alpha")]
    assert fold_events(events).fault == CONNECTION_BROKE
    assert fold_events([]).fault is None


def action_names(*events: Event) -> list[str]:
    return [f"{one.participant} {get_action_name(one.action)}" for one in fold_events(events).actions]


def test_actions_are_listed_in_order_of_events() -> None:
    log = [
        lesson.turn_started(FIRST_TURN),
        lesson.turn_started(SECOND_TURN),
        action_taken(SECOND_TURN, ClearWhiteboard()),
        action_taken(FIRST_TURN, OpenWhiteboard()),
        lesson.turn_ended(FIRST_TURN),
    ]
    numbered = [replace(event, seq=number) for number, event in enumerate(log, start=1)]
    assert action_names(*numbered) == ["beta wb_clear", "alpha wb_open"]


@pytest.mark.parametrize(
    "void",
    [
        lesson.turn_started(FIRST_TURN, 2),
        TextRetracted(**turn_fields(FIRST_TURN)),  # type: ignore[arg-type]
        lesson.turn_ended(FIRST_TURN, status="failed"),
    ],
)
def test_restarted_or_failed_turn_loses_its_actions(void: Event) -> None:
    log = [
        lesson.turn_started(SECOND_TURN),
        action_taken(SECOND_TURN, ClearWhiteboard()),
        lesson.turn_started(FIRST_TURN),
        action_taken(FIRST_TURN, OpenWhiteboard()),
    ]
    assert action_names(*log, void) == ["beta wb_clear"]


@pytest.mark.parametrize("status", ["completed", "partial", "stopped", "interrupted"])
def test_turn_with_other_status_keeps_its_actions(status: TurnStatus) -> None:
    log = [lesson.turn_started(FIRST_TURN), action_taken(FIRST_TURN, OpenWhiteboard())]
    assert action_names(*log, lesson.turn_ended(FIRST_TURN, status=status)) == ["alpha wb_open"]


def test_rejected_actions_and_text_are_no_actions() -> None:
    speech = TextDelta(**turn_fields(FIRST_TURN), text="wb_open")  # type: ignore[arg-type]
    dropped = ActionRejected(**turn_fields(FIRST_TURN), name="wb_open", reason="No.")  # type: ignore[arg-type]
    assert action_names(lesson.turn_started(FIRST_TURN), speech, dropped) == []


@given(st.lists(st.text("ab c", max_size=5), max_size=20))
def test_text_is_the_same_however_it_is_cut(parts: list[str]) -> None:
    turn = turn_after(*(text_delta("alpha", part) for part in parts))
    assert turn.text == "".join(parts)
