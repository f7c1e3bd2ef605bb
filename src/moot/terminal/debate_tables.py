"""Debate report for the terminal: labelled lines in columns, and a table of positions."""

import re
from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from moot.terminal.readers import strip_control_chars
from moot.transcript.debate_report import Line, Paragraph, Report, Section, Table, labelled_lines

MARK_STYLES = {"changed": "yellow", "kept": "green", "no answer": "red", "minority": "yellow"}
SPACE = re.compile(r"\s+")

Styles = Mapping[str, str]  # Rich styles by participant id


def render_debate_tables(report: Report, styles: Styles) -> Group:
    return Group(*(line for section in report.sections for line in (_render_section(section, styles), "")))


def _render_section(section: Section, styles: Styles) -> RenderableType:
    match section:
        case [Paragraph(text=text)]:
            return _styled_text((text,), styles)
        case [Table() as table]:
            return _positions_table(table, styles)
    grid, previous = RichTable.grid(padding=(0, 2)), ""
    for label, line in labelled_lines(section):
        grid.add_row(Text("" if label == previous else label, style="bold"), _styled_text(line, styles))
        previous = label
    return grid


def _positions_table(positions: Table, styles: Styles) -> RichTable:
    table = RichTable(box=SIMPLE_HEAD, expand=True, show_edge=False, pad_edge=False)
    first, *texts, last = positions.head
    table.add_column(first, no_wrap=True)
    for title in texts:
        table.add_column(title, ratio=1)
    table.add_column(last, no_wrap=True)
    for row in positions.rows:
        table.add_row(*(_styled_text((cell,), styles) for cell in row))
    return table


def _styled_text(line: Line, styles: Styles) -> Text:
    text = Text()
    for one in line:
        if isinstance(one, str):
            text.append(_clean(one))
        elif one.kind == "quote":
            text.append(f"“{_clean(one.text)}”", "dim")
        else:
            text.append(_clean(one.text), styles[one.id] if one.kind == "name" else MARK_STYLES[one.text])
    return text


def _clean(text: str) -> str:
    return strip_control_chars(SPACE.sub(" ", text))
