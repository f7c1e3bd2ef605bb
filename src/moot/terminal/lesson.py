"""Reader of a directed run for the terminal: streams speech and actions, and reports director decisions."""

from collections.abc import Sequence
from typing import TextIO

from moot.terminal.readers import ending_line, notice_text, strip_control_chars
from moot.types.actions import get_action_name
from moot.types.events import (
    ActionRejected,
    ActionTaken,
    Event,
    Notice,
    RunStarted,
    SpeakerSelected,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from moot.types.modes import LESSON_ENDS, USER_SPEAKS_NEXT


class LessonReader:
    """Writes text deltas at once, because one participant speaks at a time. Decisions go to stderr."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._names: dict[str, str] = {}
        self._mid_line = False  # stdout does not end with a newline

    def __call__(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case RunStarted(participants=participants):
                    self._names = {who.id: f"{who.name} ({who.role})" if who.role else who.name for who in participants}
                case SpeakerSelected():
                    self._write_notice(self._decision_text(event))
                case TurnStarted(participant=who, model=model):
                    self._write_line(f"=== {self._names.get(who, who)} \u00b7 {model} ===")
                case TextDelta(text=text):
                    self._write_text(strip_control_chars(text))
                case ActionTaken(action=action):
                    element = getattr(action, "element_id", None)
                    self._write_line(f"[{get_action_name(action)}{f' {element}' if element else ''}]")
                case ActionRejected(name=name, reason=reason):
                    self._write_notice(f"{name} was rejected: {reason}")
                case Notice() | ToolCalled() | ToolReturned():
                    self._write_notice(notice_text(event))
                case TurnEnded():
                    self._write_line(ending_line(event))
                    self._out.write("\n")
        self._out.flush()

    def close(self) -> None:
        self._write_line("")
        self._out.flush()

    def _write_text(self, text: str) -> None:
        shown = text if self._mid_line else text.lstrip()
        self._out.write(shown)
        self._mid_line = (self._mid_line or bool(shown)) and not text.endswith("\n")

    def _decision_text(self, decision: SpeakerSelected) -> str:
        if decision.next == USER_SPEAKS_NEXT:
            return f"You speak next. {decision.reason}"
        if decision.next == LESSON_ENDS:
            return f"The lesson is over. {decision.reason}"
        return f"{self._names.get(decision.next, decision.next)} speaks next. {decision.reason}"

    def _write_line(self, text: str) -> None:
        if self._mid_line:
            self._out.write("\n")
            self._mid_line = False
        if text:
            self._out.write(f"{strip_control_chars(text)}\n")

    def _write_notice(self, text: str) -> None:
        if not text:
            return
        self._write_line("")
        self._out.flush()
        self._err.write(f"moot: {strip_control_chars(text)}\n")
        self._err.flush()
