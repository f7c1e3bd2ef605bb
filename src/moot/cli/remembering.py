"""What was said, and where, as lines for a terminal: the history of a discussion, and a list of them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from moot.channels.terminal import safe
from moot.model.discussions import Discussion, Message


def history(messages: Sequence[Message]) -> str:
    return safe("".join(f"{line}\n" for message in messages for line in _block(message)))


def listed(discussions: Sequence[Discussion]) -> str:
    """Number discussions, so that one can be named by its number."""
    lines = (
        f"{number:>3}  {datetime.fromtimestamp(one.updated_at):%Y-%m-%d %H:%M}  {one.title}  ({one.mode}, {one.id})"  # noqa: DTZ006 - as the clock on the wall says
        for number, one in enumerate(discussions, start=1)
    )
    return safe("".join(f"{line}\n" for line in lines))


def _block(message: Message) -> Iterator[str]:
    if message.role == "user":
        to = f" to {', '.join(message.audience)}" if message.audience else ""
        yield f"=== You{to} ==="
    else:
        who = (message.name or message.participant or message.role, message.model)
        yield f"=== {' · '.join(part for part in who if part)} ==="
    for part in (message.content, message.details):
        if part.strip():
            yield part.rstrip()
    if message.status != "completed":
        yield f"[{message.status}{f': {message.fault.message}' if message.fault else ''}]"
    yield ""
