"""The turns of a debate: their prompts and instructions, what is stored, and what is not called twice."""

from collections.abc import Sequence
from typing import Any

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.engine.tools.session import CheckBudget, ToolSession, ToolSource, allow_any_cost
from moot.engine.tools.toolset import DenyAllApprovals
from moot.engine.turns.outcomes import LATE_MESSAGE
from moot.prompts.lesson import replay_messages
from moot.providers.scripted.scripts import Script, ScriptedTool
from moot.streaming.lesson_turn import parse_lesson_actions
from moot.types.actions import get_action_name
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.errors import FeatureUnavailable, MissingKey
from moot.types.events import InstructionsSent, Notice, TurnEnded, TurnStarted
from moot.types.model_info import Profile
from moot.types.modes import DebateOptions, DirectedOptions
from moot.types.participants import make_participants
from tests.support import debate_scripts
from tests.support.fake_toolbox import FakeToolbox
from tests.support.table_harness import QUESTION, TableHarness
from tests.support.toolset_harness import ToolsetHarness

SCRIPTS = debate_scripts.DEBATER_SCRIPTS | {
    "broken": Script(fault="unauthorized"),
    "cut": debate_scripts.debater_script(debate_scripts.NO, debate_scripts.STILL_NO, fault="reset", faulty_calls=1),
    "folded": Script(answer="<details>All of it is in here.</details>", answer_if_contains=debate_scripts.TASK_ANSWERS),
}


def create_debate(*models: str, **more: object) -> TableHarness:
    return TableHarness("debate", *models, scripts=SCRIPTS, **more)  # type: ignore[arg-type]


def stored_turn(participant: str, text: str, stage: str, **more: object) -> Message:
    """A turn that was stored earlier."""
    message = Message(
        id=f"msg_{participant}_{stage}",
        discussion="dis_1",
        run="run_1",
        role="assistant",
        content=text,
        participant=participant,
        name=participant.title(),
        stage=stage,
        thread=participant,
    )
    return replace(message, **more)


def turn_statuses(harness: TableHarness) -> list[str]:
    """Return the status of every turn, by stage. Within a stage the order varies, so they are sorted."""
    ended = [event for event in harness.transcript.events if isinstance(event, TurnEnded)]
    stages = list(dict.fromkeys(event.stage for event in ended))
    ended.sort(key=lambda event: (stages.index(event.stage), event.participant))
    return [f"{event.stage}/{event.round}/{event.participant} {event.status}" for event in ended]


def turn_prompts(harness: TableHarness) -> list[list[tuple[str, ...]]]:
    """Return the prompts of the turns, without those of the analyses."""
    asked = zip(harness.sent_messages, harness.provider.requests, strict=True)
    return [sent for sent, request in asked if request.json_schema is None]


def instruction_messages(harness: TableHarness) -> list[Message]:
    return [message for message in harness.transcript.messages if message.hidden]


class TestPrompts:
    async def test_debate_of_two_sends_expected_prompts(self) -> None:
        table = create_debate("yes", "no")
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table) == [
            "initial/0/alpha completed",
            "initial/0/beta completed",
            "debate/0/alpha completed",
            "debate/0/beta completed",
            "synthesis/0/alpha completed",
        ]
        sent = [[(role, *(text[:60] for text in texts)) for role, *texts in one] for one in turn_prompts(table)]
        assert sorted(sent) == snapshot(
            [
                [("user", "Why?")],
                [("user", "Why?")],
                [
                    ("user", "Why?"),
                    ("assistant", "Keep it whole: nobody has measured what the split would cost"),
                    (
                        "user",
                        """\
The question was:

Why?

These are the first answers of the \
""",
                    ),
                ],
                [
                    ("user", "Why?"),
                    ("assistant", "Split it now: the teams block each other every single week."),
                    (
                        "user",
                        """\
The question was:

Why?

These are the first answers of the \
""",
                    ),
                ],
                [("user", "Why?", "You now write for the whole table. These are the answers tha")],
            ]
        )

    async def test_rebuttal_instructions_contain_other_answers_but_not_own(self) -> None:
        table = create_debate("yes", "no", "perhaps")
        await table.table.run_mode()
        words = {"alpha": debate_scripts.YES, "beta": debate_scripts.NO, "gamma": debate_scripts.PERHAPS}
        instructions = {message.thread: message.content for message in instruction_messages(table) if message.thread}
        assert instructions.keys() == words.keys()
        for who, text in instructions.items():
            assert {one: words[one] in text for one in words} == {one: one != who for one in words}

    async def test_prompts_contain_neither_errors_nor_failed_participants(self) -> None:
        table = create_debate("yes", "broken", "perhaps")
        await table.table.run_mode()
        sent = str(table.sent_messages)
        assert "rejected" not in sent
        assert "### Beta" not in sent
        assert "beta" not in {message.thread for message in instruction_messages(table)}

    async def test_partial_answer_is_marked_in_instructions(self) -> None:
        table = create_debate("yes", "cut")
        await table.table.run_mode()
        (to_alpha,) = [message for message in instruction_messages(table) if message.thread == "alpha"]
        assert "### Beta (cut off)\n\nKeep it whole: nobody ha\n" in to_alpha.content
        assert table.transcript.lanes["beta"] == Lane(participant="beta", status="complete")

    async def test_answer_inside_details_block_is_included_in_instructions(self) -> None:
        table = create_debate("folded", "folded")
        assert await table.table.run_mode() == "completed"
        assert all("All of it is in here." in message.content for message in instruction_messages(table))


class TestInstructions:
    async def test_instructions_are_hidden_in_thread_of_their_participant(self) -> None:
        table = create_debate("yes", "no")
        await table.table.run_mode()
        found = instruction_messages(table)
        assert sorted(
            ((m.stage, m.round, m.role, m.participant, m.visible_to, m.thread, m.hidden) for m in found),
            key=str,
        ) == [
            ("debate", 0, "user", None, ("alpha",), "alpha", True),
            ("debate", 0, "user", None, ("beta",), "beta", True),
            ("synthesis", 0, "user", None, ("alpha",), None, True),
        ]

    async def test_instructions_sent_event_precedes_turn_started(self) -> None:
        table = create_debate("yes", "no")
        await table.table.run_mode()
        events = [
            (type(event).__name__, event.stage)
            for event in table.transcript.events
            if isinstance(event, InstructionsSent | TurnStarted) and event.participant == "alpha"
        ]
        assert events == [
            ("TurnStarted", "initial"),
            ("InstructionsSent", "debate"),
            ("TurnStarted", "debate"),
            ("InstructionsSent", "synthesis"),
            ("TurnStarted", "synthesis"),
        ]
        sent = [event.message for event in table.transcript.events if isinstance(event, InstructionsSent)]
        assert sent == [message.id for message in instruction_messages(table)]

    async def test_instructions_sent_before_crash_are_not_sent_again(self) -> None:
        before = create_debate("yes", "no")
        await before.table.run_mode()
        until = [m for m in before.transcript.messages if m.stage != "debate" or m.hidden]
        table = create_debate("yes", "no", messages=[m for m in until if m.stage != "synthesis"])
        assert await table.table.run_mode() == "completed"
        assert {m.id for m in instruction_messages(table)[:2]} == {m.id for m in instruction_messages(before)[:2]}
        assert len(instruction_messages(table)) == 3

    async def test_unchanged_synthesis_is_not_repeated_on_retry(self) -> None:
        before = create_debate("yes", "no", "perhaps")
        await before.table.run_mode()
        table = create_debate("yes", "no", "perhaps", messages=before.transcript.messages, revision=1)
        table.transcript.analysis_results += before.transcript.analysis_results
        assert await table.table.run_mode() == "completed"
        assert table.sent_messages == []
        assert turn_statuses(table) == []

    async def test_changed_answers_are_synthesized_again(self) -> None:
        before = create_debate("yes", "broken")
        await before.table.run_mode()
        messages = [m for m in before.transcript.messages if m.status == "completed"]
        table = create_debate("yes", "no", messages=messages, revision=1)
        table.transcript.analysis_results += before.transcript.analysis_results
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table) == [
            "initial/0/beta completed",
            "debate/0/alpha completed",
            "debate/0/beta completed",
            "synthesis/1/alpha completed",
        ]


class TestStoredTurns:
    async def test_turns_are_stored_with_thread_role_and_view(self) -> None:
        table = create_debate("yes", "no")
        await table.table.run_mode()
        stored = [m for m in table.transcript.messages if m.participant]
        assert [(m.stage, m.role, m.thread, m.view, m.status) for m in stored if m.participant == "alpha"] == [
            ("initial", "assistant", "alpha", "own_thread", "completed"),
            ("debate", "assistant", "alpha", "own_thread", "completed"),
            ("synthesis", "synthesis", None, "with_instructions", "completed"),
        ]

    @pytest.mark.parametrize(
        ("stored", "asked"),
        [
            ([], ["initial/0/alpha", "initial/0/beta", "debate/0/alpha", "debate/0/beta"]),
            ([("alpha", "initial")], ["initial/0/beta", "debate/0/alpha", "debate/0/beta"]),
            ([("alpha", "initial"), ("beta", "initial")], ["debate/0/alpha", "debate/0/beta"]),
            (
                [("alpha", "initial"), ("beta", "initial"), ("beta", "debate")],
                ["debate/0/alpha"],
            ),
        ],
    )
    async def test_stored_turn_is_not_called_again_after_crash(
        self, stored: Sequence[tuple[str, str]], asked: Sequence[str]
    ) -> None:
        table = create_debate("yes", "no", messages=[QUESTION, *(stored_turn(who, "Kept.", at) for who, at in stored)])
        assert await table.table.run_mode() == "completed"
        assert [turn.split()[0] for turn in turn_statuses(table)] == [*asked, "synthesis/0/alpha"]

    async def test_stored_failure_stays_failed(self) -> None:
        messages = [QUESTION, stored_turn("beta", "", "initial", status="failed")]
        table = create_debate("yes", "no", messages=messages)
        assert await table.table.run_mode() == "completed"
        assert turn_statuses(table) == ["initial/0/alpha completed", "synthesis/0/alpha completed"]

    async def test_lane_status_follows_its_turns(self) -> None:
        table = create_debate("yes", "broken", "no")
        await table.table.run_mode()
        lanes = table.transcript.lanes
        assert {who: lane.status for who, lane in lanes.items()} == {
            "alpha": "complete",
            "beta": "error",
            "gamma": "complete",
        }
        assert "scripted" in (lanes["beta"].error or "")

    async def test_missing_key_fails_lane_with_error_and_others_continue(self) -> None:
        table = create_debate("yes", "no", model_errors={"beta": MissingKey("No key for beta: store one.")})
        assert await table.table.run_mode() == "completed"
        assert table.transcript.lanes["beta"].error == "No key for beta: store one."
        (failed,) = [m for m in table.transcript.messages if m.status == "failed"]
        assert (failed.participant, failed.thread, failed.fault and failed.fault.kind) == (
            "beta",
            "beta",
            "auth",
        )


class TestCharges:
    async def test_every_call_is_charged_with_its_purpose(self) -> None:
        table = create_debate("yes", "no", "perhaps")
        await table.table.run_mode()
        charged = sorted((one.purpose, one.participant or "", one.model) for one in table.transcript.charges)
        assert charged == [
            *(("answer", who, model) for who, model in MODELS for _ in ("initial", "debate")),
            ("claims", "alpha", "yes"),
            *(("ranking", who, model) for who, model in MODELS),
            ("summary", "alpha", "yes"),
            ("synthesis", "alpha", "yes"),
        ]
        assert len(charged) == len(table.provider.requests)

    async def test_failed_calls_are_charged(self) -> None:
        table = create_debate("yes", "cut")
        await table.table.run_mode()
        charged = [
            one.usage for one in table.transcript.charges if (one.participant, one.purpose) == ("beta", "answer")
        ]
        (partial,) = [m.usage for m in table.transcript.messages if m.status == "partial"]
        assert (charged[0], len(charged)) == (partial, 2)

    async def test_stored_turn_is_not_charged_again(self) -> None:
        table = create_debate("yes", "no", messages=[QUESTION, stored_turn("alpha", "Kept.", "initial")])
        await table.table.run_mode()
        assert [one.participant for one in table.transcript.charges if one.purpose == "answer"].count("alpha") == 1


MODELS = (("alpha", "yes"), ("beta", "no"), ("gamma", "perhaps"))


class TestLateParticipants:
    async def test_late_participant_fails_with_late_message(self) -> None:
        scripts = SCRIPTS | {
            "endless": Script(answer="On and on. ", chunk_chars=11, chunk_interval_seconds=0.002, fault="endless")
        }
        table = TableHarness("debate", "yes", "endless", scripts=scripts, debate=DebateOptions(quorum=1))
        assert await table.table.run_mode() == "completed"
        lane = table.transcript.lanes["beta"]
        assert (lane.status, lane.late, lane.error) == ("error", True, LATE_MESSAGE)
        late = next(m for m in table.transcript.messages if m.participant == "beta")
        assert (late.status, late.fault and late.fault.message) == ("failed", LATE_MESSAGE)


LESSON_JSON = '[{"type":"action","name":"wb_draw_text","params":{"content":"1","x":1,"y":1,"elementId":"one"}},{"type":"text","content":"Look."}]'
LESSON_SCRIPTS = {
    "draws": Script(answer=LESSON_JSON, answer_if_contains={"You direct": "Hm."}),
    "talks": Script(answer='[{"type":"text","content":"I see."}]'),
    "broken": Script(fault="unauthorized"),
}


def create_lesson(*models: str, **more: object) -> TableHarness:
    return TableHarness("directed", *models, scripts=LESSON_SCRIPTS, **more)  # type: ignore[arg-type]


class TestLessonTurns:
    async def test_lesson_answer_is_requested_as_array_and_stored_with_actions(self) -> None:
        table = create_lesson("draws", directed=DirectedOptions(turns=1))
        assert await table.table.run_mode() == "completed"
        (asked,) = table.provider.requests
        assert asked.array_of is not None
        assert asked.json_schema is None
        (answer,) = table.answers
        assert (answer.content, answer.view) == ("Look.", "lesson_view")
        assert [get_action_name(action) for action in parse_lesson_actions(answer.lesson_items or "")] == [
            "wb_draw_text"
        ]

    async def test_lesson_turn_acts_on_whiteboard_of_earlier_turns(self) -> None:
        table = create_lesson("draws", "draws", directed=DirectedOptions(turns=2, first_speaker="alpha"))
        await table.table.run_mode()
        assert [element.id for element in replay_messages(table.transcript.messages).elements] == [
            "one",
            "one-2",
        ]
        lesson_prompts = [sent for sent in turn_prompts(table) if "It is your turn" in str(sent)]
        assert "- one: text" in str(lesson_prompts[-1])

    async def test_repeated_instructions_do_not_skip_lesson_turn(self) -> None:
        table = create_lesson("talks", "broken", directed=DirectedOptions(turns=3, first_speaker="alpha"))
        await table.table.run_mode()
        assert table.answer_lines == [
            "0/alpha completed: I see.",
            "1/beta failed: ",
            "2/alpha completed: I see.",
        ]
        assert (
            len({message.content for message in instruction_messages(table) if message.visible_to == ("alpha",)}) == 1
        )

    async def test_stored_lesson_turn_and_decision_are_not_repeated(self) -> None:
        stored = stored_turn("alpha", "Look.", "turn", thread=None, lesson_items=LESSON_JSON)
        table = create_lesson(
            "draws", "talks", messages=[QUESTION, stored], directed=DirectedOptions(turns=2, first_speaker="alpha")
        )
        await table.table.run_mode()
        assert table.answer_lines == ["0/alpha completed: Look.", "1/beta completed: I see."]
        lesson_prompts = [sent for sent in turn_prompts(table) if "It is your turn" in str(sent)]
        assert len(lesson_prompts) == 1


LOOK_UP_CALL = ScriptedTool("dict__look_up", '{"word": "moot"}')


def create_table_with_tools(
    *,
    tool_server: str = "dict",
    check_budget: CheckBudget = allow_any_cost,
    max_cost_usd: float | None = None,
    **script: Any,
) -> tuple[TableHarness, FakeToolbox]:
    """A table with one participant, whose script calls an available tool."""
    toolbox = ToolsetHarness().toolbox

    async def open_source(server: str) -> ToolSource:
        if server != "dict":
            raise FeatureUnavailable(f"The tool server {server} has ended.")
        return ToolSource(toolbox, lambda _: False)

    scripts = {"caller": Script(**{"answer": "Well.", "tool": LOOK_UP_CALL, **script})}
    alpha = replace(make_participants(("caller",))[0], tools=(tool_server,))
    session = ToolSession(open_source, DenyAllApprovals, check_budget)
    return TableHarness(
        "single", scripts=scripts, tool_session=session, participants=(alpha,), max_cost_usd=max_cost_usd
    ), toolbox


class TestTools:
    async def test_tool_calls_are_stored_with_turn_and_charged_once(self) -> None:
        table, toolbox = create_table_with_tools(usd_per_million_tokens=100.0)
        assert await table.table.run_mode() == "completed"
        (answer,) = table.answers
        assert answer.content == "Well.\n\nmoot is a meeting."
        assert [use.name for use in answer.tools or ()] == ["dict/look_up"]
        assert toolbox.calls == [("look_up", {"word": "moot"})]
        (charge,) = table.transcript.charges
        assert charge.cost_usd == answer.cost_usd
        assert charge.cost_usd is not None
        assert charge.cost_usd > 0

    async def test_unavailable_tool_server_causes_notice_and_turn_continues(self) -> None:
        table, _ = create_table_with_tools(tool_server="gone")
        assert await table.table.run_mode() == "completed"
        (notice,) = [event for event in table.transcript.events if isinstance(event, Notice)]
        assert (notice.kind, notice.participant) == ("tools", "alpha")
        assert notice.message == "The tool server gone has ended. Its tools are left out."

    async def test_model_without_tool_support_answers_without_tools(self, monkeypatch: pytest.MonkeyPatch) -> None:
        table, toolbox = create_table_with_tools()
        monkeypatch.setattr(table.provider, "model_profile", lambda _: Profile(tools=False))
        assert await table.table.run_mode() == "completed"
        notices = [event.message for event in table.transcript.events if isinstance(event, Notice)]
        assert notices == ["caller cannot call tools. It answers without them."]
        assert (table.provider.requests[0].tools, toolbox.calls) == ((), [])

    async def test_max_cost_stops_turn_between_tool_rounds(self) -> None:
        table, toolbox = create_table_with_tools(max_cost_usd=0.0001, usd_per_million_tokens=1000.0, tool_calls=9)
        assert await table.table.run_mode() == "stopped"
        assert len(toolbox.calls) == 1
        (notice,) = [event for event in table.transcript.events if isinstance(event, Notice)]
        assert notice.kind == "max_cost"
        assert table.answers[0].content == "Well."

    async def test_spent_budget_stops_turn_between_tool_rounds(self) -> None:
        async def over_budget(cost: float) -> str | None:
            return "This week's budget is spent. The run ends here." if cost > 0 else None

        table, toolbox = create_table_with_tools(check_budget=over_budget, usd_per_million_tokens=1000.0, tool_calls=9)
        assert await table.table.run_mode() == "stopped"
        assert len(toolbox.calls) == 1
