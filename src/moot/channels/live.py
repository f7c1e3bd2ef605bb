"""Several participants on a screen: live columns (or blocks, where it is narrow), then the whole answers."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.markdown import Markdown
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from moot.channels.terminal import Lane, ending_words, follow, lanes_of, safe
from moot.model.events import Event, Notice, RunStarted

NARROWEST = 36  # characters that a column needs to be readable
FRAMES = 10  # a second


class Live:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._lanes: dict[str, Lane] = {}
        self._live = RichLive(
            get_renderable=self._view,
            console=console,
            refresh_per_second=FRAMES,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __call__(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case RunStarted(participants=participants):
                    self._lanes = lanes_of(participants)
                    self._live.start()
                case Notice(message=message, participant=participant) if participant in self._lanes:
                    name = self._lanes[participant].participant.name
                    self._console.print(Text(f"{name}: {message}", style="dim"))
                case _:
                    follow(self._lanes, event, keep=self._console.width * self._console.height)

    def close(self) -> None:
        self._live.stop()
        for lane in self._lanes.values():
            self._console.print(self._whole(lane))

    def _view(self) -> RenderableType:
        if not self._lanes:
            return Text("")
        beside = self._console.width // len(self._lanes) >= NARROWEST
        room = max(8, self._console.height - 2)
        height = room if beside else max(4, room // len(self._lanes))
        width = self._console.width // len(self._lanes) if beside else self._console.width
        panels = [self._panel(lane, width, height) for lane in self._lanes.values()]
        if not beside:
            return Group(*panels)
        grid = Table.grid(expand=True)
        for _ in panels:
            grid.add_column(ratio=1)
        grid.add_row(*panels)
        return grid

    def _panel(self, lane: Lane, width: int, height: int) -> Panel:
        lines = Text(lane.tail).wrap(self._console, max(1, width - 4))
        shown = Text("\n").join(lines[-(height - 2) :])
        return Panel(
            shown, title=self._title(lane), subtitle=lane.state, border_style=lane.style, height=height
        )

    def _title(self, lane: Lane) -> Text:
        return Text(f"{lane.participant.name} · {lane.model}", style=f"bold {lane.style}")

    def _whole(self, lane: Lane) -> RenderableType:
        parts: list[RenderableType] = [Rule(self._title(lane), style=lane.style)]
        if lane.turn is not None:
            parts += [Markdown(safe(t)) for t in (lane.turn.message.text, lane.turn.message.details) if t]
            if words := ending_words(lane.turn):
                parts.append(Text(words, style="red" if lane.turn.fault else "yellow"))
        return Group(*parts, "")
