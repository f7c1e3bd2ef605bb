"""Several participants on a screen: live columns (or blocks, where it is narrow), then the whole answers.

Where a run has stages, only those who speak have a column, and what they said is written out when they have ended: a
discussion in turns reads from top to bottom.
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

from moot.terminal.debate_findings import Findings
from moot.terminal.debate_tables import tables
from moot.terminal.readers import aside, ending_words, safe, stage_words
from moot.types.events import (
    Event,
    Notice,
    RunEnded,
    RunStarted,
    StageStarted,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from moot.types.participants import Participant

SMALLEST_PANEL = 4  # lines, two of them text
NARROWEST = 36  # characters that a column needs to be readable
FRAMES = 10  # a second
MINUTES = "The minutes are being written…"
STYLES = ("cyan", "magenta", "green", "yellow", "blue", "red")


class Column(Struct):
    """What one column of the live view shows."""

    participant: Participant
    style: str
    model: str
    state: str = "waiting"
    tail: str = ""
    turn: TurnEnded | None = None
    open: bool = False  # whether it has begun a turn and not ended it
    since: float = 0.0  # when it began to wait, by the console's clock

    def doing(self, now: float) -> str:
        waited = now - self.since
        return f"waiting for {waited:.0f} s" if self.state == "waiting" and waited >= 3 else self.state


class Live:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._columns: dict[str, Column] = {}
        self._staged = False
        self._concluding = False  # the minutes are being made, and nobody sees that
        self._found = Findings()
        self._live = RichLive(
            get_renderable=self.view,
            console=console,
            refresh_per_second=FRAMES,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __call__(self, events: Sequence[Event]) -> None:
        self.follow(events)
        if not self._live.is_started:
            self._live.start()

    def follow(self, events: Sequence[Event]) -> None:
        """Bring the view up to date without drawing it."""
        for event in events:
            self._found.hear(event)
            match event:
                case RunStarted(participants=participants):
                    self._columns = columns_for(participants)
                case Notice() | ToolCalled() | ToolReturned():
                    column = self._columns.get(event.participant or "")
                    name = f"{column.participant.name}: " if column else ""
                    if words := aside(event):
                        self._console.print(Text(safe(f"{name}{words}"), style="dim"))
                case StageStarted():
                    self._staged = True
                    self._concluding = event.stage == "synthesis" and self._found.awaited
                    marker = Text(stage_words(event), style="dim")
                    self._write_out(Group(Rule(marker, characters="╌", style="dim"), ""))
                case RunEnded() if self._found.there:
                    self._concluding = False
                    self._write_out(self._minutes())
                case _:
                    update(self._columns, event, keep=self._console.width * self._console.height)
                    if isinstance(event, TurnStarted):
                        self._columns[event.participant].since = self._console.get_time()
                    elif isinstance(event, TurnEnded) and self._staged:
                        self._write_out_if_silent()

    def close(self) -> None:
        self._live.stop()
        for column in self._columns.values():
            if not self._staged or column.open or column.turn:
                self._console.print(self._whole(column))

    def _write_out_if_silent(self) -> None:
        """Print what was said as soon as nobody speaks any more, in the order of the seats."""
        if any(column.open for column in self._columns.values()):
            return
        for column in self._columns.values():
            if column.turn is not None:
                self._write_out(self._whole(column))
                column.turn = None

    def _minutes(self) -> RenderableType:
        styles = {who: column.style for who, column in self._columns.items()}
        marker = Text("Minutes", style="dim")
        return Group(Rule(marker, characters="╌", style="dim"), "", tables(self._found, styles))

    def _write_out(self, whole: RenderableType) -> None:
        """Print above the live view; refreshed before, it no longer shows those who have ended."""
        self._live.refresh()
        self._console.print(whole)

    def view(self) -> RenderableType:
        """Draw every column's newest lines, side by side where there is room, else below each other."""
        columns = [column for column in self._columns.values() if column.open or not self._staged]
        if not columns:
            return Text(MINUTES if self._concluding else "", style="dim")
        room = max(8, self._console.height - 2)
        if self._console.width // len(columns) < NARROWEST:
            return self._stack(columns, room)
        grid = Table.grid(expand=True)
        for _ in columns:
            grid.add_column(ratio=1)
        width = self._console.width // len(columns)
        tallest = max(len(self._lines(column, width)) for column in columns) + 2
        grid.add_row(*(self._panel(column, width, min(room, max(8, tallest))) for column in columns))
        return grid

    def _stack(self, columns: list[Column], room: int) -> Group:
        """Give the room to those who still speak: whoever has ended, or does not fit, is one line."""
        speaking = [column for column in columns if column.turn is None]
        fitting = max(1, (room - len(columns)) // SMALLEST_PANEL)
        panels = {column.participant.id for column in speaking[:fitting]}
        height = (room - (len(columns) - len(panels))) // max(1, len(panels))
        return Group(
            *(
                self._panel(column, self._console.width, height)
                if column.participant.id in panels
                else self._line(column)
                for column in columns
            )
        )

    def _line(self, column: Column) -> Text:
        return Text.assemble(
            self._title(column),
            f"  {column.doing(self._console.get_time())}",
            no_wrap=True,
            overflow="ellipsis",
        )

    def _panel(self, column: Column, width: int, height: int) -> Panel:
        shown = Text("\n").join(self._lines(column, width)[-(height - 2) :])
        return Panel(
            shown,
            title=self._title(column),
            subtitle=column.doing(self._console.get_time()),
            border_style=column.style,
            height=height,
        )

    def _lines(self, column: Column, width: int) -> Lines:
        ending = ending_words(column.turn) if column.turn else ""
        gap = Text("\n\n" if column.tail and ending else "")
        return gap.join([Text(column.tail), Text(safe(ending), style="red")]).wrap(
            self._console, max(1, width - 4)
        )

    def _title(self, column: Column) -> Text:
        return Text(f"{column.participant.name} · {column.model}", style=f"bold {column.style}")

    def _whole(self, column: Column) -> RenderableType:
        parts: list[RenderableType] = [Rule(self._title(column), style=column.style)]
        if column.turn is None:
            parts.append(Text(column.tail))
        else:
            said = (column.turn.message.text, column.turn.message.details)
            parts += [Text(safe(text).rstrip()) for text in said if text]
            if words := ending_words(column.turn):
                parts.append(Text(safe(words), style="red" if column.turn.fault else "yellow"))
        return Group(*parts, "")


def columns_for(participants: Sequence[Participant]) -> dict[str, Column]:
    return {p.id: Column(p, STYLES[place % len(STYLES)], p.model) for place, p in enumerate(participants)}


def update(columns: dict[str, Column], event: Event, keep: int) -> None:
    """Bring the columns up to date; only the last `keep` characters are kept for the live view."""
    match event:
        case TurnStarted():
            column = columns[event.participant]
            column.model, column.tail, column.state = event.model, "", "waiting"
            column.turn, column.open = None, True
        case TextDelta():
            column = columns[event.participant]
            column.tail, column.state = (column.tail + safe(event.text))[-keep:], "speaking"
        case ThoughtDelta():
            columns[event.participant].state = "thinking"
        case TextRetracted():
            columns[event.participant].tail = ""
        case TurnEnded():
            column = columns[event.participant]
            column.turn, column.state, column.open = event, event.status, False
