"""HTML transcript: one file with inline style, without scripts and external requests."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files as resources

from msgspec.structs import replace

from moot import __version__
from moot.prompts.lesson import turn_action_names
from moot.services.run_reports import RunReport
from moot.transcript.html import escape_html, html_element
from moot.transcript.html_debate import render_debate_report
from moot.transcript.html_markdown import MarkdownRenderer
from moot.transcript.labels import (
    ParticipantNames,
    build_run_report,
    error_text,
    format_time,
    recipients_label,
    speaker_label,
    stage_label,
    tool_call_label,
    usage_labels,
    version_label,
)
from moot.types.discussions import Discussion, Message
from moot.types.files import StoredFile
from moot.types.participants import PARTICIPANT_COLOURS
from moot.types.tools import ToolUse
from moot.types.versions import VersionedTurn
from moot.whiteboard.render.svg import render_svg
from moot.whiteboard.state import Board

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
HEX_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
DEFAULT_COLOUR = "var(--soft)"


class HtmlFormat:
    media_type = "text/html"
    extension = "html"

    def __init__(self, markdown_renderer: MarkdownRenderer | None = None) -> None:
        self._render_markdown = markdown_renderer or MarkdownRenderer()
        self._names = ParticipantNames()
        self._colours: dict[str, str] = {}
        self._current_stage: tuple[str | None, str | None] = (None, None)

    def render_start(self, discussion: Discussion) -> str:
        for who in discussion.participants:
            self._register_participant(who.id, who.name, who.colour)
        return f"{_document_head(discussion.title)}{self._discussion_header(discussion)}\n"

    def render_turns(self, turns: Sequence[VersionedTurn], files: Mapping[str, StoredFile]) -> str:
        return "".join(self._stage_heading(turn.current) + self._render_turn(turn, files) for turn in turns)

    def render_report(self, report: RunReport) -> str:
        for lane in report.lanes:
            self._register_participant(lane.participant, lane.name)
        self._current_stage = (None, None)
        return render_debate_report(build_run_report(report, self._names), self._name_chip)

    def render_end(self, board: Board) -> str:
        figure = ""
        if board.elements:
            caption = html_element("figcaption", "The whiteboard at the end")
            figure = html_element("figure", render_svg(replace(board, open=True)), caption, class_="board")
        footer = html_element("footer", f"Written by Moot {escape_html(__version__)}.")
        return f"{figure}\n{footer}\n</main>\n</body>\n</html>\n"

    def _register_participant(self, id: str, name: str | None, colour: str | None = None) -> None:
        """Keep the first name and colour of an id. The default colour depends on the order of registration."""
        self._names.setdefault(id, name or id)
        chosen = (
            colour
            if colour and HEX_COLOUR.fullmatch(colour)
            else PARTICIPANT_COLOURS[len(self._colours) % len(PARTICIPANT_COLOURS)]
        )
        self._colours.setdefault(id, chosen)

    def _colour_style(self, participant: str | None) -> str:
        return f"--own:{self._colours.get(participant or '', DEFAULT_COLOUR)}"

    def _name_chip(self, participant: str) -> str:
        name = escape_html(self._names[participant])
        return html_element("span", name, class_="name", style=self._colour_style(participant))

    def _discussion_header(self, discussion: Discussion) -> str:
        participants = [
            html_element(
                "li",
                self._name_chip(who.id),
                " ",
                html_element(
                    "span",
                    escape_html(" · ".join(filter(None, (who.role, discussion.model or who.model)))),
                    class_="model",
                ),
            )
            for who in discussion.participants
        ]
        about = f"{discussion.mode.capitalize()} · {format_time(discussion.created_at)}"
        return html_element(
            "header",
            html_element("p", escape_html(about), class_="kind"),
            html_element("h1", escape_html(discussion.title)),
            html_element("ul", *participants, class_="seats"),
            class_="top",
        )

    def _stage_heading(self, message: Message) -> str:
        """Return a heading if this message starts a new stage."""
        label = stage_label(message)
        stage = (message.run, label)
        if stage == self._current_stage or message.participant is None:
            return ""
        self._current_stage = stage
        return html_element("h2", escape_html(label), class_="stage") + "\n" if label else ""

    def _render_turn(self, turn: VersionedTurn, files: Mapping[str, StoredFile]) -> str:
        message = turn.current
        if message.participant is not None:
            self._register_participant(message.participant, message.name)
        kind = "person" if message.participant is None and message.role == "user" else "turn"
        file_names = [files[id].name for id in message.files or () if id in files]
        parts = [
            self._turn_header(message),
            self._details_block("Thinking", message.thoughts),
            *map(_tool_call, message.tools or ()),
            html_element("div", self._render_markdown(message.content), class_="words")
            if message.content.strip()
            else "",
            self._details_block("Details", message.details),
            html_element("p", escape_html(f"With {', '.join(file_names)}"), class_="files") if file_names else "",
            _actions_line(message),
            _error_line(message),
            _usage_footer(message),
            *(self._details_block(version_label(other), other.content) for other in turn.other_versions),
        ]
        classes, style = f"{kind} {message.role} {message.status}", self._colour_style(message.participant)
        return html_element("article", *parts, id=message.id, class_=classes, style=style) + "\n"

    def _turn_header(self, message: Message) -> str:
        labels = [message.model, recipients_label(message, self._names)]
        at = datetime.fromtimestamp(message.created_at, UTC)
        return html_element(
            "header",
            html_element("h3", escape_html(speaker_label(message)), class_="name"),
            *(html_element("span", escape_html(label), class_="model") for label in labels if label),
            html_element("time", format_time(message.created_at), datetime=at.isoformat(timespec="seconds")),
        )

    def _details_block(self, title: str, text: str) -> str:
        if not text.strip():
            return ""
        return html_element("details", html_element("summary", escape_html(title)), self._render_markdown(text))


def _document_head(title: str) -> str:
    style = (resources("moot.transcript") / "style.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape_html(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
    )


def _tool_call(use: ToolUse) -> str:
    body = html_element("pre", escape_html(f"{use.arguments}\n\n{use.content}"))
    return html_element("details", html_element("summary", escape_html(tool_call_label(use))), body)


def _actions_line(message: Message) -> str:
    actions = [name.removeprefix("wb_").replace("_", " ") for name in turn_action_names(message)]
    return html_element("p", escape_html(f"On the board: {', '.join(actions)}"), class_="acts") if actions else ""


def _error_line(message: Message) -> str:
    error = error_text(message)
    return html_element("p", escape_html(error), class_="trouble") if error else ""


def _usage_footer(message: Message) -> str:
    labels = usage_labels(message)
    return html_element("footer", escape_html(" · ".join(labels))) if labels else ""
