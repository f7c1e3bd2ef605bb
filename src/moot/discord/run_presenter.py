"""A run as a channel is told it: events go in, posts come out, each with a place that it always has.

The same events give the same posts however often they are told, so that after a crash only what is missing is sent.
In a channel one speaks at a time: what others say meanwhile waits until whoever has the floor has ended.
"""

from collections.abc import Callable, Sequence

from moot.discord.approvals import CUT_OFF, OUTCOMES, Asked, Questions
from moot.discord.format.mentions import Member, Room
from moot.discord.format.messages import messages_of, small
from moot.discord.format.pipeline import Degree, Outlet, Send
from moot.discord.posts import MOOT, Drop, Post, Settle, Speaker, Step, Unsay, speaker_of
from moot.types.chunks import AT_LIMIT
from moot.types.events import (
    ActionTaken,
    ApprovalGiven,
    ApprovalWanted,
    Decided,
    Event,
    Notice,
    NoticeKind,
    RunEnded,
    RunStarted,
    Seat,
    SummaryMade,
    TextDelta,
    TextRetracted,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from moot.types.modes import USER
from moot.types.participants import Participant

WORTH_TELLING: frozenset[NoticeKind] = frozenset(
    {"fallback", "gave_up", "lead_replaced", "agreed", "cap", "missing", "tools"}
)


class Recital:
    """`opening` is posted first: what was said elsewhere; `notice` before the first answer: what that replies to.

    With a `guard` an answer ends where it goes on with the words of somebody else at the table.
    """

    def __init__(
        self,
        *,
        degree: Degree,
        guard: bool = False,
        members: tuple[Member, ...] = (),
        opening: tuple[Speaker, Sequence[str]] | None = None,
        notice: str = "",
        chance: Callable[[], float],
    ) -> None:
        self._degree = degree
        self._guard = guard
        self._members = members
        self._opening = opening
        self._notice = notice
        self._chance = chance
        self._participants: dict[str, Participant] = {}
        self._outlets: dict[Seat, Outlet] = {}  # of turns that go on, the oldest first
        self._waiting: dict[Seat, list[Send]] = {}
        self._places: dict[Seat, list[int]] = {}
        self._floor: Seat | None = None
        self._next = 0
        self._drawn = False
        self._noticed: set[str] = set()
        self._chains: set[Seat] = set()  # turns that go on and have called a tool
        self._questions = Questions()

    @property
    def in_tools(self) -> bool:
        return bool(self._chains)

    @property
    def questions(self) -> tuple[Asked, ...]:
        """Return the questions that are open, the oldest first."""
        return tuple(self._questions.open.values())

    @property
    def speaking(self) -> bool:
        return bool(self._outlets)

    def hear(self, event: Event) -> list[Step]:
        match event:
            case RunStarted(participants=participants):
                self._participants = {who.id: who for who in participants}
                return self._opened()
            case TurnStarted() | TextRetracted():
                return self._begin(event.seat)
            case TextDelta(text=text) if outlet := self._outlets.get(event.seat):
                return self._say(event.seat, outlet.feed(text))
            case ToolCalled() if outlet := self._outlets.get(event.seat):
                self._chains.add(event.seat)
                self._questions.note(event)
                return self._say(event.seat, outlet.boundary())
            case ApprovalWanted() if event.seat in self._outlets:
                return [self._ask(event)]
            case ApprovalGiven(call_id=call, answer=answer):
                return self._settle(self._questions.close(call), OUTCOMES[answer])
            case ToolReturned(call_id=call):
                return self._settle(self._questions.close(call), CUT_OFF)
            case ActionTaken():
                self._drawn = True
                return []
            case TurnEnded():
                return self._end(event)
            case _:
                return self._told_beside(event)

    def _told_beside(self, event: Event) -> list[Step]:
        """Tell what nobody at the table says, and how the run ended."""
        match event:
            case Notice(kind="still_working", message=message, participant=who):
                name = f"{self._participants[who].name}: " if who in self._participants else ""
                return [self._aside(f"{name}{message}")]  # each time anew, and of whom
            case Notice(kind=kind, message=message) if kind in WORTH_TELLING and message not in self._noticed:
                self._noticed.add(message)  # it may be so in every turn, and is told once
                return [self._aside(message)]
            case SummaryMade(summary=summary):
                return self._posts(
                    MOOT, [Send(text) for text in messages_of(f"**Summary** {summary.overview}")]
                )
            case Decided(next=following) if following == USER:
                return [self._aside("Over to you.")]
            case RunEnded(status="interrupted"):
                return [Drop()]
            case RunEnded() if self._drawn:
                return [Post(place=self._place(), text="", speaker=MOOT, kind="board")]
            case _:
                return []

    def _opened(self) -> list[Step]:
        """Post what was said elsewhere; a run that is taken up again begins with the same event, and not anew."""
        opening, self._opening = self._opening, None
        return self._posts(opening[0], [Send(text) for text in opening[1]]) if opening else []

    def _begin(self, seat: Seat) -> list[Step]:
        """Give a turn a new outlet; whatever was posted of it is void, and whatever it asked."""
        void = [*self._unsay(seat), *self._unchain(seat)]
        who = self._participants[seat.participant]
        others = tuple(one.name for one in self._participants.values() if one.id != who.id)
        room = Room(speaker=who.name, others=others, members=self._members)
        self._outlets[seat] = Outlet(degree=self._degree, room=room, chance=self._chance, guard=self._guard)
        return void

    def _unsay(self, seat: Seat) -> list[Step]:
        self._waiting.pop(seat, None)
        places = self._places.pop(seat, [])
        return [Unsay(place=self._place(), places=tuple(places))] if places else []

    def _unchain(self, seat: Seat) -> list[Step]:
        self._chains.discard(seat)
        return self._settle(self._questions.close_all(seat), CUT_OFF)

    def _ask(self, wanted: ApprovalWanted) -> Post:
        asked = self._questions.ask(wanted, self._name(wanted.seat), self._place())
        return Post(place=asked.place, text=asked.text, speaker=MOOT, call=asked.call)

    def _settle(self, questions: Sequence[Asked], outcome: str) -> list[Step]:
        return [
            Settle(place=self._place(), question=asked.place, text=f"{asked.text}\n-# {outcome}")
            for asked in questions
        ]

    def _end(self, ended: TurnEnded) -> list[Step]:
        """Let a turn end as it ended: said to its end, cut off by something new, or failed."""
        seat = ended.seat
        outlet = self._outlets.pop(seat, None)
        steps = self._unchain(seat)
        match ended.status:
            case "interrupted":
                self._waiting.pop(seat, None)
                steps += [Drop(seat)]
            case "failed":
                why = ended.fault.message if ended.fault else "no answer came"
                steps += [*self._unsay(seat), self._aside(f"{self._name(seat)} failed: {why}")]
            case _:
                steps += self._say(seat, [*outlet.end(), *_beyond(outlet), *_cut(ended)]) if outlet else []
                steps += self._thoughts(seat, ended.message.thoughts)
        return steps + self._pass_on(seat)

    def _say(self, seat: Seat, sends: list[Send]) -> list[Step]:
        if not sends:
            return []
        if self._floor is None:
            self._floor = seat
        if self._floor != seat:
            self._waiting.setdefault(seat, []).extend(sends)
            return []
        notice, self._notice = self._notice, ""
        speaker = self._speaker(seat)
        steps = (
            self._posts(speaker, [Send(notice)]) if notice else []
        )  # which stays where the turn begins anew
        return steps + self._posts(speaker, sends, seat)

    def _pass_on(self, seat: Seat) -> list[Step]:
        """Give the floor to whoever waited longest: all of it, where that turn has ended too."""
        if self._floor != seat:
            return []
        self._floor = None
        steps: list[Step] = []
        while self._waiting and self._floor is None:
            following = next(iter(self._waiting))
            steps += self._say(following, self._waiting.pop(following))
            if following not in self._outlets:
                self._floor = None
        return steps

    def _posts(self, speaker: Speaker, sends: Sequence[Send], seat: Seat | None = None) -> list[Step]:
        made: list[Step] = []
        for send in sends:
            place = self._place()
            if seat is not None:
                self._places.setdefault(seat, []).append(place)
            made.append(
                Post(
                    place=place,
                    text=send.text,
                    speaker=speaker,
                    kind=send.kind,
                    pause=send.pause,
                    typing=send.typing,
                    seat=seat,
                )
            )
        return made

    def _thoughts(self, seat: Seat, thoughts: str) -> list[Step]:
        speaker = self._speaker(seat)
        return [
            Post(place=self._place(), text=text, speaker=speaker, thought=True)
            for text in messages_of(thoughts)
        ]

    def _aside(self, message: str) -> Post:
        return Post(place=self._place(), text=small(message), speaker=MOOT)

    def _place(self) -> int:
        self._next += 1
        return self._next - 1

    def _name(self, seat: Seat) -> str:
        return self._participants[seat.participant].name

    def _speaker(self, seat: Seat) -> Speaker:
        return speaker_of(self._participants[seat.participant])


def _beyond(outlet: Outlet) -> list[Send]:
    """Say where the rest is of what is too long for a channel."""
    rest = outlet.left_out
    return [Send(small(f"{rest:,} more characters of this answer are kept in Moot."))] if rest else []


def _cut(ended: TurnEnded) -> list[Send]:
    """Say that an answer is not whole, and why."""
    if ended.status == "partial":
        return [Send(small(f"Cut off: {ended.fault.message if ended.fault else 'no more came'}"))]
    return [Send(small(AT_LIMIT))] if ended.finish == "length" else []
