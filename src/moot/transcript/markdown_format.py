"""Markdown transcript, readable without a renderer."""

import re
from collections.abc import Iterator, Mapping, Sequence

from moot.services.run_reports import RunReport
from moot.transcript import labels
from moot.transcript.debate_report import Bullets, Item, Paragraph, Report, Table, plain_text
from moot.types.discussions import Discussion
from moot.types.files import StoredFile
from moot.types.versions import VersionedTurn
from moot.whiteboard.render.elements import replace_unprintable
from moot.whiteboard.state import Board

SPECIAL_CHARS = re.compile(r"([\\`*_{}\[\]<#|~])")
BLOCK_START = re.compile(r"^(\d*)([>+=.)-])")  # starts a block quote or a list


class MarkdownFormat:
    media_type = "text/markdown"
    extension = "md"

    def __init__(self) -> None:
        self._names = labels.ParticipantNames()

    def render_start(self, discussion: Discussion) -> str:
        self._names.update({who.id: who.name for who in discussion.participants})
        participants = [
            f"- {_escape_line(who.name)}: {_escape_line(discussion.model or who.model)}"
            for who in discussion.participants
        ]
        about = f"{discussion.mode.capitalize()}, {labels.format_time(discussion.created_at)}"
        return _join_blocks(f"# {_escape_line(discussion.title)}", about, "\n".join(participants))

    def render_turns(self, turns: Sequence[VersionedTurn], files: Mapping[str, StoredFile]) -> str:
        return "".join(self._render_turn(turn, files) for turn in turns)

    def render_report(self, report: RunReport) -> str:
        self._names.update({lane.participant: lane.name for lane in report.lanes})
        return _join_blocks(*_report_blocks(labels.build_run_report(report, self._names)))

    def render_end(self, board: Board) -> str:
        ids = ", ".join(_escape_line(element.id) for element in board.elements)
        return _join_blocks(f"On the whiteboard at the end: {ids}.") if ids else ""

    def _render_turn(self, turn: VersionedTurn, files: Mapping[str, StoredFile]) -> str:
        message = turn.current
        if message.participant is not None:
            self._names.setdefault(message.participant, message.name or message.participant)
        heading = (
            labels.speaker_label(message),
            labels.stage_label(message) if message.participant else None,
            message.model,
            labels.recipients_label(message, self._names),
        )
        error = labels.error_text(message)
        return _join_blocks(
            f"## {' · '.join(_escape_line(one) for one in heading if one)}",
            _block_quote("Thinking", message.thoughts),
            *(
                _block_quote(_escape_line(labels.tool_call_label(use)), f"{use.arguments}\n\n{use.content}")
                for use in message.tools or ()
            ),
            replace_unprintable(message.content).strip(),
            _block_quote("Details", message.details),
            _escape_line(labels.files_label(message, files) or ""),
            _escape_line(labels.actions_label(message) or ""),
            f"**{_escape_line(error)}**" if error else "",
            f"*{', '.join([labels.format_time(message.created_at), *labels.usage_labels(message)])}*",
            *(_block_quote(_escape_line(labels.version_label(other)), other.content) for other in turn.other_versions),
        )


def _report_blocks(report: Report) -> Iterator[str]:
    if report.title:
        yield f"## {report.title}"
    for block in (block for section in report.sections for block in section):
        match block:
            case Paragraph(text=text, kind=kind):
                yield f"*{_escape_line(text)}*" if kind == "total" else _escape_line(text)
            case Table(head=head, rows=rows):
                cells = [
                    head,
                    ["---"] * len(head),
                    *([_escape_line(plain_text((cell,))) for cell in row] for row in rows),
                ]
                yield "\n".join(f"| {' | '.join(row)} |" for row in cells)
            case Bullets(title=title, items=items):
                yield "\n".join([f"### {title}", "", *_item_lines(items)])
    yield "---"


def _item_lines(items: Sequence[Item], indent: str = "") -> Iterator[str]:
    for item in items:
        label = f"{item.label}: " if item.label else ""
        yield f"{indent}- {_escape_line(label + plain_text(item.line))}"
        yield from _item_lines(item.items, f"{indent}  ")


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
