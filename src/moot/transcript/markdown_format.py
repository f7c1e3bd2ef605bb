"""Markdown transcript, readable without a renderer."""

import re
from collections.abc import Iterator, Mapping, Sequence

from moot.prompts.lesson import turn_action_names
from moot.services.run_reports import RunReport
from moot.transcript.debate_report import number_ranks, points_text, position_status
from moot.transcript.labels import (
    ParticipantNames,
    error_text,
    format_time,
    recipients_label,
    speaker_label,
    stage_label,
    tool_call_label,
    total_usage_text,
    usage_labels,
    version_label,
)
from moot.types.debate import Claim, ClaimQuote, DebateSummary, PositionChange
from moot.types.discussions import Discussion
from moot.types.files import StoredFile
from moot.types.modes import LESSON_ENDS, USER_SPEAKS_NEXT
from moot.types.versions import VersionedTurn
from moot.whiteboard.render.elements import replace_unprintable
from moot.whiteboard.state import Board

SPECIAL_CHARS = re.compile(r"([\\`*_{}\[\]<#|~])")
BLOCK_START = re.compile(r"^(\d*)([>+=.)-])")  # starts a block quote or a list


class MarkdownFormat:
    media_type = "text/markdown"
    extension = "md"

    def __init__(self) -> None:
        self._names = ParticipantNames()

    def render_start(self, discussion: Discussion) -> str:
        self._names.update({who.id: who.name for who in discussion.participants})
        participants = [
            f"- {_escape_line(who.name)}: {_escape_line(discussion.model or who.model)}"
            for who in discussion.participants
        ]
        about = f"{discussion.mode.capitalize()}, {format_time(discussion.created_at)}"
        return _join_blocks(f"# {_escape_line(discussion.title)}", about, "\n".join(participants))

    def render_turns(self, turns: Sequence[VersionedTurn], files: Mapping[str, StoredFile]) -> str:
        return "".join(self._render_turn(turn, files) for turn in turns)

    def render_report(self, report: RunReport) -> str:
        self._names.update({lane.participant: lane.name for lane in report.lanes})
        return _join_blocks(*_debate_report(report, self._names))

    def render_end(self, board: Board) -> str:
        ids = ", ".join(_escape_line(element.id) for element in board.elements)
        return _join_blocks(f"On the whiteboard at the end: {ids}.") if ids else ""

    def _render_turn(self, turn: VersionedTurn, files: Mapping[str, StoredFile]) -> str:
        message = turn.current
        if message.participant is not None:
            self._names.setdefault(message.participant, message.name or message.participant)
        labels = (
            stage_label(message) if message.participant else None,
            message.model,
            recipients_label(message, self._names),
        )
        heading = " · ".join(_escape_line(one) for one in (speaker_label(message), *labels) if one)
        file_names = [files[id].name for id in message.files or () if id in files]
        actions = [name.removeprefix("wb_").replace("_", " ") for name in turn_action_names(message)]
        error = error_text(message)
        return _join_blocks(
            f"## {heading}",
            _block_quote("Thinking", message.thoughts),
            *(
                _block_quote(_escape_line(tool_call_label(use)), f"{use.arguments}\n\n{use.content}")
                for use in message.tools or ()
            ),
            replace_unprintable(message.content).strip(),
            _block_quote("Details", message.details),
            f"With {_escape_line(', '.join(file_names))}" if file_names else "",
            f"On the board: {_escape_line(', '.join(actions))}" if actions else "",
            f"**{_escape_line(error)}**" if error else "",
            f"*{', '.join([format_time(message.created_at), *usage_labels(message)])}*",
            *(_block_quote(_escape_line(version_label(other)), other.content) for other in turn.other_versions),
        )


def _debate_report(report: RunReport, names: ParticipantNames) -> Iterator[str]:
    if report.summary or report.ranking or report.claims:
        yield "## Minutes"
    if report.agreed is not None:
        verdict = "agree" if report.agreed.agree else "do not agree"
        yield _escape_line(f"The first answers {verdict}. {report.agreed.reason}")
    if report.summary is not None:
        yield from _summary_section(report.summary, names)
    yield _bullet_list(
        "Without an answer", [f"{names[one.participant]}: {one.error}" for one in report.lanes if one.error]
    )
    if report.ranking is not None:
        ranks = [
            f"Place {rank}: {names[place.participant]}, {points_text(place)}"
            for rank, place in number_ranks(report.ranking)
        ]
        yield _bullet_list("Ranking", ranks)
    yield _bullet_list("Changes of mind", [_position_change(one, names) for one in report.flips])
    yield from _claims_section(report.claims, names)
    special = {USER_SPEAKS_NEXT: "The user speaks next.", LESSON_ENDS: "The lesson is over."}
    decisions = [
        f"{special.get(one.next) or f'{names[one.next]} speaks next.'} {one.reason}" for one in report.decisions
    ]
    yield _bullet_list("How the director decided", decisions, "1.")
    ended = "" if report.status == "completed" else f"{report.status.capitalize()}. "
    yield f"*{ended}In all: {total_usage_text(report.usage, report.cost, report.unpriced)}*"
    yield "---"


def _summary_section(summary: DebateSummary, names: ParticipantNames) -> Iterator[str]:
    yield _escape_line(summary.overview)
    yield _bullet_list("Agreed", summary.cross_model.agreements)
    yield _bullet_list("Disputed", summary.cross_model.disagreements)
    yield _escape_line(summary.cross_model.convergence_summary)
    rows = [
        f"| {' | '.join(map(_escape_line, (names[row.participant], row.initial_summary, row.refined_summary, position_status(row))))} |"
        for row in summary.per_model
    ]
    yield "\n".join(["| | At first | In the end | Position |", "| --- | --- | --- | --- |", *rows])


def _position_change(change: PositionChange, names: ParticipantNames) -> str:
    after = f" after an argument of {names[change.because_of]}" if change.because_of else ""
    text = f"{names[change.participant]} went from “{change.before}” to “{change.after}”{after}"
    return f"{text}: “{change.quote}”"


def _claims_section(claims: Sequence[Claim], names: ParticipantNames) -> Iterator[str]:
    if not claims:
        return
    yield "### Claims"
    for number, claim in enumerate(claims, start=1):
        minority = " (minority)" if claim.minority else ""
        lines = [f"{number}. {_escape_line(claim.claim)}{minority}"]
        lines += [f"   - for: {_claim_quote(quote, names)}" for quote in claim.supporters]
        lines += [f"   - against: {_claim_quote(quote, names)}" for quote in claim.opponents]
        yield "\n".join(lines)


def _claim_quote(claim_quote: ClaimQuote, names: ParticipantNames) -> str:
    return _escape_line(f"{names[claim_quote.participant]}: “{claim_quote.quote}”")


def _bullet_list(title: str, items: Sequence[str], sign: str = "-") -> str:
    return "\n".join([f"### {title}", "", *(f"{sign} {_escape_line(item)}" for item in items)]) if items else ""


def _block_quote(title: str, text: str) -> str:
    """Quote text that is not part of the answer. Returns an empty string for empty text."""
    lines = replace_unprintable(text).strip().splitlines()
    return "\n".join([f"> **{title}**", ">", *(f"> {line}".rstrip() for line in lines)]) if lines else ""


def _escape_line(text: str) -> str:
    """Join text to one line and escape Markdown."""
    line = " ".join(replace_unprintable(text).split())
    return BLOCK_START.sub(r"\1\\\2", SPECIAL_CHARS.sub(r"\\\1", line))


def _join_blocks(*blocks: str) -> str:
    return "".join(f"{block}\n\n" for block in blocks if block)
