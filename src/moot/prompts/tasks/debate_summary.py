"""Agreement check and summary task of a debate.

Participants are fields of the answer type. So the model cannot omit or invent a participant.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, defstruct
from msgspec.structs import asdict

from moot.prompts.debate import debate_material, label_positions, user_question
from moot.prompts.tasks.task import AnalysisTask, make_cache_key, task_request
from moot.types.billing import sum_costs
from moot.types.debate import DebateSummary, ParticipantSummary, TableSummary
from moot.types.discussions import Message
from moot.types.events import AgreementChecked, SummaryMade
from moot.types.participants import Participant


class SummaryRow(Struct, frozen=True):
    initial_summary: str
    refined_summary: str
    changed_position: bool
    key_points: tuple[str, ...]


class AgreementVerdict(Struct, frozen=True):
    agree: bool
    reason: str


def agreement_task(messages: Sequence[Message], run: str, max_chars: int) -> AnalysisTask:
    labels = label_positions(messages, run)
    shown = debate_material(messages, run, {label: [one.first] for label, one in labels.items()}, max_chars)
    cache_key = make_cache_key("agreed", shown)
    saved = sum_costs(one.first.cost_usd for one in labels.values())
    return AnalysisTask(
        cache_key=cache_key,
        request=task_request("agreement_check", shown),
        answer_type=AgreementVerdict,
        to_result=lambda answer: AgreementChecked(
            cache_key=cache_key, agree=answer.agree, reason=answer.reason, saved_usd=saved
        ),
        check=lambda answer: None if answer.reason.strip() else "`reason` is empty.",
    )


def debate_summary_task(
    messages: Sequence[Message], run: str, max_chars: int, *, participants: Sequence[Participant]
) -> AnalysisTask:
    """The answer type has one field of type SummaryRow per position."""
    question = user_question(messages, run)
    labels = label_positions(messages, run)
    shown = debate_material(messages, run, {label: [one.first, one.final] for label, one in labels.items()}, max_chars)
    cache_key = make_cache_key("summary", shown)
    heads: list[Any] = [
        ("overview", str),
        ("agreements", tuple[str, ...]),
        ("disagreements", tuple[str, ...]),
        ("convergence", str),
    ]
    form = defstruct("Minutes", [*heads, *((label, SummaryRow) for label in labels)], frozen=True)

    def to_result(answer: Any) -> SummaryMade:
        rows = {one.participant: getattr(answer, label) for label, one in labels.items()}
        return SummaryMade(cache_key=cache_key, summary=_build_summary(question, answer, rows, participants))

    return AnalysisTask(
        cache_key=cache_key,
        request=task_request("summarise", shown),
        answer_type=form,
        to_result=to_result,
        check=lambda answer: None if answer.overview.strip() else "`overview` is empty.",
    )


def _build_summary(
    original_prompt: str, answer: Any, rows: Mapping[str, SummaryRow], participants: Sequence[Participant]
) -> DebateSummary:
    """A participant without an answer gets an empty row."""
    empty = SummaryRow("", "", changed_position=False, key_points=())
    return DebateSummary(
        original_prompt=original_prompt,
        overview=answer.overview,
        cross_model=TableSummary(
            agreements=answer.agreements, disagreements=answer.disagreements, convergence_summary=answer.convergence
        ),
        per_model=tuple(
            ParticipantSummary(participant=who.id, **asdict(rows.get(who.id, empty))) for who in participants
        ),
    )
