"""What is told of a message beside its words: who, with which model, when, for how much, and what went wrong."""

from collections.abc import Mapping
from datetime import UTC, datetime

from moot.types.billing import dollars
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.tools import ToolUse

PERSON, TABLE = "Person", "The table"
STAGES = {
    "initial": "First answers",
    "debate": "Having read each other",
    "synthesis": "Synthesis",
    "cross_talk": "To each other",
    "continue": "The table goes on",
}
ENDINGS = {
    "stopped": "Stopped here.",
    "interrupted": "Interrupted by the next message.",
    "partial": "Cut off here.",
}


class Names(dict[str, str]):
    """Names by the ids of participants; one that nobody has told is its id."""

    def __missing__(self, id: str) -> str:
        return id


def speaker(message: Message) -> str:
    if message.name:
        return message.name
    return PERSON if message.role == "user" else TABLE


def stage(message: Message) -> str | None:
    """Say at which stage something was said, where that means anything to readers."""
    if message.stage == "round":
        return f"Round {message.round + 1}"
    return STAGES.get(message.stage or "")


def meant_for(message: Message, names: Mapping[str, str]) -> str | None:
    if message.audience is None or message.role != "user":
        return None
    return f"only for {', '.join(names[one] for one in message.audience)}"


def version(message: Message) -> str:
    """Name a version that is not current, and who made it."""
    by = "edited by hand" if message.edited else message.model
    return ", ".join(filter(None, (f"Version {message.version} of {message.versions}", by)))


def figures(message: Message) -> list[str]:
    """List tokens, cost and time, as far as they are known."""
    told = [counted(message.usage)] if message.usage and (message.usage.input or message.usage.output) else []
    if message.cost:
        told.append(dollars(message.cost))
    if message.latency:
        told.append(f"{message.latency:.1f} s")
    return told


def counted(usage: Usage) -> str:
    about = "about " if usage.estimated else ""
    return f"{about}{usage.input:,} tokens in, {usage.output:,} out"


def trouble(message: Message) -> str | None:
    """Say why there is no answer, or not all of it."""
    if message.fault is not None:
        return message.fault.message
    return "It gave no answer." if message.status == "failed" else ENDINGS.get(message.status)


def called(use: ToolUse) -> str:
    """Name a call in a line."""
    how = "failed" if use.is_error else "was called"
    return f"{use.name} {how} ({use.seconds:.1f} s)"


def moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def spent(usage: Usage, cost: float, unpriced: int) -> str:
    """Say what a run took in all."""
    unknown = f", and {unpriced} calls whose price is not known" if unpriced else ""
    return f"{counted(usage)}, {dollars(cost)}{unknown}"
