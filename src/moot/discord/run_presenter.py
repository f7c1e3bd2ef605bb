"""A run as a channel is told it: events go in, posts come out, each with a place that it always has.

The same events give the same posts however often they are told, so that after a crash only what is missing is sent.
In a channel one speaks at a time: what others say meanwhile waits until whoever has the floor has ended.
"""

from collections.abc import Callable, Sequence

from moot.discord.approvals import INTERRUPTED_TEXT, OUTCOME_TEXTS, OpenApprovals, PostedApproval
from moot.discord.format.mentions import ChannelMember, ChannelMembers
from moot.discord.format.messages import small_print, split_into_messages
from moot.discord.format.pipeline import DeliveryStyle, MessageFormatter, OutgoingMessage
from moot.discord.posts import (
    MOOT_AUTHOR,
    DeliveryStep,
    DropPending,
    MessageAuthor,
    PlannedMessage,
    ResolvePrompt,
    Retract,
    participant_author,
)
from moot.types.chunks import LENGTH_LIMIT_NOTE
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
    SummaryMade,
    TextDelta,
    TextRetracted,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnKey,
    TurnStarted,
)
from moot.types.modes import USER_SPEAKS_NEXT
from moot.types.participants import Participant

VISIBLE_NOTICES: frozenset[NoticeKind] = frozenset(
    {"fallback", "gave_up", "lead_replaced", "agreed", "cap", "missing", "tools"}
)


class RunPresenter:
    """`opening` is posted first: what was said elsewhere; `notice` before the first answer: what that replies to.

    With a `guard` an answer ends where it goes on with the words of somebody else at the table.
    """

    def __init__(
        self,
        *,
        delivery_style: DeliveryStyle,
        block_impersonation: bool = False,
        members: tuple[ChannelMember, ...] = (),
        opening: tuple[MessageAuthor, Sequence[str]] | None = None,
        notice: str = "",
        random_source: Callable[[], float],
    ) -> None:
        self._delivery_style = delivery_style
        self._block_impersonation = block_impersonation
        self._members = members
        self._opening = opening
        self._notice = notice
        self._random_source = random_source
        self._participants: dict[str, Participant] = {}
        self._formatters: dict[TurnKey, MessageFormatter] = {}  # of turns that go on, the oldest first
        self._waiting_messages: dict[TurnKey, list[OutgoingMessage]] = {}
        self._positions: dict[TurnKey, list[int]] = {}
        self._posting_turn: TurnKey | None = None
        self._next_position = 0
        self._has_drawing = False
        self._posted_notices: set[str] = set()
        self._tool_turns: set[TurnKey] = set()  # turns that go on and have called a tool
        self._approvals = OpenApprovals()

    @property
    def is_calling_tools(self) -> bool:
        return bool(self._tool_turns)

    @property
    def open_approvals(self) -> tuple[PostedApproval, ...]:
        """Return the questions that are open, the oldest first."""
        return tuple(self._approvals.open_approvals.values())

    @property
    def is_speaking(self) -> bool:
        return bool(self._formatters)

    def present_event(self, event: Event) -> list[DeliveryStep]:
        match event:
            case RunStarted(participants=participants):
                self._participants = {who.id: who for who in participants}
                return self._post_opening()
            case TurnStarted() | TextRetracted():
                return self._start_turn(event.turn_key)
            case TextDelta(text=text) if outlet := self._formatters.get(event.turn_key):
                return self._post_or_queue(event.turn_key, outlet.feed(text))
            case ToolCalled() if outlet := self._formatters.get(event.turn_key):
                self._tool_turns.add(event.turn_key)
                self._approvals.record_call(event)
                return self._post_or_queue(event.turn_key, outlet.flush_boundary())
            case ApprovalWanted() if event.turn_key in self._formatters:
                return [self._post_approval(event)]
            case ApprovalGiven(call_id=call, answer=answer):
                return self._resolve_approvals(self._approvals.close_approval(call), OUTCOME_TEXTS[answer])
            case ToolReturned(call_id=call):
                return self._resolve_approvals(self._approvals.close_approval(call), INTERRUPTED_TEXT)
            case ActionTaken():
                self._has_drawing = True
                return []
            case TurnEnded():
                return self._finish_turn(event)
            case _:
                return self._present_other_event(event)

    def _present_other_event(self, event: Event) -> list[DeliveryStep]:
        """Tell what nobody at the table says, and how the run ended."""
        match event:
            case Notice(kind="still_working", message=message, participant=who):
                name = f"{self._participants[who].name}: " if who in self._participants else ""
                return [self._plan_small_print(f"{name}{message}")]  # each time anew, and of whom
            case Notice(kind=kind, message=message) if (
                kind in VISIBLE_NOTICES and message not in self._posted_notices
            ):
                self._posted_notices.add(message)  # it may be so in every turn, and is told once
                return [self._plan_small_print(message)]
            case SummaryMade(summary=summary):
                return self._plan_messages(
                    MOOT_AUTHOR,
                    [
                        OutgoingMessage(text)
                        for text in split_into_messages(f"**Summary** {summary.overview}")
                    ],
                )
            case Decided(next=following) if following == USER_SPEAKS_NEXT:
                return [self._plan_small_print("Over to you.")]
            case RunEnded(status="interrupted"):
                return [DropPending()]
            case RunEnded() if self._has_drawing:
                return [
                    PlannedMessage(position=self._take_position(), text="", author=MOOT_AUTHOR, kind="board")
                ]
            case _:
                return []

    def _post_opening(self) -> list[DeliveryStep]:
        """Post what was said elsewhere; a run that is taken up again begins with the same event, and not anew."""
        opening, self._opening = self._opening, None
        return (
            self._plan_messages(opening[0], [OutgoingMessage(text) for text in opening[1]]) if opening else []
        )

    def _start_turn(self, turn_key: TurnKey) -> list[DeliveryStep]:
        """Give a turn a new outlet; whatever was posted of it is void, and whatever it asked."""
        void = [*self._retract_turn(turn_key), *self._end_tool_calls(turn_key)]
        who = self._participants[turn_key.participant]
        others = tuple(one.name for one in self._participants.values() if one.id != who.id)
        room = ChannelMembers(participant=who.name, other_participants=others, members=self._members)
        self._formatters[turn_key] = MessageFormatter(
            delivery_style=self._delivery_style,
            channel_members=room,
            random_source=self._random_source,
            block_impersonation=self._block_impersonation,
        )
        return void

    def _retract_turn(self, turn_key: TurnKey) -> list[DeliveryStep]:
        self._waiting_messages.pop(turn_key, None)
        places = self._positions.pop(turn_key, [])
        return [Retract(position=self._take_position(), retracted_positions=tuple(places))] if places else []

    def _end_tool_calls(self, turn_key: TurnKey) -> list[DeliveryStep]:
        self._tool_turns.discard(turn_key)
        return self._resolve_approvals(self._approvals.close_turn_approvals(turn_key), INTERRUPTED_TEXT)

    def _post_approval(self, event: ApprovalWanted) -> PlannedMessage:
        asked = self._approvals.open_approval(
            event, self._participant_name(event.turn_key), self._take_position()
        )
        return PlannedMessage(
            position=asked.position, text=asked.text, author=MOOT_AUTHOR, call_id=asked.call_id
        )

    def _resolve_approvals(self, approvals: Sequence[PostedApproval], outcome: str) -> list[DeliveryStep]:
        return [
            ResolvePrompt(
                position=self._take_position(),
                prompt_position=asked.position,
                text=f"{asked.text}\n-# {outcome}",
            )
            for asked in approvals
        ]

    def _finish_turn(self, event: TurnEnded) -> list[DeliveryStep]:
        """Let a turn end as it ended: said to its end, cut off by something new, or failed."""
        seat = event.turn_key
        outlet = self._formatters.pop(seat, None)
        steps = self._end_tool_calls(seat)
        match event.status:
            case "interrupted":
                self._waiting_messages.pop(seat, None)
                steps += [DropPending(seat)]
            case "failed":
                why = event.fault.message if event.fault else "no answer came"
                steps += [
                    *self._retract_turn(seat),
                    self._plan_small_print(f"{self._participant_name(seat)} failed: {why}"),
                ]
            case _:
                steps += (
                    self._post_or_queue(
                        seat, [*outlet.finish_stream(), *_overflow_notice(outlet), *_truncation_notice(event)]
                    )
                    if outlet
                    else []
                )
                steps += self._plan_reasoning(seat, event.message.thoughts)
        return steps + self._post_waiting_turns(seat)

    def _post_or_queue(self, turn_key: TurnKey, messages: list[OutgoingMessage]) -> list[DeliveryStep]:
        if not messages:
            return []
        if self._posting_turn is None:
            self._posting_turn = turn_key
        if self._posting_turn != turn_key:
            self._waiting_messages.setdefault(turn_key, []).extend(messages)
            return []
        notice, self._notice = self._notice, ""
        speaker = self._turn_author(turn_key)
        steps = (
            self._plan_messages(speaker, [OutgoingMessage(notice)]) if notice else []
        )  # which stays where the turn begins anew
        return steps + self._plan_messages(speaker, messages, turn_key)

    def _post_waiting_turns(self, turn_key: TurnKey) -> list[DeliveryStep]:
        """Give the floor to whoever waited longest: all of it, where that turn has ended too."""
        if self._posting_turn != turn_key:
            return []
        self._posting_turn = None
        steps: list[DeliveryStep] = []
        while self._waiting_messages and self._posting_turn is None:
            following = next(iter(self._waiting_messages))
            steps += self._post_or_queue(following, self._waiting_messages.pop(following))
            if following not in self._formatters:
                self._posting_turn = None
        return steps

    def _plan_messages(
        self, author: MessageAuthor, messages: Sequence[OutgoingMessage], turn_key: TurnKey | None = None
    ) -> list[DeliveryStep]:
        made: list[DeliveryStep] = []
        for send in messages:
            place = self._take_position()
            if turn_key is not None:
                self._positions.setdefault(turn_key, []).append(place)
            made.append(
                PlannedMessage(
                    position=place,
                    text=send.text,
                    author=author,
                    kind=send.kind,
                    pause_seconds=send.pause_seconds,
                    typing_seconds=send.typing_seconds,
                    turn_key=turn_key,
                )
            )
        return made

    def _plan_reasoning(self, turn_key: TurnKey, thoughts: str) -> list[DeliveryStep]:
        speaker = self._turn_author(turn_key)
        return [
            PlannedMessage(position=self._take_position(), text=text, author=speaker, is_reasoning=True)
            for text in split_into_messages(thoughts)
        ]

    def _plan_small_print(self, message: str) -> PlannedMessage:
        return PlannedMessage(position=self._take_position(), text=small_print(message), author=MOOT_AUTHOR)

    def _take_position(self) -> int:
        self._next_position += 1
        return self._next_position - 1

    def _participant_name(self, turn_key: TurnKey) -> str:
        return self._participants[turn_key.participant].name

    def _turn_author(self, turn_key: TurnKey) -> MessageAuthor:
        return participant_author(self._participants[turn_key.participant])


def _overflow_notice(formatter: MessageFormatter) -> list[OutgoingMessage]:
    """Say where the rest is of what is too long for a channel."""
    rest = formatter.overflow_chars
    return (
        [OutgoingMessage(small_print(f"{rest:,} more characters of this answer are kept in Moot."))]
        if rest
        else []
    )


def _truncation_notice(event: TurnEnded) -> list[OutgoingMessage]:
    """Say that an answer is not whole, and why."""
    if event.status == "partial":
        return [
            OutgoingMessage(small_print(f"Cut off: {event.fault.message if event.fault else 'no more came'}"))
        ]
    return [OutgoingMessage(small_print(LENGTH_LIMIT_NOTE))] if event.finish == "length" else []
