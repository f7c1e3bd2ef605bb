"""From the events of a run to one answer: what a table comes to is its content, and the way there its reasoning.

Pure. Where several speak at the same time one has the floor, and what the others say waits until they have it.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from moot.engine.tools.approvals import how_to_allow
from moot.server.openai.schemas import Finish
from moot.types.chunks import Finish as HowItEnded
from moot.types.chunks import Usage
from moot.types.errors import ProviderError
from moot.types.events import (
    ANSWERED,
    FINDINGS,
    ApprovalWanted,
    Event,
    Notice,
    NoticeKind,
    RunEnded,
    RunStarted,
    Seat,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnEnded,
    TurnStarted,
)
from moot.types.faults import fault
from moot.types.run_plan import Plan

BESIDE: frozenset[NoticeKind] = frozenset({"retry", "waiting", "next_key"})  # of no use once they are over
STAGES = {"initial": "first answer", "debate": "having read the others", "cross_talk": "to the others"}
ANEW = "\n\n[The above was cut off. It begins anew:]\n\n"
STOPPED = "The table was stopped before it came to an end."
NOTHING = "Nobody at the table gave an answer."
IN_PARTS = (TurnStarted, TextDelta, ThoughtDelta, TextRetracted, ApprovalWanted)
FINISHES: dict[HowItEnded, Finish] = {"length": "length", "content_filter": "content_filter"}


class Bit(Struct, frozen=True):
    """A piece of an answer, or of the reasoning before it."""

    text: str
    is_content: bool


class _Turn:
    """What somebody says; it waits until they have the floor."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.heard = False  # of its words, since it began or began anew
        self.mused = False
        self.told = False
        self.over = False


class Telling:
    """One answer while it is told. After the last event `failure` says why it is none, if it is none."""

    def __init__(self, plan: Plan) -> None:
        self.usage = Usage()
        self.finish: Finish = "stop"
        self.failure: ProviderError | None = ProviderError(fault("api_error", STOPPED))
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._plan = plan
        self._names = {who.id: who.name for who in plan.participants}
        self._several = plan.mode != "single" and len(plan.speaking) > 1
        self._turns: dict[Seat, _Turn] = {}  # that are not told to their end
        self._floor: Seat | None = None
        self._ended: list[TurnEnded] = []
        self._notices: list[str] = []

    @property
    def content(self) -> str:
        return "".join(self._content)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def told(self, events: Sequence[Event]) -> list[Bit]:
        bits: list[Bit] = []
        for event in events:
            for bit in self._bits(event):
                if bit.text:
                    (self._content if bit.is_content else self._reasoning).append(bit.text)
                    bits.append(bit)
        return bits

    def summed_up(self, events: Sequence[Event]) -> None:
        """Hear events of which only whole turns count: nothing that was begun anew is in them."""
        self.told([event for event in events if not isinstance(event, IN_PARTS)])

    def _bits(self, event: Event) -> Iterator[Bit]:
        match event:
            case RunStarted():
                self._names |= {who.id: who.name for who in event.participants}
            case TurnStarted() | TextRetracted():
                yield from self._void(event.seat)
            case TextDelta():
                yield from self._said(event.seat, event.text)
            case ThoughtDelta() if self._thinks_aloud(event.seat):
                yield self._mused(event.seat, event.text)
            case ApprovalWanted():
                yield self._waiting(event)
            case TurnEnded():
                self._ended.append(event)
                self.usage += event.usage
                yield from self._over(event)
            case Notice():
                yield from self._noticed(event)
            case RunEnded():
                yield from self._end(event)
            case _ if isinstance(event, FINDINGS):
                self.usage += event.usage

    def _said(self, seat: Seat, text: str) -> Iterator[Bit]:
        turn = self._turns.setdefault(seat, _Turn())
        turn.heard = True
        if self._floor == seat:
            turn.told = True
            yield Bit(text, self._is_content(seat))
            return
        turn.waiting.append(text)
        yield from self._next()

    def _mused(self, seat: Seat, thought: str) -> Bit:
        turn = self._turns.setdefault(seat, _Turn())
        gap = "" if turn.mused else self._gap(is_content=False)
        turn.mused = True
        return Bit(gap + thought, is_content=False)

    def _void(self, seat: Seat) -> Iterator[Bit]:
        turn = self._turns.setdefault(seat, _Turn())
        if turn.told:
            yield Bit(ANEW, self._is_content(seat))
        turn.waiting.clear()
        turn.heard = False

    def _noticed(self, notice: Notice) -> Iterator[Bit]:
        self.usage += notice.charge.usage if notice.charge else Usage()
        if notice.kind not in BESIDE:
            self._notices.append(notice.message)
            yield from self._next()

    def _waiting(self, wanted: ApprovalWanted) -> Bit:
        """Tell of a call that waits for consent at once, whoever has the floor: it may be this one that waits."""
        words = how_to_allow(self._name(wanted.seat), wanted)
        after = "\n\n" if self._floor and not self._is_content(self._floor) else ""
        return Bit(f"{self._gap(is_content=False)}[{words}]{after}", is_content=False)

    def _over(self, ended: TurnEnded) -> Iterator[Bit]:
        turn = self._turns.setdefault(ended.seat, _Turn())
        if ended.message.thoughts and not turn.mused and self._thinks_aloud(ended.seat):
            yield Bit(self._gap(is_content=False) + ended.message.thoughts, is_content=False)
        if not turn.heard and ended.message.text and ended.status in ANSWERED:
            turn.waiting.append(ended.message.text)
        if ended.status != "completed" and (self._several or not self._is_content(ended.seat)):
            turn.waiting.append(f"\n\n{_note(ended)}" if turn.heard or turn.waiting else _note(ended))
        elif ended.status not in ANSWERED and turn.told:
            turn.waiting.append(ANEW)  # another one may speak instead
        if self._is_content(ended.seat):
            self.finish = _finish(ended) or self.finish
        turn.over = True
        if self._floor == ended.seat:
            yield Bit("".join(turn.waiting), self._is_content(ended.seat))
            self._leave(ended.seat)
        yield from self._next()

    def _next(self) -> Iterator[Bit]:
        """Give the floor to whoever has waited longest, if nobody has it."""
        while self._floor is None:
            for notice in self._notices:
                yield Bit(f"{self._gap(is_content=False)}[{notice}]", is_content=False)
            self._notices.clear()
            seat = next((seat for seat, turn in self._turns.items() if turn.waiting), None)
            if seat is None:
                return
            turn = self._turns[seat]
            self._floor, turn.told = seat, True
            yield Bit(self._heading(seat) + "".join(turn.waiting), self._is_content(seat))
            turn.waiting.clear()
            if turn.over:
                self._leave(seat)

    def _leave(self, seat: Seat) -> None:
        del self._turns[seat]
        self._floor = None

    def _end(self, ended: RunEnded) -> Iterator[Bit]:
        yield from self._next()
        if ended.status != "completed":
            self.failure = self._failure(ended)
            return
        if not self.content.strip():
            yield from self._answers_instead()
        self.failure = None if self.content.strip() else ProviderError(fault("bad_response", NOTHING))

    def _answers_instead(self) -> Iterator[Bit]:
        """Where nobody had the last word, as when nobody could sum up, the newest answers stand as they are."""
        given = [turn for turn in self._ended if turn.status in ANSWERED and turn.message.text.strip()]
        newest = [turn for turn in given if (turn.stage, turn.round) == (given[-1].stage, given[-1].round)]
        for turn in newest:
            name = f"**{self._name(turn.seat)}**\n\n" if len(newest) > 1 else ""
            note = f"\n\n{_note(turn)}" if turn.status != "completed" else ""
            self.finish = _finish(turn) or self.finish
            yield Bit(f"{self._gap(is_content=True)}{name}{turn.message.text}{note}", is_content=True)

    def _failure(self, ended: RunEnded) -> ProviderError:
        faults = [turn.fault for turn in self._ended if turn.fault is not None]
        stopped = fault("api_error", STOPPED)
        return ProviderError(faults[-1] if ended.status == "failed" and faults else stopped)

    def _is_content(self, seat: Seat) -> bool:
        """Tell whether a turn is what the table comes to, and not the way there."""
        match self._plan.mode:
            case "debate":
                return seat.stage == "synthesis"
            case "advisors" if self._plan.advisors.synthesis and self._several:
                return seat.stage == "synthesis"
            case "consensus" if self._several:
                return seat.round == self._plan.rounds - 1
        return True

    def _thinks_aloud(self, seat: Seat) -> bool:
        """Tell whether thoughts are told: those of one who speaks alone, and has the last word."""
        together = self._several and self._plan.mode in {"parallel", "advisors"} and seat.stage != "synthesis"
        return self._is_content(seat) and not together and self._floor in {None, seat}

    def _heading(self, seat: Seat) -> str:
        is_content = self._is_content(seat)
        gap = self._gap(is_content=is_content)
        if not self._several or (is_content and seat.stage == "synthesis"):
            return gap
        stage = STAGES.get(seat.stage, f"round {seat.round + 1}" if seat.stage == "round" else "")
        name = self._name(seat)
        label = f"{name}, {stage}" if stage and not (is_content and seat.stage == "round") else name
        return f"{gap}**{label}**\n\n"

    def _name(self, seat: Seat) -> str:
        return self._names.get(seat.participant, seat.participant)

    def _gap(self, *, is_content: bool) -> str:
        return "\n\n" if (self._content if is_content else self._reasoning) else ""


def _finish(ended: TurnEnded) -> Finish | None:
    """Say how an answer ended that is not whole; to these clients one that broke off was cut at its length."""
    if ended.finish in FINISHES:
        return FINISHES[ended.finish]
    return "length" if ended.status == "partial" else None


def _note(ended: TurnEnded) -> str:
    words = {"partial": "cut off", "failed": "failed"}.get(ended.status, "stopped")
    return f"[{words}: {ended.fault.message}]" if ended.fault else f"[{words}]"
