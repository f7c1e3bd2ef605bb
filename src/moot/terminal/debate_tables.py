"""Debate report for the terminal: a panel with the summary, a table of positions, and lists with headings."""

import re
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from moot.terminal.readers import strip_control_chars
from moot.transcript.debate_report import Bullets, Item, Line, Paragraph, Report, Section, Table, labelled_lines

MARK_STYLES = {"changed": "yellow", "kept": "green", "no answer": "red", "minority": "yellow"}
LABEL_STYLES = {"for": "green", "against": "red"}
SPACE = re.compile(r"\s+")

Styles = Mapping[str, str]  # Rich styles by participant id


def render_debate_tables(report: Report, styles: Styles) -> Group:
    return Group(*(line for section in report.sections for line in (_render_section(section, styles), "")))


def _render_section(section: Section, styles: Styles) -> RenderableType:
    match section:
        case [Paragraph(kind="overview"), *_]:
            return Panel(_labelled_grid(section, styles), title="Summary", border_style="dim")
        case _:
            return Group(*(_render_block(block, styles) for block in section))


def _render_block(block: Bullets | Table | Paragraph, styles: Styles) -> RenderableType:
    match block:
        case Paragraph(text=text, kind=kind):
            return Text(_clean(text), style="dim" if kind == "note" else "")
        case Table():
            return _positions_table(block, styles)
        case Bullets(title=title, items=items):
            return Group(Text(title, style="bold"), _item_grid(items, styles))


def _labelled_grid(section: Section, styles: Styles) -> RichTable:
    grid, previous = RichTable.grid(padding=(0, 2)), ""
    for label, line in labelled_lines(section):
        grid.add_row(Text("" if label == previous else label, style="bold"), _styled_text(line, styles))
        previous = label
    return grid


def _item_grid(items: Sequence[Item], styles: Styles) -> RichTable:
    grid = RichTable.grid(padding=(0, 2))
    for item in items:
        label = [Text(item.label, style=LABEL_STYLES.get(item.label, ""))] if item.label else []
        inner = [_item_grid(item.items, styles)] if item.items else []
        grid.add_row(*label, Group(_styled_text(item.line, styles), *inner))
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
