"""The debate summary: its prompt and its answer format."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.tasks.debate_summary import agreement_task, debate_summary_task
from moot.types.events import AgreementChecked, SummaryMade
from moot.types.participants import Participant
from tests.prompts.debate_discussions import (
    DEBATE_MESSAGES,
    FOUR_PARTICIPANTS,
    MAX_CHARS,
    MESSAGES_WITH_CLAIMS,
    make_answer,
    make_user_message,
    task_material,
    task_result,
)


class TestAgreementTask:
    def test_agreement_task_material_has_only_first_answers(self) -> None:
        task = agreement_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS)
        assert task_material(task) == snapshot("""\
The question:
Shall we split it?

### p1: Alpha, first answer
Split it now. The teams block each other.

### p2: Beta, first answer
Keep it whole, whatever Alpha says: nobody knows the cost.

### p3: Gamma, first answer
Wait a quarter; then the numbers are known.\
""")

    def test_agreement_task_reports_cost_of_first_answers_as_saving(self) -> None:
        costs = [0.25, 0.5]
        log = [
            make_user_message(),
            *(make_answer(who, "So.", cost_usd=cost) for who, cost in zip(("alpha", "beta"), costs, strict=True)),
        ]
        found = task_result(agreement_task(log, "run_1", MAX_CHARS), agree=True, reason="Both say so.")
        assert isinstance(found, AgreementChecked)
        assert (found.agree, found.reason, found.saved_usd) == (True, "Both say so.", 0.75)

    def test_agreement_task_saving_is_unknown_when_a_cost_is_unknown(self) -> None:
        log = [
            make_user_message(),
            make_answer("alpha", "So.", cost_usd=0.25),
            make_answer("beta", "So.", cost_usd=None),
        ]
        assert task_result(agreement_task(log, "run_1", MAX_CHARS), agree=True, reason="So.").saved_usd is None

    def test_agreement_task_rejects_empty_reason(self) -> None:
        task = agreement_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS)
        assert task.check(task.answer_type(agree=True, reason=" ")) == "`reason` is empty."


SUMMARY_ROW = {"initial_summary": "a", "refined_summary": "b", "changed_position": False, "key_points": ["c"]}
SUMMARY_FIELDS = {"overview": "All.", "agreements": ["x"], "disagreements": [], "convergence": "None."}


class TestDebateSummaryTask:
    def test_debate_summary_task_material_has_each_answer_once(self) -> None:
        assert task_material(
            debate_summary_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, participants=FOUR_PARTICIPANTS)
        ) == snapshot("""\
The question:
Shall we split it?

### p1: Alpha, first answer
Split it now. The teams block each other.

### p2: Beta, first answer
Keep it whole, whatever Alpha says: nobody knows the cost.

### p2: Beta, after reading the others
I keep my position: nobody knows the cost.

### p3: Gamma, first answer
Wait a quarter; then the numbers are known.

### p3: Gamma, after reading the others
I change my position: split it now.\
""")

    def test_debate_summary_task_answer_type_has_one_field_per_responder(self) -> None:
        answer_type = debate_summary_task(
            MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, participants=FOUR_PARTICIPANTS
        ).answer_type
        assert answer_type.__struct_fields__ == (*SUMMARY_FIELDS, "p1", "p2", "p3")

    @pytest.mark.parametrize("rows", [["p1", "p2"], []])
    def test_debate_summary_task_rejects_answer_with_missing_row(self, rows: list[str]) -> None:
        answer_type = debate_summary_task(
            MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, participants=FOUR_PARTICIPANTS
        ).answer_type
        with pytest.raises(msgspec.ValidationError, match="missing required field"):
            msgspec.convert(SUMMARY_FIELDS | dict.fromkeys(rows, SUMMARY_ROW), type=answer_type)

    def test_debate_summary_has_row_per_participant_empty_without_answer(self) -> None:
        task = debate_summary_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, participants=FOUR_PARTICIPANTS)
        rows = {
            "p1": SUMMARY_ROW,
            "p2": SUMMARY_ROW | {"key_points": []},
            "p3": SUMMARY_ROW | {"changed_position": True},
        }
        found = task_result(task, **SUMMARY_FIELDS, **rows)
        assert isinstance(found, SummaryMade)
        assert msgspec.to_builtins(found.summary) == snapshot(
            {
                "original_prompt": "Shall we split it?",
                "overview": "All.",
                "cross_model": {"agreements": ("x",), "disagreements": (), "convergence_summary": "None."},
                "per_model": (
                    {
                        "participant": "alpha",
                        "initial_summary": "a",
                        "refined_summary": "b",
                        "changed_position": False,
                        "key_points": ("c",),
                    },
                    {
                        "participant": "beta",
                        "initial_summary": "a",
                        "refined_summary": "b",
                        "changed_position": False,
                        "key_points": (),
                    },
                    {
                        "participant": "gamma",
                        "initial_summary": "a",
                        "refined_summary": "b",
                        "changed_position": True,
                        "key_points": ("c",),
                    },
                    {
                        "participant": "delta",
                        "initial_summary": "",
                        "refined_summary": "",
                        "changed_position": False,
                        "key_points": (),
                    },
                ),
            }
        )

    @given(st.sets(st.sampled_from(FOUR_PARTICIPANTS)), st.sets(st.sampled_from(FOUR_PARTICIPANTS), min_size=1))
    def test_debate_summary_rows_match_participants_for_any_responders(
        self, answered: set[Participant], taking_part: set[Participant]
    ) -> None:
        log = [make_user_message(), *(make_answer(who.id, f"I am {who.id}.") for who in answered)]
        task = debate_summary_task(log, "run_1", MAX_CHARS, participants=tuple(taking_part))
        labels = [name for name in task.answer_type.__struct_fields__ if name not in SUMMARY_FIELDS]
        assert len(labels) == len(answered)
        found = task_result(task, **SUMMARY_FIELDS, **dict.fromkeys(labels, SUMMARY_ROW))
        rows = {row.participant: row.initial_summary for row in found.summary.per_model}
        assert rows == {who.id: "a" if who in answered else "" for who in taking_part}
        assert len(found.summary.per_model) == len(taking_part)

    def test_debate_summary_task_rejects_empty_overview(self) -> None:
        task = debate_summary_task([make_user_message()], "run_1", MAX_CHARS, participants=FOUR_PARTICIPANTS)
        empty = msgspec.convert(SUMMARY_FIELDS | {"overview": "\n"}, type=task.answer_type)
        assert task.check(empty) == "`overview` is empty."

    def test_debate_summary_task_cache_key_depends_only_on_answers(self) -> None:
        once = debate_summary_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, participants=FOUR_PARTICIPANTS).cache_key
        assert (
            debate_summary_task(
                [*MESSAGES_WITH_CLAIMS[::-1][:-1], MESSAGES_WITH_CLAIMS[0]],
                "run_1",
                MAX_CHARS,
                participants=FOUR_PARTICIPANTS,
            ).cache_key
            == once
        )
        more = [*MESSAGES_WITH_CLAIMS, make_answer("alpha", "I keep it.", "debate")]
        assert debate_summary_task(more, "run_1", MAX_CHARS, participants=FOUR_PARTICIPANTS).cache_key != once


def test_debate_summary_task_truncates_material_to_max_chars() -> None:
    shown = task_material(debate_summary_task(DEBATE_MESSAGES, "run_1", 40, participants=FOUR_PARTICIPANTS))
    assert "…" in shown
    assert "### p1: Alpha, first answer" in shown
