"""Live view of several participants: columns, or rows in a narrow terminal, then the full answers.

In a run with stages, only speaking participants have a column. Their answers are printed when the turns end.
"""

from collections.abc import Sequence

from msgspec import Struct
from rich.console import Console, Group, RenderableType
from rich.containers import Lines
from rich.live import Live as RichLive
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from moot.terminal.debate_tables import render_debate_tables
from moot.terminal.readers import build_debate_report, ending_text, notice_text, strip_control_chars
from moot.transcript.debate_report import Report
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
        grid = Table.grid(expand=True)
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
