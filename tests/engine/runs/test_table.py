"""Runs at a table: which models are called, what is stored, and how a failure or a stop affects the others."""

import asyncio
from collections.abc import Callable, Mapping
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.engine.runs.table import RunStopped, run_status
from moot.providers.provider import ChunkStream
from moot.providers.scripted.scripts import Script
from moot.streaming.cancellation import StopSignal
from moot.types.chunks import Text, Usage
from moot.types.discussions import Message
from moot.types.errors import DatabaseUnavailable, MissingKey
from moot.types.events import (
    AnalysisResult,
    ClaimsExtracted,
    Event,
    Notice,
    RankingMade,
    StageStarted,
    StopReason,
    SummaryMade,
    TextDelta,
    TurnEnded,
    TurnKey,
    TurnStarted,
    TurnStatus,
    VoteCast,
)
from moot.types.modes import AdvisorOptions, DebateOptions
from moot.types.requests import ModelRequest
from tests.support import debate_scripts
from tests.support.table_harness import QUESTION, RecordingProvider, TableHarness

SCRIPTS = {
    "yes": Script(answer="Yes, indeed."),
    "no": Script(answer="Not at all."),
    "slow": Script(answer="Well, let me think about it.", chunk_chars=6, chunk_interval_seconds=0.01),
    "endless": Script(answer="On and on. ", chunk_chars=11, chunk_interval_seconds=0.005, fault="endless"),
}


def create_table(mode: str, *models: str, **more: object) -> TableHarness:
    return TableHarness(mode, *models, scripts=SCRIPTS, **more)  # type: ignore[arg-type]


def stored_turn(participant: str, text: str, *, round_: int = 0, status: TurnStatus = "completed") -> Message:
    return replace(
        QUESTION,
        id=f"msg_{participant}_{round_}",
        role="assistant",
        participant=participant,
        name=participant.title(),
        stage="round",
        round=round_,
        content=text,
        status=status,
        seq=2,
    )


class TestModes:
    async def test_consensus_turns_see_all_earlier_messages(self) -> None:
        table = create_table("consensus", "yes", "no")
        assert await table.table.run_mode() == "completed"
        assert table.sent_messages == [
            [("user", "Why?")],
            [("user", "Why?", "Alpha said:\n\nYes, indeed.")],
            [("user", "Why?"), ("assistant", "Yes, indeed."), ("user", "Beta said:\n\nNot at all.")],
            [
                ("user", "Why?", "Alpha said:\n\nYes, indeed."),
                ("assistant", "Not at all."),
                ("user", "Alpha said:\n\nYes, indeed."),
            ],
        ]
        assert table.answer_lines == [
            "0/alpha completed: Yes, indeed.",
            "0/beta completed: Not at all.",
            "1/alpha completed: Yes, indeed.",
            "1/beta completed: Not at all.",
        ]

    async def test_parallel_turns_do_not_see_each_other(self) -> None:
        table = create_table("parallel", "yes", "slow", "no")
        assert await table.table.run_mode() == "completed"
        assert table.sent_messages == [[("user", "Why?")]] * 3
        speakers = [event.participant for event in table.transcript.events if isinstance(event, TextDelta)]
        assert speakers.index("gamma") < len(speakers) - 1 - speakers[::-1].index("beta")

    async def test_failed_participant_is_skipped_and_its_failure_is_not_in_prompts(self) -> None:
        table = create_table("consensus", "unauthorized", "yes", rounds=1)
        assert await table.table.run_mode() == "completed"
        assert [(m.participant, m.status) for m in table.answers] == [
            ("alpha", "failed"),
            ("beta", "completed"),
        ]
        assert table.sent_messages[-1] == [("user", "Why?")]

    async def test_partial_answer_is_stored_and_marked_in_prompts(self) -> None:
        table = create_table("consensus", "reset", "yes", rounds=1)
        await table.table.run_mode()
        partial = table.answers[0]
        assert (partial.status, partial.content) == ("partial", "A table has no head when")
        assert table.sent_messages[-1] == [("user", "Why?", f"Alpha said, and was cut off:\n\n{partial.content}")]

    async def test_each_round_starts_with_stage_started_event(self) -> None:
        table = create_table("consensus", "yes", "no")
        await table.table.run_mode()
        order = [
            f"round {event.round}" if isinstance(event, StageStarted) else event.participant
            for event in table.transcript.events
            if isinstance(event, StageStarted | TurnEnded)
        ]
        assert order == ["round 0", "alpha", "beta", "round 1", "alpha", "beta"]

    async def test_continue_mode_takes_turns_with_instruction(self) -> None:
        messages = [QUESTION, stored_turn("alpha", "Yes.")]
        table = create_table("continue", "yes", "no", messages=messages, turns=3, first_position=1)
        assert await table.table.run_mode() == "completed"
        assert [message.participant for message in table.answers] == ["alpha", "beta", "alpha", "beta"]
        (_, *texts) = table.sent_messages[0][-1]
        assert texts[-1] == table.answers[1].instructions


class TestStoredTurns:
    async def test_answer_is_stored_with_its_prompt_parameters(self) -> None:
        table = create_table("parallel", "yes", "no", to=("alpha",))
        await table.table.run_mode()
        (answer,) = table.answers
        assert answer == replace(
            answer,
            discussion="dis_1",
            run="run_1",
            role="assistant",
            content="Yes, indeed.",
            participant="alpha",
            name="Alpha",
            stage="answer",
            round=0,
            status="completed",
            model="yes",
            fault=None,
            visible_to=("alpha",),
            view="blind",
            visible_until=1,
            instructions=None,
        )
        (ended,) = [event for event in table.transcript.events if isinstance(event, TurnEnded)]
        assert (answer.usage, answer.cost_usd, answer.latency_seconds) == (
            ended.usage,
            ended.cost_usd,
            ended.latency_seconds,
        )
        assert answer.id.startswith("msg_")
        assert answer.created_at > 0

    async def test_stored_turn_is_not_called_again(self) -> None:
        table = create_table("consensus", "yes", "no", messages=[QUESTION, stored_turn("alpha", "Kept.")], rounds=1)
        assert await table.table.run_mode() == "completed"
        assert table.sent_messages == [[("user", "Why?", "Alpha said:\n\nKept.")]]
        assert table.answer_lines == ["0/alpha completed: Kept.", "0/beta completed: Not at all."]
        assert [e.participant for e in table.transcript.events if isinstance(e, TurnEnded)] == ["beta"]

    async def test_continue_mode_calls_only_turns_that_are_not_stored(self) -> None:
        stored = [stored_turn("beta", "Kept 0."), stored_turn("alpha", "Kept 1.", round_=1)]
        messages = [QUESTION, *(replace(one, stage="continue") for one in stored)]
        table = create_table("continue", "yes", "no", messages=messages, turns=4, first_position=1)
        assert await table.table.run_mode() == "completed"
        assert table.answer_lines == [
            "0/beta completed: Kept 0.",
            "1/alpha completed: Kept 1.",
            "2/beta completed: Not at all.",
            "3/alpha completed: Yes, indeed.",
        ]
        assert [call.model for call in table.provider.requests] == ["no", "yes"]
        assert "Alpha said:\n\nKept 1." in table.sent_messages[0][-1]

    @pytest.mark.parametrize("other", [{"run": "run_0"}, {"round": 1}, {"stage": "answer"}])
    async def test_stored_turn_counts_only_for_same_run_stage_and_round(self, other: dict[str, object]) -> None:
        messages = [QUESTION, replace(stored_turn("alpha", "Kept."), **other)]
        table = create_table("consensus", "yes", messages=messages, rounds=1)
        await table.table.run_mode()
        assert len(table.sent_messages) == 1

    async def test_stored_turn_keeps_its_status(self) -> None:
        messages = [QUESTION, stored_turn("alpha", "", status="failed")]
        table = create_table("consensus", "yes", messages=messages, rounds=1)
        assert await table.table.run_mode() == "failed"
        assert table.sent_messages == []

    async def test_every_turn_is_a_step_with_unique_name(self) -> None:
        table = create_table("consensus", "yes", "no")
        await table.table.run_mode()
        assert table.steps == ["round/0/alpha", "round/0/beta", "round/1/alpha", "round/1/beta"]

    async def test_parallel_turns_are_one_step(self) -> None:
        table = create_table("parallel", "slow", "yes", "no")
        await table.table.run_mode()
        assert table.steps == ["answer/0"], "all that is done at once is one step"


class TestUnavailableModels:
    @pytest.mark.parametrize("mode", ["parallel", "consensus"])
    async def test_unavailable_model_fails_its_turn_with_reason_and_others_continue(self, mode: str) -> None:
        why = MissingKey("No key for openai: set OPENAI_API_KEY.")
        table = create_table(mode, "yes", "no", model_errors={"alpha": why}, rounds=1)
        assert await table.table.run_mode() == "completed"
        assert table.answer_lines == ["0/alpha failed: ", "0/beta completed: Not at all."]
        refused = table.answers[0]
        assert refused.fault is not None
        assert (refused.fault.message, refused.fault.retryable) == (str(why), False)
        assert (refused.model, refused.cost_usd) == ("yes", 0.0)

    async def test_run_fails_when_no_model_is_available(self) -> None:
        why = MissingKey("No key.")
        table = create_table("parallel", "yes", "no", model_errors={"alpha": why, "beta": why})
        assert await table.table.run_mode() == "failed"


class TestStops:
    @pytest.mark.parametrize("mode", ["parallel", "consensus"])
    async def test_stopped_participant_keeps_text_so_far_and_others_continue(self, mode: str) -> None:
        table = create_table(mode, "endless", "slow", rounds=1)
        table.on_text("alpha", "On and on.", table.table.stop_signals["alpha"].request_stop)
        assert await table.table.run_mode() == "completed"
        assert table.answer_lines == [
            "0/alpha stopped: On and on. ",
            "0/beta completed: Well, let me think about it.",
        ]

    async def test_stopped_participant_is_not_called_in_later_rounds(self) -> None:
        table = create_table("consensus", "endless", "yes", rounds=2)
        table.on_text("alpha", "On", table.table.stop_signals["alpha"].request_stop)
        assert await table.table.run_mode() == "completed"
        assert [call.model for call in table.provider.requests] == ["endless", "yes", "yes"]
        assert table.answer_lines == [
            "0/alpha stopped: On and on. ",
            "0/beta completed: Yes, indeed.",
            "1/beta completed: Yes, indeed.",
        ]

    @pytest.mark.parametrize("mode", ["parallel", "consensus", "continue"])
    async def test_participant_stopped_before_its_turn_has_no_call_and_no_events(self, mode: str) -> None:
        table = create_table(mode, "yes", "no", rounds=1, turns=2)
        table.table.stop_signals["alpha"].request_stop()
        assert await table.table.run_mode() == "completed"
        assert [message.participant for message in table.answers] == ["beta"]
        participants = [getattr(event, "participant", None) for event in table.transcript.events]
        assert "alpha" not in participants

    async def test_stopped_turn_that_was_visible_gets_turn_end(self) -> None:
        table = create_table("single", "yes")
        table.transcript.open_turns.add(TurnKey("alpha"))
        table.table.stop_signals["alpha"].request_stop()
        assert await table.table.run_mode() == "stopped"
        assert table.answer_lines == ["0/alpha stopped: "]
        assert table.sent_messages == []

    async def test_continue_mode_ends_when_all_participants_are_stopped(self) -> None:
        table = create_table("continue", "endless", "endless", turns=20)
        for one in ("alpha", "beta"):
            table.table.stop_signals[one].request_stop()
        assert await table.table.run_mode() == "stopped"
        assert len(table.steps) == 2

    async def test_run_is_stopped_when_its_only_participant_is_stopped(self) -> None:
        table = create_table("single", "endless")
        table.on_text("alpha", "On", table.table.stop_signals["alpha"].request_stop)
        assert await table.table.run_mode() == "stopped"

    @pytest.mark.parametrize(
        ("reason", "status"), [("stopped_by_user", "stopped"), ("follow_up_interrupt", "interrupted")]
    )
    async def test_run_stop_ends_mode_at_once(self, reason: StopReason, status: TurnStatus) -> None:
        table = create_table("consensus", "yes", "endless", "no", rounds=3)
        table.on_text("beta", "On", lambda: table.stop.request_stop(reason))
        assert await table.table.run_mode() == status
        assert table.answer_lines == ["0/alpha completed: Yes, indeed.", f"0/beta {status}: On and on. "]
        assert len(table.provider.requests) == 2

    async def test_run_stop_ends_all_parallel_turns(self) -> None:
        table = create_table("parallel", "endless", "endless", "yes")

        def stop_at_the_first_end(event: Event) -> None:
            if isinstance(event, TurnEnded):
                table.stop.request_stop()

        table.transcript.on_event = stop_at_the_first_end
        assert await table.table.run_mode() == "stopped"
        assert {message.participant: message.status for message in table.answers} == {
            "alpha": "stopped",
            "beta": "stopped",
            "gamma": "completed",
        }
        assert table.provider.closed_streams == 3

    @pytest.mark.parametrize("mode", ["single", "parallel", "consensus", "continue"])
    async def test_run_stopped_before_start_makes_no_call(self, mode: str) -> None:
        table = create_table(mode, "yes", "no")
        table.stop.request_stop()
        assert await table.table.run_mode() == "stopped"
        assert (table.sent_messages, table.answer_lines, table.transcript.events) == ([], [], [])

    async def test_open_stage_raises_run_stopped_after_stop(self) -> None:
        table = create_table("consensus", "yes")
        table.stop.request_stop()
        with pytest.raises(RunStopped):
            await table.table.open_stage("round")


async def test_failed_commit_cancels_other_turns() -> None:
    table = create_table("parallel", "yes", "endless")

    def unreachable(event: Event) -> None:
        if isinstance(event, TurnEnded):
            raise DatabaseUnavailable

    table.transcript.on_event = unreachable
    with pytest.raises(DatabaseUnavailable):
        await table.table.run_mode()
    assert table.provider.closed_streams == 2


async def test_first_exception_of_parallel_turns_is_raised_unwrapped() -> None:
    class Ending(BaseException):
        """An exception that `except Exception` does not catch, as some libraries raise."""

    table = create_table("parallel", "yes", "endless")

    def end(event: Event) -> None:
        if isinstance(event, TurnEnded):
            raise Ending

    table.transcript.on_event = end
    with pytest.raises(Ending):
        await table.table.run_mode()


def status_after_stop(turns: list[TurnStatus], reason: StopReason | None = None) -> str:
    stop = StopSignal()
    if reason:
        stop.request_stop(reason)
    return run_status(turns, stop)


turn_status_lists = st.lists(st.sampled_from(get_args(TurnStatus)))


class TestRunStatus:
    @given(turn_status_lists)
    def test_stopped_run_has_stop_status_whatever_its_turns(self, turns: list[TurnStatus]) -> None:
        assert status_after_stop(turns, "stopped_by_user") == "stopped"
        assert status_after_stop(turns, "follow_up_interrupt") == "interrupted"

    @given(turn_status_lists)
    def test_run_is_completed_when_one_turn_completed(self, turns: list[TurnStatus]) -> None:
        assert status_after_stop([*turns, "completed"]) == "completed"

    @pytest.mark.parametrize(
        ("turns", "status"),
        [
            ([], "failed"),
            (["failed", "partial"], "failed"),
            (["failed", "stopped"], "stopped"),
        ],
    )
    def test_run_status_is_failed_or_stopped_when_no_turn_completed(self, turns: list[TurnStatus], status: str) -> None:
        assert status_after_stop(turns) == status


DEBATE_SCRIPTS = debate_scripts.DEBATER_SCRIPTS | {
    "broken": Script(fault="unauthorized"),
    "mute": Script(
        answer="Yes.",
        answer_if_contains={
            debate_scripts.SECOND_ANSWER_PROMPT: "Still.",
            **debate_scripts.TASK_ANSWERS,
            debate_scripts.SYNTHESIS_PROMPT: "",
        },
    ),
    "endless": Script(answer="On and on. ", chunk_chars=11, chunk_interval_seconds=0.002, fault="endless"),
    "stuck": Script(
        answer="So.",
        answer_if_contains={debate_scripts.SECOND_ANSWER_PROMPT: "On and on. ", **debate_scripts.TASK_ANSWERS},
        chunk_chars=11,
        chunk_interval_seconds=0.002,
    ),
}


class PricedProvider(RecordingProvider):
    """Every call costs a dollar."""

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        return 1.0


class StuckProvider(RecordingProvider):
    """The model `stuck` never finishes its second answer."""

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        async for chunks in super().stream_chunks(request, key):
            yield chunks
            while request.model == "stuck" and debate_scripts.SECOND_ANSWER_PROMPT in str(request.messages[-1]):
                await asyncio.sleep(0.002)
                yield [Text("On and on. ")]


class WaitingProvider(RecordingProvider):
    """The model `yes` does not answer before another participant is retried."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(scripts)
        self.retried = asyncio.Event()

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        if request.model == "yes":
            await self.retried.wait()
        async for chunks in super().stream_chunks(request, key):
            yield chunks


def create_debate(*models: str, **more: object) -> TableHarness:
    return TableHarness("debate", *models, scripts=DEBATE_SCRIPTS, **more)  # type: ignore[arg-type]


def notice_texts(harness: TableHarness) -> list[tuple[str, str]]:
    return [(event.kind, event.message) for event in harness.transcript.events if isinstance(event, Notice)]


def turn_statuses(harness: TableHarness, stage: str) -> dict[str | None, str]:
    return {m.participant: m.status for m in harness.transcript.messages if m.stage == stage and m.participant}


class TestQuorumAndDeadline:
    async def test_stage_continues_when_quorum_answered(self) -> None:
        table = create_debate("yes", "endless", "no", debate=DebateOptions(quorum=2))
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table, "initial") == {
            "alpha": "completed",
            "beta": "failed",
            "gamma": "completed",
        }
        assert turn_statuses(table, "debate") == {"alpha": "completed", "gamma": "completed"}
        assert table.transcript.lanes["beta"].late

    async def test_stage_continues_at_deadline(self) -> None:
        table = create_debate("endless", "yes", "endless", debate=DebateOptions(deadline=1.0))
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table, "initial") == {"alpha": "failed", "beta": "completed", "gamma": "failed"}
        assert {who for who, lane in table.transcript.lanes.items() if lane.late} == {"alpha", "gamma"}
        assert turn_statuses(table, "synthesis") == {"beta": "completed"}

    async def test_first_answers_are_synthesized_when_all_rebuttals_are_late(self) -> None:
        table = create_debate(
            "stuck", "stuck", provider=StuckProvider(DEBATE_SCRIPTS), debate=DebateOptions(deadline=1.0)
        )
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table, "debate") == {"alpha": "failed", "beta": "failed"}
        assert turn_statuses(table, "synthesis") == {"alpha": "completed"}

    async def test_answer_committed_while_late_continues_with_others(self) -> None:
        table = create_debate("yes", "no")

        def late_by_a_hair(event: Event) -> None:
            """Mark a participant as late while its finished answer is being stored."""
            if isinstance(event, TurnEnded) and event.stage == "initial":
                table.table.stop_signals[event.participant].request_stop("late")

        table.transcript.on_event = late_by_a_hair
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table, "debate") == {"alpha": "completed", "beta": "completed"}
        assert not any(lane.late for lane in table.transcript.lanes.values())

    async def test_quorum_counts_per_stage(self) -> None:
        table = create_debate(
            "yes", "no", "stuck", provider=StuckProvider(DEBATE_SCRIPTS), debate=DebateOptions(quorum=2)
        )
        assert await table.table.run_mode() == "completed"
        assert table.transcript.lanes["gamma"].status == "error"


class TestMaxCost:
    def create_priced_debate(self, max_cost_usd: float, *models: str, **more: object) -> TableHarness:
        return create_debate(
            *models or ("yes", "no", "perhaps"),
            provider=PricedProvider(DEBATE_SCRIPTS),
            max_cost_usd=max_cost_usd,
            **more,
        )

    async def test_run_stops_when_max_cost_is_spent(self) -> None:
        table = TableHarness(
            "continue", "yes", "no", provider=PricedProvider(DEBATE_SCRIPTS), turns=6, max_cost_usd=3.0
        )
        assert await table.table.run_mode() == "stopped"
        assert len(table.provider.requests) == 3
        assert notice_texts(table) == [
            ("max_cost", "The run has cost $3.00 and its spending limit is $3.00. It ends here.")
        ]

    async def test_run_takes_one_more_turn_when_max_cost_is_one_cent_higher(self) -> None:
        table = TableHarness(
            "continue", "yes", "no", provider=PricedProvider(DEBATE_SCRIPTS), turns=6, max_cost_usd=3.01
        )
        await table.table.run_mode()
        assert len(table.provider.requests) == 4

    async def test_run_skips_nothing_when_max_cost_is_sufficient(self) -> None:
        table = self.create_priced_debate(100.0)
        assert await table.table.run_mode() == "completed"
        assert [kind for kind, _ in notice_texts(table)] == []
        assert len(table.provider.requests) == 3 + 3 + 1 + 1 + 1 + 3

    async def test_debate_stage_is_skipped_when_synthesis_would_exceed_max_cost(self) -> None:
        table = self.create_priced_debate(6.99)  # 3 spent, and 3 + 1 more needed
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table, "debate") == {}
        assert turn_statuses(table, "synthesis") == {"alpha": "completed"}
        assert notice_texts(table)[:2] == [
            (
                "max_cost",
                "The debate is skipped. It would cost about $4.00; $3.99 of the spending limit of $6.99 are left.",
            ),
            ("max_cost", "The first answers stand as they are."),
        ]
        assert {lane.status for lane in table.transcript.lanes.values()} == {"complete"}

    async def test_ranking_is_skipped_before_claims(self) -> None:
        table = self.create_priced_debate(9.0)  # 6 spent after the debate; the claims need 1 + 1 more, a ranking 3 + 1
        assert await table.table.run_mode() == "completed"
        assert [words.partition(" is ")[0] for _, words in notice_texts(table)] == ["The ranking"]
        assert {one.purpose for one in table.transcript.charges} >= {"claims", "summary", "synthesis"}

    async def test_claims_are_skipped_but_synthesis_is_not(self) -> None:
        table = self.create_priced_debate(3.5, "yes", "no")  # 2 spent: no debate, and no claims for 1 + 1 more
        assert await table.table.run_mode() == "completed"
        assert [words.partition(" is ")[0] for _, words in notice_texts(table)] == [
            "The debate",
            "The first answers stand as they are.",
            "The list of claims",
        ]
        assert turn_statuses(table, "synthesis") == {"alpha": "completed"}

    async def test_run_stops_after_first_answers_when_they_spend_max_cost(self) -> None:
        table = self.create_priced_debate(3.0)
        assert await table.table.run_mode() == "stopped"
        assert len([one for one in table.transcript.charges if one.purpose == "synthesis"]) == 0
        assert turn_statuses(table, "synthesis") == {}


class TestReplay:
    async def test_recorded_steps_keep_their_results_and_make_no_call(self) -> None:
        first = create_debate("yes", "mute", "perhaps")
        assert await first.table.run_mode() == "completed"
        again = create_debate("yes", "mute", "perhaps", messages=first.transcript.messages)
        again.transcript.analysis_results += first.transcript.analysis_results
        again.recorded_results = first.step_results
        assert await again.table.run_mode() == "completed"
        assert (again.sent_messages, again.steps) == ([], first.steps)
        assert again.step_results == first.step_results
        assert again.transcript.charges == []

    async def test_interrupted_step_calls_only_missing_turns(self) -> None:
        first = create_debate("yes", "no", "perhaps")
        await first.table.run_mode()
        stored = [m for m in first.transcript.messages if (m.participant, m.stage) != ("beta", "debate")]
        stored = [m for m in stored if m.stage != "synthesis"]
        again = create_debate("yes", "no", "perhaps", messages=stored)
        again.recorded_results = {name: result for name, result in first.step_results.items() if name == "initial/0"}
        assert await again.table.run_mode() == "completed"
        answers = [one.participant for one in again.transcript.charges if one.purpose == "answer"]
        assert answers == ["beta"]

    @pytest.mark.parametrize(
        ("purpose", "who", "is_cut"),
        [
            ("synthesis", "alpha", lambda one: isinstance(one, Message) and one.role == "synthesis"),
            ("summary", "alpha", lambda one: isinstance(one, SummaryMade)),
            ("claims", "alpha", lambda one: isinstance(one, ClaimsExtracted)),
            ("ranking", "gamma", lambda one: isinstance(one, VoteCast) and one.participant == "gamma"),
        ],
    )
    async def test_interrupted_conclusion_calls_only_missing_part(
        self, purpose: str, who: str, is_cut: Callable[[Message | AnalysisResult], bool]
    ) -> None:
        first = create_debate("yes", "no", "perhaps")
        await first.table.run_mode()
        left = [one for one in first.transcript.messages if not is_cut(one)]
        again = create_debate("yes", "no", "perhaps", messages=left)
        again.transcript.analysis_results += [one for one in first.transcript.analysis_results if not is_cut(one)]
        again.recorded_results = {name: result for name, result in first.step_results.items() if name != "together/1"}
        assert await again.table.run_mode() == "completed"
        assert [(one.purpose, one.participant) for one in again.transcript.charges] == [(purpose, who)]
        assert len(again.sent_messages) == 1
        assert turn_statuses(again, "synthesis") == {"alpha": "completed"}
        assert set(map(repr, again.transcript.analysis_results)) == set(map(repr, first.transcript.analysis_results))
        rankings = [
            [event for event in table.transcript.events if isinstance(event, RankingMade)] for table in (first, again)
        ]
        assert len(rankings[0]) == 1
        assert rankings[1] == rankings[0]


class TestSynthesis:
    async def test_next_participant_synthesizes_when_lead_fails(self) -> None:
        table = create_debate("mute", "no", "perhaps")
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table, "synthesis") == {"alpha": "failed", "beta": "completed"}
        assert ("lead_replaced", "Alpha could not give the synthesis. Beta does.") in notice_texts(table)
        assert table.steps == ["initial/0", "debate/0", "together/1"]
        instructed = [m.visible_to for m in table.transcript.messages if m.stage == "synthesis" and m.hidden]
        assert instructed == [("alpha",), ("beta",)]

    async def test_missing_synthesis_is_reported_and_answers_stay(self) -> None:
        table = create_debate("mute", "mute")
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table, "synthesis") == {"alpha": "failed", "beta": "failed"}
        assert ("missing", "Beta could not give the synthesis, and no participant is left.") in notice_texts(table)

    async def test_failed_lead_is_not_called_again_after_crash(self) -> None:
        before = create_debate("mute", "no", "perhaps")
        await before.table.run_mode()
        table = create_debate("mute", "no", "perhaps", messages=before.transcript.messages)
        table.transcript.analysis_results += before.transcript.analysis_results
        assert await table.table.run_mode() == "completed"
        assert table.sent_messages == []


class TestRetry:
    async def test_failed_participant_is_retried_while_others_speak(self) -> None:
        provider = WaitingProvider(DEBATE_SCRIPTS)
        table = create_debate("yes", "slip", provider=provider)

        async def try_until_it_may() -> None:
            while not table.table.retry_participant("beta", table.table.plan):
                await asyncio.sleep(0)
            provider.retried.set()

        retrying = asyncio.create_task(try_until_it_may())
        assert await table.table.run_mode() == "completed"
        await retrying
        assert turn_statuses(table, "debate") == {"alpha": "completed", "beta": "completed"}
        assert table.transcript.lanes["beta"].status == "complete"
        ends = [e.status for e in table.transcript.events if isinstance(e, TurnEnded) and e.participant == "beta"]
        assert ends == ["failed", "completed", "completed"]

    async def test_retry_is_rejected_when_participant_has_not_failed_or_run_is_idle(self) -> None:
        table = create_debate("yes", "no")
        assert not table.table.retry_participant("beta", table.table.plan)
        await table.table.run_mode()
        assert not table.table.retry_participant("beta", table.table.plan)


DEBATE_PHASES: Mapping[str, Callable[[ModelRequest], bool]] = {
    "first answers": lambda _: True,
    "refined answers": lambda request: debate_scripts.SECOND_ANSWER_PROMPT in str(request.messages[-1]),
    "synthesis": lambda request: debate_scripts.SYNTHESIS_PROMPT in str(request.messages[-1]),
    "summary": lambda request: debate_scripts.DEBATE_SUMMARY_PROMPT in request.system,
    "claims": lambda request: debate_scripts.CLAIMS_PROMPT in request.system,
    "ranking": lambda request: debate_scripts.JUDGE_PROMPT in request.system,
}


class StoppingProvider(RecordingProvider):
    """Stops the run at the first chunk of the first call in a phase."""

    def __init__(self, phase: str) -> None:
        super().__init__(DEBATE_SCRIPTS)
        self.calls_at_stop: int | None = None
        self.stop = StopSignal()
        self._phase = DEBATE_PHASES[phase]

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        async for chunks in super().stream_chunks(request, key):
            if self.calls_at_stop is None and self._phase(request):
                self.stop.request_stop()
                self.calls_at_stop = len(self.requests)
            yield chunks


@pytest.mark.parametrize("phase", DEBATE_PHASES)
class TestStopInAnyPhase:
    async def run_until_stop(self, phase: str) -> tuple[TableHarness, StoppingProvider]:
        provider = StoppingProvider(phase)
        table = create_debate("yes", "no", "perhaps", provider=provider)
        provider.stop = table.stop
        assert await table.table.run_mode() == "stopped"
        return table, provider

    async def test_stop_prevents_further_calls(self, phase: str) -> None:
        table, provider = await self.run_until_stop(phase)
        assert provider.calls_at_stop is not None
        assert len(provider.requests) == provider.calls_at_stop
        assert provider.closed_streams == len(provider.requests)
        ended = [turn.status for turn in table.transcript.events if isinstance(turn, TurnEnded)]
        assert set(ended) <= {"completed", "stopped"}

    async def test_every_started_turn_ends_once(self, phase: str) -> None:
        table, _ = await self.run_until_stop(phase)
        events = table.transcript.events
        begun = {event.turn_key for event in events if isinstance(event, TurnStarted)}
        ended = [event.turn_key for event in events if isinstance(event, TurnEnded)]
        assert len(ended) == len(set(ended))
        assert begun <= set(ended)

    async def test_no_lane_stays_in_a_stage_without_its_turn(self, phase: str) -> None:
        table, _ = await self.run_until_stop(phase)
        states = {lane.status for lane in table.transcript.lanes.values()}
        expected = {"first answers": {"error"}, "refined answers": {"error"}}
        assert states <= expected.get(phase, {"complete"})


CROSS_TALK_PROMPT, SYNTHESIS_PROMPT = (
    "what the others have just answered",
    "what it comes to, once for all of you",
)
ADVISING = {
    "yes": Script(
        answer="Yes.", answer_if_contains={CROSS_TALK_PROMPT: "No, Beta.", SYNTHESIS_PROMPT: "All in all, yes."}
    ),
    "no": Script(answer="No.", answer_if_contains={CROSS_TALK_PROMPT: "Pass.", SYNTHESIS_PROMPT: "All in all, no."}),
    "ponder": Script(
        answer="Perhaps.", thoughts="Who knows?", answer_if_contains={CROSS_TALK_PROMPT: "I agree with Alpha."}
    ),
}
CROSS_TALK_AND_SYNTHESIS = AdvisorOptions(cross_talk=True, synthesis=True)


def create_advisors(*models: str, **more: object) -> TableHarness:
    return TableHarness("advisors", *models, scripts=ADVISING, **more)  # type: ignore[arg-type]


class TestAdvisors:
    async def test_advisors_answer_cross_talk_and_synthesize(self) -> None:
        table = create_advisors("yes", "no", "ponder", advisors=CROSS_TALK_AND_SYNTHESIS)
        assert await table.table.run_mode() == "completed"
        answers = [(m.stage, m.participant, m.content) for m in table.transcript.messages if m.participant]
        assert sorted(answers[:3]) == [
            ("answer", "alpha", "Yes."),
            ("answer", "beta", "No."),
            ("answer", "gamma", "Perhaps."),
        ]
        assert sorted(answers[3:6]) == [
            ("cross_talk", "alpha", "No, Beta."),
            ("cross_talk", "beta", "Pass."),
            ("cross_talk", "gamma", "I agree with Alpha."),
        ]
        assert answers[6:] == [("synthesis", "alpha", "All in all, yes.")]
        assert table.transcript.messages[-1].role == "synthesis"
        opened = [e.stage for e in table.transcript.events if isinstance(e, StageStarted)]
        assert opened == ["answer", "cross_talk", "synthesis"]

    async def test_advisors_see_other_answers_only_after_first_stage(self) -> None:
        table = create_advisors("yes", "no", advisors=CROSS_TALK_AND_SYNTHESIS)
        await table.table.run_mode()
        first, second, *cross_talk, last = table.sent_messages
        assert first == second == [("user", "[1970-01-01 00:00] Why?")]
        to_alpha = next(call for call in cross_talk if ("assistant", "Yes.") in call)
        assert "Beta:\nNo." in to_alpha[-1][1]
        assert "Yes." not in to_alpha[-1][1]
        assert "Alpha, to the others:\nNo, Beta." in last[-1][1]
        assert "Beta, to the others" not in last[-1][1], "it passed"

    async def test_failed_advisor_gets_advice_and_others_continue(self) -> None:
        why = MissingKey("No key for openai: set OPENAI_API_KEY.")
        table = create_advisors(
            "yes",
            "no",
            "unauthorized",
            "overloaded",
            model_errors={"beta": why},
            advisors=CROSS_TALK_AND_SYNTHESIS,
        )
        assert await table.table.run_mode() == "completed"
        faults = {m.participant: m.fault.message for m in table.answers if m.fault is not None}
        assert faults["beta"] == str(why)
        assert "Key rejected for scripted" in faults["gamma"]
        assert faults["delta"].endswith("Gave up after 3 tries. Try again later, or choose another model.")
        assert [m.content for m in table.answers if m.status == "completed"] == ["Yes."]
        assert "talk" not in str(table.steps), "a single advisor has no cross talk"

    async def test_thoughts_are_stored_separately_and_not_in_prompts(self) -> None:
        table = create_advisors("yes", "ponder", advisors=CROSS_TALK_AND_SYNTHESIS)
        await table.table.run_mode()
        (ponder,) = [m for m in table.answers if m.participant == "beta" and m.stage == "answer"]
        assert (ponder.content, ponder.thoughts) == ("Perhaps.", "Who knows?")
        assert "Who knows?" not in str(table.sent_messages)

    async def test_max_cost_skips_cross_talk_then_synthesis_with_notices(self) -> None:
        for max_cost_usd, left_out in (
            (5.0, []),
            (4.9, ["The cross-talk"]),
            (2.9, ["The cross-talk", "The synthesis"]),
        ):
            table = create_advisors(
                "yes",
                "no",
                advisors=CROSS_TALK_AND_SYNTHESIS,
                max_cost_usd=max_cost_usd,
                provider=PricedProvider(ADVISING),
            )
            assert await table.table.run_mode() == "completed"
            assert [words.partition(" is ")[0] for _, words in notice_texts(table)] == left_out
            assert {kind for kind, _ in notice_texts(table)} <= {"max_cost"}

    async def test_max_cost_reserves_nothing_when_synthesis_is_off(self) -> None:
        table = create_advisors(
            "yes", "no", advisors=AdvisorOptions(cross_talk=True), max_cost_usd=4.0, provider=PricedProvider(ADVISING)
        )
        assert await table.table.run_mode() == "completed"
        assert notice_texts(table) == []

    async def test_completed_advisor_turns_are_not_called_again_after_crash(self) -> None:
        first = create_advisors("yes", "no", "ponder", advisors=CROSS_TALK_AND_SYNTHESIS)
        await first.table.run_mode()
        cut_off = [m for m in first.transcript.messages if (m.participant, m.stage) != ("gamma", "cross_talk")]
        again = create_advisors(
            "yes",
            "no",
            "ponder",
            advisors=CROSS_TALK_AND_SYNTHESIS,
            messages=[m for m in cut_off if m.stage != "synthesis"],
        )
        again.recorded_results = {name: result for name, result in first.step_results.items() if name == "answer/0"}
        assert await again.table.run_mode() == "completed"
        asked = [(one.purpose, one.participant) for one in again.transcript.charges]
        assert asked == [("answer", "gamma"), ("synthesis", "alpha")]
        assert again.provider.requests[0] in first.provider.requests, "with the same words"
