"""Readers of run events for the terminal and for pipes: one answer, labelled blocks, a lesson, or JSON lines."""

from collections.abc import Sequence
from typing import Protocol, TextIO

import msgspec

from moot.transcript.debate_report import NO_CLAIMS, Report, build_report, text_lines
from moot.types.actions import get_action_name
from moot.types.billing import format_usd
from moot.types.events import (
    ANSWERED_STATUSES,
    ActionRejected,
    ActionTaken,
    Event,
    Notice,
    RunEnded,
    RunStarted,
    SpeakerSelected,
    StageStarted,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from moot.types.modes import LESSON_ENDS, USER_SPEAKS_NEXT, stage_title
from moot.types.run_state import RunState

MAX_TOOL_CHARS = 200  # of arguments and results of a tool call
CONTROL_CHARS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])


class RunReader(Protocol):
    """Callback for batches of events. `close` is called once, also after an error."""

    def __call__(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


def strip_control_chars(text: str) -> str:
    """Remove control characters, so that model output cannot send terminal escape codes."""
    return text.translate(CONTROL_CHARS)


class SingleReader:
    """Reader for one participant. Stdout has only the answer; the rest goes to stderr."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._clean = strip_control_chars if out.isatty() else str
        self._thinking = False
        self._pending_notices: list[str] = []  # buffered until the turn ends, so that they do not split a line

    def __call__(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case TextDelta(text=text):
                    self._end_thought()
                    self._out.write(self._clean(text))
                case ThoughtDelta(text=text) if self._err.isatty():
                    self._thinking = True
                    self._err.write(f"\x1b[2m{strip_control_chars(text)}\x1b[0m")
                    self._err.flush()
                case TextRetracted():
                    self._out.write("\n")
                    self._out.flush()
                    _write_notice(self._err, "the text above turned out to be the model's thinking; its answer follows")
                case Notice():
                    self._end_thought()
                    _write_notice(self._err, notice_text(event))
                case ToolCalled() | ToolReturned():
                    self._pending_notices.append(notice_text(event))
                case StageStarted(round=round_) if round_ > 0:
                    self._out.write("\n")
                case TurnEnded():
                    self._end_thought()
                    self._write_ending(event)
        self._out.flush()

    def close(self) -> None:
        self._out.flush()

    def _write_ending(self, turn: TurnEnded) -> None:
        if turn.message.details:
            self._out.write(f"\n\n{self._clean(turn.message.details)}")
        if turn.message.text or turn.message.details:
            self._out.write("\n")
        self._out.flush()
        for text in (*self._pending_notices, ending_text(turn)):
            if text:
                _write_notice(self._err, text)

    def _end_thought(self) -> None:
        if self._thinking:
            self._thinking = False
            self._err.write("\n\n")
            self._err.flush()


class PlainReader:
    """Reader for several participants in a pipe: labelled blocks, in the order of participants within a stage.

    `in_lanes`: as in `ModeSpec`; a report comes after such a run.
    """

    def __init__(self, out: TextIO, err: TextIO, *, in_lanes: bool = False) -> None:
        self._out = out
        self._err = err
        self._in_lanes = in_lanes
        self._pending: list[str] = []  # ids of participants without a block in this stage, in order
        self._ended_turns: dict[str, TurnEnded] = {}
        self._run = RunState()

    def __call__(self, events: Sequence[Event]) -> None:
        for event in events:
            self._run.apply(event)
            match event:
                case RunStarted():
                    self._pending = list(self._run.names)
                case StageStarted(stage=stage, round=round_):
                    self._print_rest()
                    self._pending, self._ended_turns = list(self._run.names), {}
                    self._out.write(f"--- {stage_title(stage, round_)} ---\n\n")
                    self._out.flush()
                case Notice() | ToolCalled() | ToolReturned():
                    if text := notice_text(event):
                        _write_notice(self._err, self._prefix_name(event.participant, text))
                case TurnEnded(participant=participant):
                    self._ended_turns[participant] = event
                    self._print_ready()
                case RunEnded() if self._in_lanes and (report := build_debate_report(self._run)):
                    self._print_rest()
                    lines = "".join(f"{strip_control_chars(line)}\n" for line in text_lines(report))
                    self._out.write(f"--- Report ---\n\n{lines}")
                    self._out.flush()

    def close(self) -> None:
        self._print_rest()

    def _print_rest(self) -> None:
        """Print turns that waited for an earlier participant whose turn never ended."""
        self._pending = [participant for participant in self._pending if participant in self._ended_turns]
        self._print_ready()

    def _print_ready(self) -> None:
        while self._pending and self._pending[0] in self._ended_turns:
            participant = self._pending.pop(0)
            turn = self._ended_turns[participant]
            self._out.write(f"=== {self._run.names[participant]} · {turn.model} ===\n")
            for part in (turn.message.text, turn.message.details, ending_line(turn)):
                if part:
                    self._out.write(f"{part.rstrip()}\n")
            self._out.write("\n")
        self._out.flush()

    def _prefix_name(self, participant: str | None, text: str) -> str:
        return f"{self._run.names[participant]}: {text}" if participant in self._run.names else text


class LessonReader:
    """Reader of a lesson. Writes text deltas at once, because one participant speaks at a time.

    Decisions of the director go to stderr.
    """

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
        special = {USER_SPEAKS_NEXT: "You speak next.", LESSON_ENDS: "The lesson is over."}
        name = self._names.get(decision.next, decision.next)
        return f"{special.get(decision.next, f'{name} speaks next.')} {decision.reason}"

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
        _write_notice(self._err, text)


class JsonLinesReader:
    """Writes every event as one JSON object per line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._encode = msgspec.json.Encoder().encode

    def __call__(self, events: Sequence[Event]) -> None:
        self._out.write("".join(f"{self._encode(event).decode()}\n" for event in events))
        self._out.flush()

    def close(self) -> None:
        self._out.flush()


def notice_text(event: Notice | ToolCalled | ToolReturned) -> str:
    """Return the text for stderr; an empty string for a successful tool result."""
    match event:
        case Notice(message=message):
            return message
        case ToolCalled(name=name, arguments=arguments):
            return f"calling {name} with {_shorten_text(arguments)}"
        case ToolReturned(name=name, is_error=True, content=content):
            return f"{name} failed: {_shorten_text(content)}"
    return ""


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TOOL_CHARS else f"{line[:MAX_TOOL_CHARS]}…"


def build_debate_report(run: RunState) -> Report | None:
    """Return None before the first answer. The cost is that of all calls: answers, synthesis and analyses."""
    if not any(turn.status in ANSWERED_STATUSES for turn in run.ended_turns):
        return None
    cost = "unknown" if run.cost_usd is None else format_usd(run.cost_usd)
    return build_report(
        run.names, f"Cost: {cost}", summary=run.summary, ranking=run.ranking, claims=run.claims or NO_CLAIMS
    )


def ending_text(turn: TurnEnded) -> str:
    """Return an empty string for a complete answer."""
    if turn.fault is not None:
        note = " The partial answer is above." if turn.status == "partial" else ""
        return turn.fault.message + note
    if turn.status == "stopped":
        return "Stopped."
    return "Cut at the token limit; --max-tokens sets it." if turn.finish_reason == "length" else ""


def ending_line(turn: TurnEnded) -> str:
    text = ending_text(turn)
    return f"[{turn.status}: {text}]" if turn.fault else text and f"[{text}]"


def _write_notice(err: TextIO, message: str) -> None:
    err.write(f"moot: {strip_control_chars(message)}\n")
    err.flush()
