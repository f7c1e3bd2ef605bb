"""A directed discussion as a transcript: who has the word and why, what is said as it is said, and what is done."""

from collections.abc import Sequence
from typing import TextIO

from moot.terminal.readers import aside, bracketed, safe
from moot.types.actions import name_of
from moot.types.events import (
    ActionDropped,
    ActionTaken,
    Decided,
    Event,
    Notice,
    RunStarted,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from moot.types.modes import END, USER


class Transcript:
    """One speaks at a time, so words are written as they come; the director goes to standard error."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._names: dict[str, str] = {}
        self._mid_line = False

    def __call__(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case RunStarted(participants=participants):
                    self._names = {
                        who.id: f"{who.name} ({who.role})" if who.role else who.name for who in participants
                    }
                case Decided():
                    self._say(self._decision(event))
                case TurnStarted(participant=who, model=model):
                    self._line(f"=== {self._names.get(who, who)} \u00b7 {model} ===")
                case TextDelta(text=text):
                    self._speak(safe(text))
                case ActionTaken(action=action):
                    at = getattr(action, "element_id", None)
                    self._line(f"[{name_of(action)}{f' {at}' if at else ''}]")
                case ActionDropped(name=name, reason=reason):
                    self._say(f"{name} was left out: {reason}")
                case Notice() | ToolCalled() | ToolReturned():
                    self._say(aside(event))
                case TurnEnded():
                    self._line(bracketed(event))
                    self._out.write("\n")
        self._out.flush()

    def close(self) -> None:
        self._line("")
        self._out.flush()

    def _speak(self, text: str) -> None:
        shown = text if self._mid_line else text.lstrip()
        self._out.write(shown)
        self._mid_line = (self._mid_line or bool(shown)) and not text.endswith("\n")

    def _decision(self, decided: Decided) -> str:
        if decided.next == USER:
            return f"You have the word. {decided.reason}"
        if decided.next == END:
            return f"It is over. {decided.reason}"
        return f"{self._names.get(decided.next, decided.next)} has the word. {decided.reason}"

    def _line(self, words: str) -> None:
        if self._mid_line:
            self._out.write("\n")
            self._mid_line = False
        if words:
            self._out.write(f"{safe(words)}\n")

    def _say(self, words: str) -> None:
        if not words:
            return
        self._line("")
        self._out.flush()
        self._err.write(f"moot: {safe(words)}\n")
        self._err.flush()
