"""Translator from run events to Discord delivery steps.

Deterministic: the same events give the same messages at the same positions.
After a crash the events are replayed, and positions that were already posted are skipped.
Turns are posted one at a time; messages of concurrent turns are queued until the posting turn ends.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from moot.discord.approvals import INTERRUPTED_TEXT, OUTCOME_TEXTS, OpenApprovals, PostedApproval
from moot.discord.format.mentions import ChannelMember, ChannelMembers
from moot.discord.format.message_formatter import DeliveryStyle, MessageFormatter
from moot.discord.format.messages import MessageAuthor, PlannedMessage, small_print, split_into_messages
from moot.discord.posts import DeliveryStep, DropPending, ResolvePrompt, Retract, participant_author
from moot.types.chunks import LENGTH_LIMIT_NOTE
from moot.types.events import (
    ActionTaken,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    Notice,
    NoticeKind,
    RunEnded,
    RunStarted,
    SpeakerSelected,
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
    {"fallback", "gave_up", "lead_replaced", "agreed", "max_cost", "missing", "tools"}
)


class RunPresenter:
    """Builds the delivery steps of one run. Used by `RunDelivery`; does no I/O.

    `opening`: user message that was sent outside Discord, posted first.
    `notice`: reply notice, posted before the first answer.
    `block_impersonation`: cut an answer off where the model starts to speak as another participant.
    """

    def __init__(
        self,
        *,
        delivery_style: DeliveryStyle,
        block_impersonation: bool = False,
        members: tuple[ChannelMember, ...] = (),
        opening: Sequence[PlannedMessage] = (),
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
        self._formatters: dict[TurnKey, MessageFormatter] = {}  # one per active turn, oldest first
        self._waiting_messages: dict[TurnKey, list[PlannedMessage]] = {}  # queue per turn, oldest first
        self._positions: dict[TurnKey, list[int]] = {}  # posted positions per turn, for retraction
        self._posting_turn: TurnKey | None = None  # the turn whose messages are posted now
        self._next_position = 0
        self._has_drawing = False
        self._posted_notices: set[str] = set()
        self._tool_turns: set[TurnKey] = set()  # active turns that have called a tool
        self._approvals = OpenApprovals()

    @property
    def is_calling_tools(self) -> bool:
        return bool(self._tool_turns)

    @property
    def open_approvals(self) -> tuple[PostedApproval, ...]:
        """Unanswered approval prompts, oldest first."""
        return tuple(self._approvals.open_approvals.values())

    @property
    def is_speaking(self) -> bool:
        return bool(self._formatters)

    def present_event(self, event: Event) -> list[DeliveryStep]:
        match event:
            case RunStarted(participants=participants):
                self._participants = {who.id: who for who in participants}
                opening, self._opening = self._opening, ()  # posted once, also if the log is read again from its start
                return self._plan_messages(opening)
            case TurnStarted() | TextRetracted():
                return self._start_turn(event.turn_key)
            case TextDelta(text=text) if formatter := self._formatters.get(event.turn_key):
                return self._post_or_queue(event.turn_key, formatter.feed(text))
            case ToolCalled() if formatter := self._formatters.get(event.turn_key):
                self._tool_turns.add(event.turn_key)
                self._approvals.record_call(event)
                return self._post_or_queue(event.turn_key, formatter.flush())
            case ApprovalRequested() if event.turn_key in self._formatters:
                return self._post_approval(event)
            case ApprovalResolved(call_id=call, outcome=answer):
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
        """Handle notices, the debate summary and the end of the run."""
        match event:
            case Notice(kind="still_working", message=message, participant=who):
                name = f"{self._participants[who].name}: " if who in self._participants else ""
                return self._plan_small_print(f"{name}{message}")  # repeated on purpose, unlike other notices
            case Notice(kind=kind, message=message) if kind in VISIBLE_NOTICES and message not in self._posted_notices:
                self._posted_notices.add(message)  # every turn may send the same notice; post it once
                return self._plan_small_print(message)
            case SummaryMade(summary=summary):
                return self._plan_messages(map(PlannedMessage, split_into_messages(f"**Summary** {summary.overview}")))
            case SpeakerSelected(next=following) if following == USER_SPEAKS_NEXT:
                return self._plan_small_print("Over to you.")
            case RunEnded(status="interrupted"):
                return [DropPending()]
            case RunEnded() if self._has_drawing:
                return self._plan_messages([PlannedMessage("", "board")])
            case _:
                return []

    def _start_turn(self, turn_key: TurnKey) -> list[DeliveryStep]:
        """Create a formatter for a turn. On a retry, retract its messages and close its approval prompts."""
        steps = [*self._retract_turn(turn_key), *self._end_tool_calls(turn_key)]
        participant = self._participants[turn_key.participant]
        others = tuple(one.name for one in self._participants.values() if one.id != participant.id)
        members = ChannelMembers(participant=participant.name, other_participants=others, members=self._members)
        self._formatters[turn_key] = MessageFormatter(
            delivery_style=self._delivery_style,
            channel_members=members,
            random_source=self._random_source,
            block_impersonation=self._block_impersonation,
        )
        return steps

    def _retract_turn(self, turn_key: TurnKey) -> list[DeliveryStep]:
        self._waiting_messages.pop(turn_key, None)
        positions = self._positions.pop(turn_key, [])
        return [Retract(position=self._take_position(), retracted_positions=tuple(positions))] if positions else []

    def _end_tool_calls(self, turn_key: TurnKey) -> list[DeliveryStep]:
        self._tool_turns.discard(turn_key)
        return self._resolve_approvals(self._approvals.close_turn_approvals(turn_key), INTERRUPTED_TEXT)

    def _post_approval(self, event: ApprovalRequested) -> list[DeliveryStep]:
        name, position = self._participant_name(event.turn_key), self._next_position
        approval = self._approvals.open_approval(event, name, position)
        return self._plan_messages([PlannedMessage(approval.text, call_id=approval.call_id)])

    def _resolve_approvals(self, approvals: Sequence[PostedApproval], outcome: str) -> list[DeliveryStep]:
        return [
            ResolvePrompt(
                position=self._take_position(), prompt_position=approval.position, text=f"{approval.text}\n-# {outcome}"
            )
            for approval in approvals
        ]

    def _finish_turn(self, event: TurnEnded) -> list[DeliveryStep]:
        """Flush, drop or retract the messages of a turn, by its status."""
        turn_key = event.turn_key
        formatter = self._formatters.pop(turn_key, None)
        steps = self._end_tool_calls(turn_key)
        match event.status:
            case "interrupted":
                self._waiting_messages.pop(turn_key, None)
                steps += [DropPending(turn_key)]
            case "failed":
                reason = event.fault.message if event.fault else "no answer"
                steps += [
                    *self._retract_turn(turn_key),
                    *self._plan_small_print(f"{self._participant_name(turn_key)} failed: {reason}"),
                ]
            case _:
                if formatter is not None:
                    rest = [*formatter.flush(), *_overflow_notice(formatter), *_truncation_notice(event)]
                    steps += self._post_or_queue(turn_key, rest)
                steps += self._plan_reasoning(turn_key, event.message.thoughts)
        return steps + self._post_waiting_turns(turn_key)

    def _post_or_queue(self, turn_key: TurnKey, messages: list[PlannedMessage]) -> list[DeliveryStep]:
        if not messages:
            return []
        if self._posting_turn is None:
            self._posting_turn = turn_key
        if self._posting_turn != turn_key:
            self._waiting_messages.setdefault(turn_key, []).extend(messages)
            return []
        notice, self._notice = self._notice, ""
        author = self._turn_author(turn_key)
        # The notice has no turn key, so that a retry of the turn does not retract it.
        before = [PlannedMessage(notice, author=author)] if notice else []
        return self._plan_messages(
            [*before, *(replace(message, author=author, turn_key=turn_key) for message in messages)]
        )

    def _post_waiting_turns(self, turn_key: TurnKey) -> list[DeliveryStep]:
        """Post queued messages when the posting turn ends, oldest turn first.

        Stops at the first turn that is still active; that turn becomes the posting turn.
        """
        if self._posting_turn != turn_key:
            return []
        self._posting_turn = None
        steps: list[DeliveryStep] = []
        while self._waiting_messages and self._posting_turn is None:
            waiting_turn = next(iter(self._waiting_messages))
            steps += self._post_or_queue(waiting_turn, self._waiting_messages.pop(waiting_turn))
            if waiting_turn not in self._formatters:
                self._posting_turn = None
        return steps

    def _plan_messages(self, messages: Iterable[PlannedMessage]) -> list[DeliveryStep]:
        """Give each message the next position."""
        steps: list[DeliveryStep] = []
        for message in messages:
            position = self._take_position()
            if message.turn_key is not None:
                self._positions.setdefault(message.turn_key, []).append(position)
            steps.append(replace(message, position=position))
        return steps

    def _plan_reasoning(self, turn_key: TurnKey, thoughts: str) -> list[DeliveryStep]:
        author = self._turn_author(turn_key)
        return self._plan_messages(
            PlannedMessage(text, author=author, is_reasoning=True) for text in split_into_messages(thoughts)
        )

    def _plan_small_print(self, text: str) -> list[DeliveryStep]:
        return self._plan_messages([PlannedMessage(small_print(text))])

    def _take_position(self) -> int:
        self._next_position += 1
        return self._next_position - 1

    def _participant_name(self, turn_key: TurnKey) -> str:
        return self._participants[turn_key.participant].name

    def _turn_author(self, turn_key: TurnKey) -> MessageAuthor:
        return participant_author(self._participants[turn_key.participant])


def _overflow_notice(formatter: MessageFormatter) -> list[PlannedMessage]:
    rest = formatter.overflow_chars
    return [PlannedMessage(small_print(f"{rest:,} more characters of this answer are kept in Moot."))] if rest else []


def _truncation_notice(event: TurnEnded) -> list[PlannedMessage]:
    if event.status == "partial":
        return [PlannedMessage(small_print(f"Cut off: {event.fault.message if event.fault else 'the stream ended'}"))]
    return [PlannedMessage(small_print(LENGTH_LIMIT_NOTE))] if event.finish_reason == "length" else []
