"""What an MCP client is told of a run: words on its way, and what it came to in the end."""

from collections.abc import Iterator

from msgspec import Struct

from moot.engine.tools.approvals import how_to_allow
from moot.types.chunks import AT_LIMIT
from moot.types.events import (
    ANSWERED,
    ApprovalWanted,
    Event,
    Notice,
    RunEnded,
    RunStarted,
    RunStatus,
    Seat,
    StageStarted,
    TextDelta,
    TextRetracted,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.types.modes import STAGE as LESSON

TAIL = 80  # characters of what somebody is saying that are shown on the way
MOST = 300_000  # characters of answers in one result: clients take no message of any size
STAGES = {
    "initial": "The round of first answers",
    "debate": "The debate",
    "synthesis": "The synthesis",
    "answer": "The round of answers",
    "cross_talk": "The cross-talk",
}


class Said(Struct, frozen=True, kw_only=True):
    """What one participant came to; `fault` says why there is no answer, or not all of it."""

    participant: str
    name: str
    model: str
    status: TurnStatus
    text: str
    fault: str | None = None


class Report:
    """Follows the events of one run."""

    def __init__(self) -> None:
        self.status: RunStatus | None = None
        self.characters = 0
        self._names: dict[str, str] = {}
        self._tails: dict[str, str] = {}
        self._turns: dict[Seat, TurnEnded] = {}

    def hear(self, event: Event) -> str | None:
        """Take in an event, and return what is worth telling at once."""
        match event:
            case RunStarted(participants=participants):
                self._names = {who.id: who.name for who in participants}
            case StageStarted():
                return f"{_stage(event)} begins."
            case TurnStarted():
                self._tails[event.participant] = ""
                return f"{self._name(event.participant)} is asked ({event.model})."
            case TextDelta(text=text):
                self.characters += len(text)
                self._tails[event.participant] = (self._tails.get(event.participant, "") + text)[-TAIL:]
            case TextRetracted():
                self._tails[event.participant] = ""
            case Notice(message=message):
                return message
            case ApprovalWanted():
                return how_to_allow(self._name(event.participant), event)
            case TurnEnded():
                self._tails.pop(event.participant, None)
                self._turns[event.seat] = event
                return f"{self._name(event.participant)} has ended: {event.status}."
            case RunEnded(status=status):
                self.status = status
        return None

    @property
    def speaking(self) -> str:
        """Show the newest words of all who speak."""
        return "\n".join(
            f"{self._name(who)}: {' '.join(tail.split())}"
            for who, tail in self._tails.items()
            if tail.strip()
        )

    @property
    def said(self) -> tuple[Said, ...]:
        """Return what counts: the synthesis, if there is one, else the last of everybody, and of a lesson all."""
        turns = list(self._turns.values())
        summed_up = [turn for turn in turns if turn.stage == "synthesis" and turn.status in ANSWERED]
        if summed_up:
            return (self._said(summed_up[-1]),)
        if any(turn.stage == LESSON for turn in turns):
            return tuple(map(self._said, turns))
        last: dict[str, TurnEnded] = {}
        for turn in turns:
            if turn.status in ANSWERED or turn.participant not in last:
                last[turn.participant] = turn
        return tuple(self._said(last[who]) for who in self._names if who in last)

    def _said(self, turn: TurnEnded) -> Said:
        return Said(
            participant=turn.participant,
            name=self._name(turn.participant),
            model=turn.model,
            status=turn.status,
            text="\n\n".join(
                part.strip() for part in (turn.message.text, turn.message.details) if part.strip()
            ),
            fault=turn.fault.message if turn.fault else AT_LIMIT if turn.finish == "length" else None,
        )

    def _name(self, participant: str) -> str:
        return self._names.get(participant, participant)


def _stage(stage: StageStarted) -> str:
    name = stage.stage.replace("_", " ").capitalize()
    return STAGES.get(stage.stage, f"{name} {stage.round + 1}")


def written(said: tuple[Said, ...]) -> str:
    """Write answers as Markdown: one as it is, several under their names."""
    blocks = [block for one in said for block in _block(one, alone=len(said) == 1)]
    text = "\n\n".join(blocks) or "Nobody said anything."
    if len(text) <= MOST:
        return text
    return f"{text[:MOST]}\n\n[The rest is left out: read_discussion gives all of it.]"


def _block(one: Said, *, alone: bool) -> Iterator[str]:
    if not alone:
        yield f"## {one.name} ({one.model})"
    if one.text:
        yield one.text
    if one.fault:
        yield f"[{one.fault}]" if one.status == "completed" else f"[{one.status}: {one.fault}]"
    elif one.status not in ANSWERED:
        yield f"[{one.status}]"
