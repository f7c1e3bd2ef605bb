"""Live view of several participants: columns, or rows in a narrow terminal, then the full answers and the report.

In a run with stages, only speaking participants have a column. Their answers are printed when the turns end.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.containers import Lines
from rich.live import Live as RichLive
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table as RichTable
from rich.text import Text

from moot.terminal.readers import build_debate_report, ending_text, notice_text, strip_control_chars
from moot.transcript.debate_report import Bullets, Item, Line, Paragraph, Report, Section, Table, labelled_lines
from moot.types.events import (
    Event,
    Notice,
    RunEnded,
    RunStarted,
    StageStarted,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from moot.types.modes import stage_title
from moot.types.participants import Participant
from moot.types.run_state import RunState, TurnState

MIN_PANEL_LINES = 4  # two of text, two of border
MIN_COLUMN_WIDTH = 36  # characters
FRAMES_PER_SECOND = 10
WRITING_REPORT_MESSAGE = "The report is being written…"
COLUMN_STYLES = ("cyan", "magenta", "green", "yellow", "blue", "red")
MARK_STYLES = {"changed": "yellow", "kept": "green", "no answer": "red", "minority": "yellow"}
LABEL_STYLES = {"for": "green", "against": "red"}
SPACE = re.compile(r"\s+")

Styles = Mapping[str, str]  # Rich styles by participant id


class Column(Struct):
    """State of one participant in the live view."""

    participant: Participant
    style: str
    turn: TurnState | None = None  # the newest; None before the first, and after it was printed above the view
    waiting_since: float = 0.0  # seconds of the console's clock

    @property
    def turn_end(self) -> TurnEnded | None:
        return self.turn.end if self.turn else None

    @property
    def is_speaking(self) -> bool:
        return self.turn is not None and self.turn.end is None

    def text_tail(self, max_chars: int) -> str:
        return strip_control_chars(self.turn.text[-max_chars:]) if self.turn else ""

    def status_text(self, now: float) -> str:
        seconds, status = now - self.waiting_since, self.turn.status if self.turn else "waiting"
        return f"waiting for {seconds:.0f} s" if status == "waiting" and seconds >= 3 else status


class LiveColumns:
    """`in_lanes`: as in `ModeSpec`; a report comes after such a run."""

    def __init__(self, console: Console, *, in_lanes: bool = False) -> None:
        self._console = console
        self._in_lanes = in_lanes
        self._columns: dict[str, Column] = {}
        self._run = RunState()
        self._live = RichLive(
            get_renderable=self.render_view,
            console=console,
            refresh_per_second=FRAMES_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __call__(self, events: Sequence[Event]) -> None:
        self.apply_events(events)
        if not self._live.is_started:
            self._live.start()

    def apply_events(self, events: Sequence[Event]) -> None:
        """Update the state without rendering."""
        for event in events:
            self._run.apply(event)
            match event:
                case RunStarted(participants=participants):
                    self._columns = columns_for(participants)
                case Notice() | ToolCalled() | ToolReturned():
                    column = self._columns.get(event.participant or "")
                    name = f"{column.participant.name}: " if column else ""
                    if text := notice_text(event):
                        self._console.print(Text(strip_control_chars(f"{name}{text}"), style="dim"))
                case StageStarted(stage=stage, round=round_):
                    self._print_above(Group(_dim_rule(stage_title(stage, round_)), ""))
                case RunEnded() if self._in_lanes and (report := build_debate_report(self._run)):
                    self._print_above(self._debate_report(report))
                case TurnStarted(participant=who):
                    self._columns[who].turn = self._run.turns[event.turn_key]
                    self._columns[who].waiting_since = self._console.get_time()
                case TurnEnded(participant=who):
                    self._columns[who].turn = self._run.turns[event.turn_key]
                    self._print_if_idle()

    def close(self) -> None:
        self._live.stop()
        for column in self._columns.values():
            if not self._run.stages or column.turn:
                self._console.print(self._full_answer(column))

    def _print_if_idle(self) -> None:
        """In a run with stages, print ended turns in the order of participants, once no turn is running."""
        if not self._run.stages or any(column.is_speaking for column in self._columns.values()):
            return
        for column in self._columns.values():
            if column.turn is not None:
                self._print_above(self._full_answer(column))
                column.turn = None

    def _debate_report(self, report: Report) -> RenderableType:
        styles = {who: column.style for who, column in self._columns.items()}
        return Group(_dim_rule("Report"), "", render_debate_tables(report, styles))

    def _print_above(self, renderable: RenderableType) -> None:
        """Print above the live view. Refresh it first, so that it drops the columns of ended turns."""
        self._live.refresh()
        self._console.print(renderable)

    @property
    def _is_writing_report(self) -> bool:
        """Requests for the debate report run and emit no text."""
        stage = self._run.stages[-1].stage if self._run.stages else None
        return self._in_lanes and stage == "synthesis" and self._run.status is None

    @property
    def _max_tail_chars(self) -> int:
        return self._console.width * self._console.height

    def render_view(self) -> RenderableType:
        """Render the last lines of every column, side by side if the terminal is wide enough."""
        columns = [column for column in self._columns.values() if column.is_speaking or not self._run.stages]
        if not columns:
            return Text(WRITING_REPORT_MESSAGE if self._is_writing_report else "", style="dim")
        max_lines = max(8, self._console.height - 2)
        if self._console.width // len(columns) < MIN_COLUMN_WIDTH:
            return self._stack_columns(columns, max_lines)
        grid = RichTable.grid(expand=True)
        for _ in columns:
            grid.add_column(ratio=1)
        width = self._console.width // len(columns)
        tallest = max(len(self._column_lines(column, width)) for column in columns) + 2
        grid.add_row(*(self._column_panel(column, width, min(max_lines, max(8, tallest))) for column in columns))
        return grid

    def _stack_columns(self, columns: list[Column], max_lines: int) -> Group:
        """Use panels for running turns, as many as fit. The other columns are one line each."""
        speaking = [column for column in columns if column.turn_end is None]
        fitting = max(1, (max_lines - len(columns)) // MIN_PANEL_LINES)
        panels = {column.participant.id for column in speaking[:fitting]}
        height = (max_lines - (len(columns) - len(panels))) // max(1, len(panels))
        return Group(
            *(
                self._column_panel(column, self._console.width, height)
                if column.participant.id in panels
                else self._column_line(column)
                for column in columns
            )
        )

    def _column_line(self, column: Column) -> Text:
        return Text.assemble(
            self._column_title(column),
            f"  {column.status_text(self._console.get_time())}",
            no_wrap=True,
            overflow="ellipsis",
        )

    def _column_panel(self, column: Column, width: int, height: int) -> Panel:
        shown = Text("\n").join(self._column_lines(column, width)[-(height - 2) :])
        return Panel(
            shown,
            title=self._column_title(column),
            subtitle=column.status_text(self._console.get_time()),
            border_style=column.style,
            height=height,
        )

    def _column_lines(self, column: Column, width: int) -> Lines:
        ending = ending_text(column.turn_end) if column.turn_end else ""
        tail = column.text_tail(self._max_tail_chars)
        gap = Text("\n\n" if tail and ending else "")
        return gap.join([Text(tail), Text(strip_control_chars(ending), style="red")]).wrap(
            self._console, max(1, width - 4)
        )

    def _column_title(self, column: Column) -> Text:
        model = column.turn.model if column.turn else column.participant.model
        return Text(f"{column.participant.name} · {model}", style=f"bold {column.style}")

    def _full_answer(self, column: Column) -> RenderableType:
        parts: list[RenderableType] = [Rule(self._column_title(column), style=column.style)]
        if (turn := column.turn_end) is None:
            parts.append(Text(column.text_tail(self._max_tail_chars)))
        else:
            texts = (turn.message.text, turn.message.details)
            parts += [Text(strip_control_chars(text).rstrip()) for text in texts if text]
            if ending := ending_text(turn):
                parts.append(Text(strip_control_chars(ending), style="red" if turn.fault else "yellow"))
        return Group(*parts, "")


def _dim_rule(title: str) -> Rule:
    return Rule(Text(title, style="dim"), characters="╌", style="dim")


def columns_for(participants: Sequence[Participant]) -> dict[str, Column]:
    return {p.id: Column(p, COLUMN_STYLES[index % len(COLUMN_STYLES)]) for index, p in enumerate(participants)}


def render_debate_tables(report: Report, styles: Styles) -> Group:
    """Render a panel with the summary, a table of positions, and lists with headings."""
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
