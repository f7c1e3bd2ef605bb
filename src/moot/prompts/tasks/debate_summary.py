"""The minutes of a debate: whether the first answers agree, and the summary of all of them.

Whom an answer is about is never left to the model: participants are fields of the form that it fills in.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, defstruct
from msgspec.structs import asdict

from moot.prompts.debate import labelled, material, question
from moot.prompts.tasks.task import Inquiry, basis, requested
from moot.types.billing import total
from moot.types.debate import CrossModel, PerModel, Summary
from moot.types.discussions import Message
from moot.types.events import Agreed, SummaryMade
from moot.types.participants import Participant


class Row(Struct, frozen=True, rename="camel"):
    initial_summary: str
    refined_summary: str
    changed_position: bool
    key_points: tuple[str, ...]


class Verdict(Struct, frozen=True):
    agree: bool
    reason: str


def agreement(said: Sequence[Message], run: str, room: int) -> Inquiry:
    """Ask whether the first answers say the same."""
    labels = labelled(said, run)
    shown = material(said, run, {label: [one.first] for label, one in labels.items()}, room)
    rests_on = basis("agreed", shown)
    saved = total(one.first.cost for one in labels.values())
    return Inquiry(
        basis=rests_on,
        request=requested("do_they_agree", shown),
        answer=Verdict,
        found=lambda told: Agreed(basis=rests_on, agree=told.agree, reason=told.reason, saved=saved),
        check=lambda told: None if told.reason.strip() else "`reason` is empty.",
    )


def summary(said: Sequence[Message], run: str, room: int, *, participants: Sequence[Participant]) -> Inquiry:
    """Ask for the structured summary: a row for each who answered, by the form itself."""
    asked = question(said, run)
    labels = labelled(said, run)
    shown = material(said, run, {label: [one.first, one.final] for label, one in labels.items()}, room)
    rests_on = basis("summary", shown)
    heads: list[Any] = [
        ("overview", str),
        ("agreements", tuple[str, ...]),
        ("disagreements", tuple[str, ...]),
        ("convergence", str),
    ]
    form = defstruct("Minutes", [*heads, *((label, Row) for label in labels)], frozen=True)

    def found(told: Any) -> SummaryMade:
        rows = {one.participant: getattr(told, label) for label, one in labels.items()}
        return SummaryMade(basis=rests_on, summary=_summary(asked, told, rows, participants))

    return Inquiry(
        basis=rests_on,
        request=requested("summarise", shown),
        answer=form,
        found=found,
        check=lambda told: None if told.overview.strip() else "`overview` is empty.",
    )


def _summary(asked: str, told: Any, rows: Mapping[str, Row], participants: Sequence[Participant]) -> Summary:
    """Give each participant its one row; whoever did not answer has an empty one."""
    empty = Row("", "", changed_position=False, key_points=())
    return Summary(
        original_prompt=asked,
        overview=told.overview,
        cross_model=CrossModel(
            agreements=told.agreements,
            disagreements=told.disagreements,
            convergence_summary=told.convergence,
        ),
        per_model=tuple(
            PerModel(participant=who.id, **asdict(rows.get(who.id, empty))) for who in participants
        ),
    )
