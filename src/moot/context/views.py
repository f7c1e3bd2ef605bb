"""Who sees what: pure functions from all that was said to what one participant may see of it.

A mode is a choice of views. Whatever a view shows, failed turns are never said to anybody, and a message for some
is never shown to the others.
"""

from collections.abc import Callable, Mapping, Sequence

from moot.model.discussions import Message

View = Callable[[Sequence[Message], str, str], list[Message]]


def everything(said: Sequence[Message], participant: str, run: str) -> list[Message]:  # noqa: ARG001 - a View
    """All that was said until now."""
    return [message for message in said if _may_see(message, participant)]


def blind(said: Sequence[Message], participant: str, run: str) -> list[Message]:
    """What was said in earlier runs, and of this one only the user's words and one's own."""
    return [
        message
        for message in everything(said, participant, run)
        if message.run != run or message.role == "user" or message.participant == participant
    ]


def _may_see(message: Message, participant: str) -> bool:
    meant = message.audience is None or participant in message.audience or message.participant == participant
    said = message.status != "failed" and message.content.strip() != ""
    return meant and said and message.role != "system"


VIEWS: Mapping[str, View] = {view.__name__: view for view in (everything, blind)}
