"""A transcript as Markdown: to read as it is, to search, and to put where one's notes are."""

import re
from collections.abc import Iterator, Mapping, Sequence

from moot.prompts.lesson import actions_in
from moot.services.run_reports import Report
from moot.transcript.debate_report import changed, placed, points
from moot.transcript.labels import (
    Names,
    called,
    figures,
    meant_for,
    moment,
    speaker,
    spent,
    stage,
    trouble,
    version,
)
from moot.types.debate import Claim, Flip, Summary, Voice
from moot.types.discussions import Discussion
from moot.types.files import StoredFile
from moot.types.modes import END, USER
from moot.types.versions import Turn
from moot.whiteboard.render.elements import printable
from moot.whiteboard.state import Board

SPECIAL = re.compile(r"([\\`*_{}\[\]<#|~])")
BEGINNING = re.compile(r"^(\d*)([>+=.)-])")  # of a quotation, or of a list


class Markdown:
    media_type = "text/markdown"
    ending = "md"

    def __init__(self) -> None:
        self._names = Names()

    def begin(self, discussion: Discussion) -> str:
        self._names.update({who.id: who.name for who in discussion.participants})
        seats = [
            f"- {_line(who.name)}: {_line(discussion.model or who.model)}" for who in discussion.participants
        ]
        about = f"{discussion.mode.capitalize()}, {moment(discussion.created_at)}"
        return _blocks(f"# {_line(discussion.title)}", about, "\n".join(seats))

    def said(self, turns: Sequence[Turn], files: Mapping[str, StoredFile]) -> str:
        return "".join(self._turn(turn, files) for turn in turns)

    def found(self, report: Report) -> str:
        self._names.update({lane.participant: lane.name for lane in report.lanes})
        return _blocks(*_minutes(report, self._names))

    def end(self, board: Board) -> str:
        drawn = ", ".join(_line(element.id) for element in board.elements)
        return _blocks(f"On the whiteboard at the end: {drawn}.") if drawn else ""

    def _turn(self, turn: Turn, files: Mapping[str, StoredFile]) -> str:
        message = turn.now
        if message.participant is not None:
            self._names.setdefault(message.participant, message.name or message.participant)
        asides = (
            stage(message) if message.participant else None,
            message.model,
            meant_for(message, self._names),
        )
        heading = " · ".join(_line(one) for one in (speaker(message), *asides) if one)
        named = [files[id].name for id in message.files or () if id in files]
        acts = [name.removeprefix("wb_").replace("_", " ") for name in actions_in(message)]
        why = trouble(message)
        return _blocks(
            f"## {heading}",
            _quoted("Thinking", message.thoughts),
            *(
                _quoted(_line(called(use)), f"{use.arguments}\n\n{use.content}")
                for use in message.tools or ()
            ),
            printable(message.content).strip(),
            _quoted("Details", message.details),
            f"With {_line(', '.join(named))}" if named else "",
            f"On the board: {_line(', '.join(acts))}" if acts else "",
            f"**{_line(why)}**" if why else "",
            f"*{', '.join([moment(message.created_at), *figures(message)])}*",
            *(_quoted(_line(version(other)), other.content) for other in turn.others),
        )


def _minutes(report: Report, names: Names) -> Iterator[str]:
    if report.summary or report.ranking or report.claims:
        yield "## Minutes"
    if report.agreed is not None:
        stand = "agree" if report.agreed.agree else "do not agree"
        yield _line(f"The first answers {stand}. {report.agreed.reason}")
    if report.summary is not None:
        yield from _summary(report.summary, names)
    yield _listed(
        "Without an answer", [f"{names[one.participant]}: {one.error}" for one in report.lanes if one.error]
    )
    if report.ranking is not None:
        places = placed(report.ranking)
        told = [f"Place {number}: {names[place.participant]}, {points(place)}" for number, place in places]
        yield _listed("Ranking", told)
    yield _listed("Changes of mind", [_flip(one, names) for one in report.flips])
    yield from _claims(report.claims, names)
    spoken = {USER: "The person has the word.", END: "It is over."}
    told = [
        f"{spoken.get(one.next) or f'{names[one.next]} has the word.'} {one.reason}"
        for one in report.decisions
    ]
    yield _listed("How the director decided", told, "1.")
    ended = "" if report.status == "completed" else f"{report.status.capitalize()}. "
    yield f"*{ended}In all: {spent(report.usage, report.cost, report.unpriced)}*"
    yield "---"


def _summary(summary: Summary, names: Names) -> Iterator[str]:
    yield _line(summary.overview)
    yield _listed("Agreed", summary.cross_model.agreements)
    yield _listed("Disputed", summary.cross_model.disagreements)
    yield _line(summary.cross_model.convergence_summary)
    rows = [
        f"| {' | '.join(map(_line, (names[row.participant], row.initial_summary, row.refined_summary, changed(row))))} |"
        for row in summary.per_model
    ]
    yield "\n".join(["| | At first | In the end | Position |", "| --- | --- | --- | --- |", *rows])


def _flip(flip: Flip, names: Names) -> str:
    after = f" after an argument of {names[flip.because_of]}" if flip.because_of else ""
    went = f"{names[flip.participant]} went from “{flip.before}” to “{flip.after}”{after}"
    return f"{went}: “{flip.quote}”"


def _claims(claims: Sequence[Claim], names: Names) -> Iterator[str]:
    if not claims:
        return
    yield "### Claims"
    for number, claim in enumerate(claims, start=1):
        minority = " (minority)" if claim.minority else ""
        lines = [f"{number}. {_line(claim.claim)}{minority}"]
        lines += [f"   - for: {_voice(voice, names)}" for voice in claim.supporters]
        lines += [f"   - against: {_voice(voice, names)}" for voice in claim.opponents]
        yield "\n".join(lines)


def _voice(voice: Voice, names: Names) -> str:
    return _line(f"{names[voice.participant]}: “{voice.quote}”")


def _listed(title: str, items: Sequence[str], sign: str = "-") -> str:
    return "\n".join([f"### {title}", "", *(f"{sign} {_line(item)}" for item in items)]) if items else ""


def _quoted(title: str, text: str) -> str:
    """Set text apart that is not part of an answer."""
    lines = printable(text).strip().splitlines()
    return "\n".join([f"> **{title}**", ">", *(f"> {line}".rstrip() for line in lines)]) if lines else ""


def _line(text: str) -> str:
    """Write words on one line, in which nothing is a sign of Markdown."""
    line = " ".join(printable(text).split())
    return BEGINNING.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", line))


def _blocks(*blocks: str) -> str:
    return "".join(f"{block}\n\n" for block in blocks if block)
