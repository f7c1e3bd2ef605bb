"""Several participants on a screen: live columns (or blocks, where it is narrow), then the whole answers."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.containers import Lines
from rich.live import Live as RichLive
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from moot.channels.terminal import Lane, aside, ending_words, follow, lanes_of, safe
from moot.model.events import Event, Notice, RunStarted, ToolCalled

NARROWEST = 36  # characters that a column needs to be readable
FRAMES = 10  # a second


class Live:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._lanes: dict[str, Lane] = {}
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
            match event:
                case RunStarted(participants=participants):
                    self._lanes = lanes_of(participants)
                case Notice() | ToolCalled():
                    lane = self._lanes.get(event.participant or "")
                    name = f"{lane.participant.name}: " if lane else ""
                    self._console.print(Text(safe(f"{name}{aside(event)}"), style="dim"))
                case _:
                    follow(self._lanes, event, keep=self._console.width * self._console.height)

    def close(self) -> None:
        self._live.stop()
        for lane in self._lanes.values():
            self._console.print(self._whole(lane))

    def view(self) -> RenderableType:
        """Draw every lane's newest lines, side by side where there is room for it."""
        if not self._lanes:
            return Text("")
        lanes = list(self._lanes.values())
        room = max(8, self._console.height - 2)
        if self._console.width // len(lanes) < NARROWEST:
            return Group(
                *(self._panel(lane, self._console.width, max(4, room // len(lanes))) for lane in lanes)
            )
        grid = Table.grid(expand=True)
        for _ in lanes:
            grid.add_column(ratio=1)
        width = self._console.width // len(lanes)
        tallest = max(len(self._lines(lane, width)) for lane in lanes) + 2
        grid.add_row(*(self._panel(lane, width, min(room, max(8, tallest))) for lane in lanes))
        return grid

    def _panel(self, lane: Lane, width: int, height: int) -> Panel:
        shown = Text("\n").join(self._lines(lane, width)[-(height - 2) :])
        return Panel(
            shown, title=self._title(lane), subtitle=lane.state, border_style=lane.style, height=height
        )

    def _lines(self, lane: Lane, width: int) -> Lines:
        ending = ending_words(lane.turn) if lane.turn else ""
        gap = Text("\n\n" if lane.tail and ending else "")
        return gap.join([Text(lane.tail), Text(safe(ending), style="red")]).wrap(
            self._console, max(1, width - 4)
        )

    def _title(self, lane: Lane) -> Text:
        return Text(f"{lane.participant.name} · {lane.model}", style=f"bold {lane.style}")

    def _whole(self, lane: Lane) -> RenderableType:
        parts: list[RenderableType] = [Rule(self._title(lane), style=lane.style)]
        if lane.turn is None:
            parts.append(Text(lane.tail))
        else:
            said = (lane.turn.message.text, lane.turn.message.details)
            parts += [Text(safe(text).rstrip()) for text in said if text]
            if words := ending_words(lane.turn):
                parts.append(Text(safe(words), style="red" if lane.turn.fault else "yellow"))
        return Group(*parts, "")
