"""HTML transcript: one file with inline style, without scripts and external requests."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files as resources

from msgspec.structs import replace

from moot import __version__
from moot.services.run_reports import RunReport
from moot.transcript import labels
from moot.transcript.debate_report import Bullets, Item, Line, Paragraph, Report, Span, Table
from moot.transcript.html import escape_html, html_element, text_element
from moot.transcript.html_markdown import MarkdownRenderer
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
        self._names = labels.ParticipantNames()
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
        return self._debate_report(labels.build_run_report(report, self._names))

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
        if not (colour and HEX_COLOUR.fullmatch(colour)):
            colour = PARTICIPANT_COLOURS[len(self._colours) % len(PARTICIPANT_COLOURS)]
        self._colours.setdefault(id, colour)

    def _colour_style(self, participant: str | None) -> str:
        return f"--own:{self._colours.get(participant or '', DEFAULT_COLOUR)}"

    def _name_chip(self, participant: str) -> str:
        name = escape_html(self._names[participant])
        return html_element("span", name, class_="name", style=self._colour_style(participant))

    def _discussion_header(self, discussion: Discussion) -> str:
        participants = []
        for who in discussion.participants:
            model = " · ".join(filter(None, (who.role, discussion.model or who.model)))
            chip = self._name_chip(who.id)
            participants.append(html_element("li", chip, " ", text_element("span", model, class_="model")))
        about = f"{discussion.mode.capitalize()} · {labels.format_time(discussion.created_at)}"
        return html_element(
            "header",
            text_element("p", about, class_="kind"),
            html_element("h1", escape_html(discussion.title)),
            html_element("ul", *participants, class_="seats"),
            class_="top",
        )

    def _stage_heading(self, message: Message) -> str:
        """Return a heading if this message starts a new stage."""
        label = labels.stage_label(message)
        stage = (message.run, label)
        if stage == self._current_stage or message.participant is None:
            return ""
        self._current_stage = stage
        return text_element("h2", label, class_="stage") + "\n" if label else ""

    def _render_turn(self, turn: VersionedTurn, files: Mapping[str, StoredFile]) -> str:
        message = turn.current
        if message.participant is not None:
            self._register_participant(message.participant, message.name)
        kind = "person" if message.participant is None and message.role == "user" else "turn"
        parts = [
            self._turn_header(message),
            self._details_block("Thinking", message.thoughts),
            *map(_tool_call, message.tools or ()),
            html_element("div", self._render_markdown(message.content), class_="words")
            if message.content.strip()
            else "",
            self._details_block("Details", message.details),
            text_element("p", labels.files_label(message, files), class_="files"),
            text_element("p", labels.actions_label(message), class_="acts"),
            text_element("p", labels.error_text(message), class_="trouble"),
            text_element("footer", " · ".join(labels.usage_labels(message))),
            *(self._details_block(labels.version_label(other), other.content) for other in turn.other_versions),
        ]
        classes, style = f"{kind} {message.role} {message.status}", self._colour_style(message.participant)
        return html_element("article", *parts, id=message.id, class_=classes, style=style) + "\n"

    def _turn_header(self, message: Message) -> str:
        models = [message.model, labels.recipients_label(message, self._names)]
        at = datetime.fromtimestamp(message.created_at, UTC)
        return html_element(
            "header",
            text_element("h3", labels.speaker_label(message), class_="name"),
            *(text_element("span", label, class_="model") for label in models),
            html_element("time", labels.format_time(message.created_at), datetime=at.isoformat(timespec="seconds")),
        )

    def _details_block(self, title: str, text: str) -> str:
        if not text.strip():
            return ""
        return html_element("details", text_element("summary", title), self._render_markdown(text))

    def _debate_report(self, report: Report) -> str:
        """Without results, the section has only the status and the cost."""
        title = text_element("h2", report.title)
        blocks = (self._report_block(block) for section in report.sections for block in section)
        return html_element("section", title, *blocks, class_="report" if report.title else "ending") + "\n"

    def _report_block(self, block: Bullets | Table | Paragraph) -> str:
        match block:
            case Paragraph():
                return html_element("p", escape_html(block.text), class_=block.kind or None)
            case Table():
                head = (html_element("th", title, scope="col") for title in block.head)
                head_row, rows = html_element("tr", *head), map(self._table_row, block.rows)
                return html_element("table", html_element("thead", head_row), html_element("tbody", *rows))
            case Bullets():
                outer, heading = ("details", "summary") if block.folded else ("div", "h3")
                title, items = html_element(heading, block.title), self._report_items(block.items)
                return html_element(outer, title, items, class_=_slug(block.title))

    def _table_row(self, row: Line) -> str:
        name, *cells = (self._report_line((cell,)) for cell in row)
        return html_element("tr", html_element("th", name, scope="row"), *(html_element("td", cell) for cell in cells))

    def _report_items(self, items: Sequence[Item]) -> str:
        return html_element("ul", *(html_element("li", self._report_item(item)) for item in items))

    def _report_item(self, item: Item) -> str:
        label = html_element("span", item.label, class_=f"label {_slug(item.label)}") + " " if item.label else ""
        return label + self._report_line(item.line) + (self._report_items(item.items) if item.items else "")

    def _report_line(self, line: Line) -> str:
        return "".join(escape_html(one) if isinstance(one, str) else self._report_span(one) for one in line)

    def _report_span(self, span: Span) -> str:
        text = escape_html(span.text)
        match span.kind:
            case "name":
                return self._name_chip(span.id)
            case "quote":  # a link to the answer that contains it
                return html_element("q", html_element("a", text, href=f"#{span.id}"))
            case "mark":
                return html_element("span", text, class_=_slug(span.text))


def _slug(text: str) -> str:
    return text.lower().replace(" ", "-")


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
    return html_element("details", text_element("summary", labels.tool_call_label(use)), body)
