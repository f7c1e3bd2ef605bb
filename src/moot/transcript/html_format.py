"""A transcript to look at: one HTML file with its own style, no script, and nothing that is loaded from anywhere."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files as resources

from msgspec.structs import replace

from moot import __version__
from moot.prompts.lesson import actions_in
from moot.services.run_reports import Report
from moot.transcript.html import element, words
from moot.transcript.html_debate import minutes
from moot.transcript.html_markdown import Rendering
from moot.transcript.labels import Names, called, figures, meant_for, moment, speaker, stage, trouble, version
from moot.types.discussions import Discussion, Message
from moot.types.files import StoredFile
from moot.types.participants import COLOURS
from moot.types.tools import ToolUse
from moot.types.versions import Turn
from moot.whiteboard.render.svg import svg
from moot.whiteboard.state import Board

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
HUE = re.compile(r"#[0-9a-fA-F]{6}")
SOFT = "var(--soft)"


class Page:
    media_type = "text/html"
    ending = "html"

    def __init__(self, rendering: Rendering | None = None) -> None:
        self._rendered = rendering or Rendering()
        self._names = Names()
        self._hues: dict[str, str] = {}
        self._stage: tuple[str | None, str | None] = (None, None)

    def begin(self, discussion: Discussion) -> str:
        for who in discussion.participants:
            self._sit(who.id, who.name, who.colour)
        return f"{_head(discussion.title)}{self._introduction(discussion)}\n"

    def said(self, turns: Sequence[Turn], files: Mapping[str, StoredFile]) -> str:
        return "".join(self._stage_of(turn.now) + self._turn(turn, files) for turn in turns)

    def found(self, report: Report) -> str:
        for lane in report.lanes:
            self._sit(lane.participant, lane.name)
        self._stage = (None, None)
        return minutes(report, self._names, self._chip)

    def end(self, board: Board) -> str:
        drawn = ""
        if board.elements:
            caption = element("figcaption", "The whiteboard at the end")
            drawn = element("figure", svg(replace(board, open=True)), caption, class_="board")
        written = element("footer", f"Written by Moot {words(__version__)}.")
        return f"{drawn}\n{written}\n</main>\n</body>\n</html>\n"

    def _sit(self, id: str, name: str | None, colour: str | None = None) -> None:
        """Give somebody a name and a colour that stay; without one of its own it has that of its seat."""
        self._names.setdefault(id, name or id)
        chosen = colour if colour and HUE.fullmatch(colour) else COLOURS[len(self._hues) % len(COLOURS)]
        self._hues.setdefault(id, chosen)

    def _style(self, participant: str | None) -> str:
        return f"--own:{self._hues.get(participant or '', SOFT)}"

    def _chip(self, participant: str) -> str:
        name = words(self._names[participant])
        return element("span", name, class_="name", style=self._style(participant))

    def _introduction(self, discussion: Discussion) -> str:
        seats = [
            element(
                "li",
                self._chip(who.id),
                " ",
                element(
                    "span",
                    words(" · ".join(filter(None, (who.role, discussion.model or who.model)))),
                    class_="model",
                ),
            )
            for who in discussion.participants
        ]
        about = f"{discussion.mode.capitalize()} · {moment(discussion.created_at)}"
        return element(
            "header",
            element("p", words(about), class_="kind"),
            element("h1", words(discussion.title)),
            element("ul", *seats, class_="seats"),
            class_="top",
        )

    def _stage_of(self, message: Message) -> str:
        """Write a heading where another stage begins."""
        here = (message.run, stage(message))
        if here == self._stage or message.participant is None:
            return ""
        self._stage = here
        return element("h2", words(here[1]), class_="stage") + "\n" if here[1] else ""

    def _turn(self, turn: Turn, files: Mapping[str, StoredFile]) -> str:
        message = turn.now
        if message.participant is not None:
            self._sit(message.participant, message.name)
        kind = "person" if message.participant is None and message.role == "user" else "turn"
        named = [files[id].name for id in message.files or () if id in files]
        parts = [
            self._by(message),
            self._folded("Thinking", message.thoughts),
            *map(_call, message.tools or ()),
            element("div", self._rendered(message.content), class_="words")
            if message.content.strip()
            else "",
            self._folded("Details", message.details),
            element("p", words(f"With {', '.join(named)}"), class_="files") if named else "",
            _acts(message),
            _trouble(message),
            _figures(message),
            *(self._folded(version(other), other.content) for other in turn.others),
        ]
        classes, style = f"{kind} {message.role} {message.status}", self._style(message.participant)
        return element("article", *parts, id=message.id, class_=classes, style=style) + "\n"

    def _by(self, message: Message) -> str:
        asides = [message.model, meant_for(message, self._names)]
        at = datetime.fromtimestamp(message.created_at, UTC)
        return element(
            "header",
            element("h3", words(speaker(message)), class_="name"),
            *(element("span", words(aside), class_="model") for aside in asides if aside),
            element("time", moment(message.created_at), datetime=at.isoformat(timespec="seconds")),
        )

    def _folded(self, title: str, text: str) -> str:
        if not text.strip():
            return ""
        return element("details", element("summary", words(title)), self._rendered(text))


def _head(title: str) -> str:
    style = (resources("moot.transcript") / "style.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{words(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
    )


def _call(use: ToolUse) -> str:
    told = element("pre", words(f"{use.arguments}\n\n{use.content}"))
    return element("details", element("summary", words(called(use))), told)


def _acts(message: Message) -> str:
    acts = [name.removeprefix("wb_").replace("_", " ") for name in actions_in(message)]
    return element("p", words(f"On the board: {', '.join(acts)}"), class_="acts") if acts else ""


def _trouble(message: Message) -> str:
    why = trouble(message)
    return element("p", words(why), class_="trouble") if why else ""


def _figures(message: Message) -> str:
    told = figures(message)
    return element("footer", words(" · ".join(told))) if told else ""
