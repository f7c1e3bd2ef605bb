"""Converts run events to one OpenAI message: final turns become `content`, earlier ones `reasoning_content`.

Pure. An OpenAI message has one text stream, but participants stream concurrently. So one turn is active at a
time, and the text of other turns is buffered.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from moot.engine.tools.approvals import approval_instructions
from moot.server.openai.schemas import FinishReason
from moot.types.chunks import Usage
from moot.types.errors import ProviderError
from moot.types.events import (
    ANSWERED_STATUSES,
    ApprovalRequested,
    Event,
    Notice,
    NoticeKind,
    RunEnded,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnEnded,
    TurnKey,
    TurnStarted,
)
from moot.types.faults import make_fault
from moot.types.modes import TURN_LABELS
from moot.types.run_plan import RunPlan
from moot.types.run_state import RunState

# Not shown: they mean nothing once the answer arrives.
TRANSIENT_NOTICES: frozenset[NoticeKind] = frozenset({"retry", "waiting", "next_key"})
RESTART_MARKER = "\n\n[The text above was cut off. The answer restarts here:]\n\n"
STOPPED_MESSAGE = "The run was stopped before it finished."
NO_ANSWER_MESSAGE = "No participant answered."
PARTIAL_EVENTS = (TurnStarted, TextDelta, ThoughtDelta, TextRetracted, ApprovalRequested)


class TextPiece(Struct, frozen=True):
    text: str
    is_content: bool  # False: reasoning


class _PendingTurn(Struct):
    """Buffered text of a turn that is not written to the end yet."""

    pending_texts: list[str] = []
    has_text: bool = False  # since the start or the last restart of the turn
    has_thoughts: bool = False
    has_output: bool = False  # the client has received text of this turn
    is_finished: bool = False


class ResponseText:
    """One answer, built from events. After the last event, `failure` is None if the answer is complete."""

    def __init__(self, plan: RunPlan) -> None:
        self.finish: FinishReason = "stop"
        self.failure: ProviderError | None = ProviderError(make_fault("api_error", STOPPED_MESSAGE))
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._plan = plan
        self._run = RunState(participants=plan.participants)  # of whole turns: partial text goes out at once
        self._has_several_participants = not plan.spec.only_first and len(plan.responding_participants) > 1
        self._pending_turns: dict[TurnKey, _PendingTurn] = {}  # in order of their start
        self._active_turn: TurnKey | None = None
        self._notices: list[str] = []

    @property
    def usage(self) -> Usage:
        return self._run.usage

    @property
    def content(self) -> str:
        return "".join(self._content)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def apply_events(self, events: Sequence[Event]) -> list[TextPiece]:
        pieces: list[TextPiece] = []
        for event in events:
            if not isinstance(event, PARTIAL_EVENTS):
                self._run.apply(event)
            for piece in self._event_pieces(event):
                if piece.text:
                    (self._content if piece.is_content else self._reasoning).append(piece.text)
                    pieces.append(piece)
        return pieces

    def apply_whole_turns(self, events: Sequence[Event]) -> None:
        """Ignore partial events, so that the answer has no text of restarted turns."""
        self.apply_events([event for event in events if not isinstance(event, PARTIAL_EVENTS)])

    def _event_pieces(self, event: Event) -> Iterator[TextPiece]:
        match event:
            case TurnStarted() | TextRetracted():
                yield from self._discard_turn_text(event.turn_key)
            case TextDelta():
                yield from self._add_text(event.turn_key, event.text)
            case ThoughtDelta() if self._shows_thoughts(event.turn_key):
                yield self._add_thought(event.turn_key, event.text)
            case ApprovalRequested():
                yield self._approval_piece(event)
            case TurnEnded():
                yield from self._finish_turn(event)
            case Notice(kind=kind, message=message) if kind not in TRANSIENT_NOTICES:
                self._notices.append(message)
                yield from self._emit_pending()
            case RunEnded():
                yield from self._finish_run(event)

    def _add_text(self, turn_key: TurnKey, text: str) -> Iterator[TextPiece]:
        turn = self._pending_turns.setdefault(turn_key, _PendingTurn())
        turn.has_text = True
        if self._active_turn == turn_key:
            turn.has_output = True
            yield TextPiece(text, self._is_content(turn_key))
            return
        turn.pending_texts.append(text)
        yield from self._emit_pending()

    def _add_thought(self, turn_key: TurnKey, thought: str) -> TextPiece:
        turn = self._pending_turns.setdefault(turn_key, _PendingTurn())
        gap = "" if turn.has_thoughts else self._separator(is_content=False)
        turn.has_thoughts = True
        return TextPiece(gap + thought, is_content=False)

    def _discard_turn_text(self, turn_key: TurnKey) -> Iterator[TextPiece]:
        turn = self._pending_turns.setdefault(turn_key, _PendingTurn())
        if turn.has_output:
            yield TextPiece(RESTART_MARKER, self._is_content(turn_key))
        turn.pending_texts.clear()
        turn.has_text = False

    def _approval_piece(self, approval: ApprovalRequested) -> TextPiece:
        """Return the approval request at once, without buffering: the active turn itself may wait for it."""
        instructions = approval_instructions(self._participant_name(approval.turn_key), approval)
        after = "\n\n" if self._active_turn and not self._is_content(self._active_turn) else ""
        return TextPiece(f"{self._separator(is_content=False)}[{instructions}]{after}", is_content=False)

    def _finish_turn(self, event: TurnEnded) -> Iterator[TextPiece]:
        turn = self._pending_turns.setdefault(event.turn_key, _PendingTurn())
        if event.message.thoughts and not turn.has_thoughts and self._shows_thoughts(event.turn_key):
            yield TextPiece(self._separator(is_content=False) + event.message.thoughts, is_content=False)
        if not turn.has_text and event.message.text and event.status in ANSWERED_STATUSES:
            turn.pending_texts.append(event.message.text)
        if event.status != "completed" and (self._has_several_participants or not self._is_content(event.turn_key)):
            turn.pending_texts.append(
                f"\n\n{_status_note(event)}" if turn.has_text or turn.pending_texts else _status_note(event)
            )
        elif event.status not in ANSWERED_STATUSES and turn.has_output:
            turn.pending_texts.append(RESTART_MARKER)  # another participant may answer instead
        if self._is_content(event.turn_key):
            self.finish = _finish_reason(event) or self.finish
        turn.is_finished = True
        if self._active_turn == event.turn_key:
            yield TextPiece("".join(turn.pending_texts), self._is_content(event.turn_key))
            self._close_turn(event.turn_key)
        yield from self._emit_pending()

    def _emit_pending(self) -> Iterator[TextPiece]:
        """If no turn is active, activate the oldest turn with buffered text. Notices go before it."""
        while self._active_turn is None:
            for notice in self._notices:
                yield TextPiece(f"{self._separator(is_content=False)}[{notice}]", is_content=False)
            self._notices.clear()
            turn_key = next((key for key, turn in self._pending_turns.items() if turn.pending_texts), None)
            if turn_key is None:
                return
            turn = self._pending_turns[turn_key]
            self._active_turn, turn.has_output = turn_key, True
            text = self._turn_heading(turn_key) + "".join(turn.pending_texts)
            yield TextPiece(text, self._is_content(turn_key))
            turn.pending_texts.clear()
            if turn.is_finished:
                self._close_turn(turn_key)

    def _close_turn(self, turn_key: TurnKey) -> None:
        del self._pending_turns[turn_key]
        self._active_turn = None

    def _finish_run(self, event: RunEnded) -> Iterator[TextPiece]:
        yield from self._emit_pending()
        if event.status != "completed":
            fault = self._run.fault if event.status == "failed" else None
            self.failure = ProviderError(fault or make_fault("api_error", STOPPED_MESSAGE))
            return
        if not self.content.strip():
            yield from self._fallback_answers()
        self.failure = None if self.content.strip() else ProviderError(make_fault("bad_response", NO_ANSWER_MESSAGE))

    def _fallback_answers(self) -> Iterator[TextPiece]:
        """Return the answers of the last round as content, if the run has no final answer, e.g. no synthesis."""
        answered = [
            turn for turn in self._run.ended_turns if turn.status in ANSWERED_STATUSES and turn.message.text.strip()
        ]
        newest = [turn for turn in answered if (turn.stage, turn.round) == (answered[-1].stage, answered[-1].round)]
        for turn in newest:
            name = f"**{self._participant_name(turn.turn_key)}**\n\n" if len(newest) > 1 else ""
            note = f"\n\n{_status_note(turn)}" if turn.status != "completed" else ""
            self.finish = _finish_reason(turn) or self.finish
            yield TextPiece(f"{self._separator(is_content=True)}{name}{turn.message.text}{note}", is_content=True)

    def _is_content(self, turn_key: TurnKey) -> bool:
        """True if the turn is part of the final answer in this mode, False if it is reasoning."""
        if not self._has_several_participants:
            return True
        if self._plan.has_stage("synthesis"):
            return turn_key.stage == "synthesis"
        return not self._plan.spec.in_rounds or turn_key.round == self._plan.rounds - 1

    def _shows_thoughts(self, turn_key: TurnKey) -> bool:
        """True for a final turn that does not stream at the same time as others."""
        concurrent = self._has_several_participants and self._plan.spec.simultaneous and turn_key.stage != "synthesis"
        return self._is_content(turn_key) and not concurrent and self._active_turn in {None, turn_key}

    def _turn_heading(self, turn_key: TurnKey) -> str:
        is_content = self._is_content(turn_key)
        gap = self._separator(is_content=is_content)
        if not self._has_several_participants or (is_content and turn_key.stage == "synthesis"):
            return gap
        stage = TURN_LABELS.get(turn_key.stage, "").format(number=turn_key.round + 1)
        name = self._participant_name(turn_key)
        label = f"{name}, {stage}" if stage and not (is_content and turn_key.stage == "round") else name
        return f"{gap}**{label}**\n\n"

    def _participant_name(self, turn_key: TurnKey) -> str:
        return self._run.names.get(turn_key.participant, turn_key.participant)

    def _separator(self, *, is_content: bool) -> str:
        return "\n\n" if (self._content if is_content else self._reasoning) else ""


def _finish_reason(event: TurnEnded) -> FinishReason | None:
    """Return None for a complete answer. OpenAI has no reason for a partial answer, so it becomes `length`."""
    match event.finish_reason:
        case "length" | "content_filter" as reason:
            return reason
        case _:
            return "length" if event.status == "partial" else None


def _status_note(event: TurnEnded) -> str:
    label = {"partial": "cut off", "failed": "failed"}.get(event.status, "stopped")
    return f"[{label}: {event.fault.message}]" if event.fault else f"[{label}]"
