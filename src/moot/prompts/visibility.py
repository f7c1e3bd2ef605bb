"""Message visibility: views that filter the messages of a discussion for one participant.

Each mode selects views. A view takes all messages, a participant id and the id of the current run.
No view returns a failed turn, a message to other participants only, or a message in another private thread.
A hidden prompt is visible only in its own run.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps

from moot.types.discussions import Message

View = Callable[[Sequence[Message], str, str], list[Message]]


def everything(messages: Sequence[Message], participant: str, run: str) -> list[Message]:
    """All messages that the participant may see."""
    return [message for message in messages if _can_see(message, participant, run)]


def blind(messages: Sequence[Message], participant: str, run: str) -> list[Message]:
    """All earlier runs; of this run only messages of the user and of the participant."""
    return [
        message
        for message in everything(messages, participant, run)
        if message.run != run or message.role == "user" or message.participant == participant
    ]


def own_thread(messages: Sequence[Message], participant: str, run: str) -> list[Message]:
    """What the participant may see of earlier runs; of this run only the user's question and its own thread."""
    return [
        message
        for message in everything(messages, participant, run)
        if message.run != run or message.thread == participant or _is_question(message)
    ]


def with_instructions(messages: Sequence[Message], participant: str, run: str) -> list[Message]:
    """All earlier runs; of this run only the user's question and the newest hidden instructions."""
    seen = everything(messages, participant, run)
    instructions = [message for message in seen if message.hidden and message.thread is None]
    return [one for one in seen if one.run != run or _is_question(one) or one in instructions[-1:]]


def lesson_view(messages: Sequence[Message], participant: str, run: str) -> list[Message]:
    """All messages, the participant's own turns with actions only, and the newest hidden instructions."""
    seen = [one for one in messages if _can_see(one, participant, run) or _has_own_actions(one, participant)]
    instructions = [message for message in seen if message.hidden]
    return [one for one in seen if not one.hidden or one in instructions[-1:]]


def advisor_view(messages: Sequence[Message], participant: str, run: str) -> list[Message]:
    """Messages of the user and the participant in all runs, plus the newest hidden instructions.

    Of other participants, only the answers of the previous run.
    """
    seen = everything(messages, participant, run)
    last = next((message.run for message in reversed(seen) if message.run != run), None)
    instructions = [one for one in seen if one.hidden and one.role == "user" and one.thread is None]
    return [
        one
        for one in seen
        if _is_question(one)
        or (one.role == "assistant" and (one.participant == participant or one.run == last))
        or one in instructions[-1:]
    ]


def messages_visible_to_all(messages: Sequence[Message], participants: Collection[str]) -> list[Message]:
    """Messages that every one of these participants may see."""
    return [
        message
        for message in messages
        if message.visible_to is None or {*message.visible_to, message.participant} >= set(participants)
    ]


def _is_question(message: Message) -> bool:
    return message.role == "user" and message.thread is None and not message.hidden


def _can_see(message: Message, participant: str, run: str) -> bool:
    meant = message.visible_to is None or participant in message.visible_to or message.participant == participant
    has_text = message.status != "failed" and message.content.strip() != ""
    own = message.thread is None or message.thread == participant
    shown = message.run == run or not message.hidden
    return meant and has_text and own and shown and message.role != "system"


def _has_own_actions(message: Message, participant: str) -> bool:
    return message.participant == participant and bool(message.lesson_items) and message.status != "failed"


VIEWS: Mapping[str, View] = {
    view.__name__: view for view in (everything, blind, own_thread, with_instructions, advisor_view, lesson_view)
}


def view_of_run(run: str, name: str) -> View:
    """Return a view bound to an earlier run: it ignores its run argument."""
    view = VIEWS[name]

    @wraps(view)
    def view_in_run(messages: Sequence[Message], participant: str, _: str) -> list[Message]:
        return view(messages, participant, run)

    return view_in_run
