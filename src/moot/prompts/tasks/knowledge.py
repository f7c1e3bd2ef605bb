"""A discussion, or all that was learnt in a project, as material for a model to read: labelled, and cut to fit."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from moot.prompts.tokens import cut, one_line
from moot.types.discussions import Discussion, Message
from moot.types.knowledge import Insight

BETWEEN = "\n\n"
SHORT = 240  # characters that are left of a message when room is short
DETAIL = 600  # characters of an insight, or of a discussion's summary, among many


class Material(Struct, frozen=True):
    """What is read, and which message each label in it stands for."""

    text: str
    sources: Mapping[str, str]


def transcript(messages: Sequence[Message], room: int) -> Material:
    """Write a discussion out. Where it is too long, the oldest messages are shortened first, then left out."""
    said = [(f"m{place}", message) for place, message in enumerate(filter(_counts, messages), start=1)]
    blocks = [_block(label, message) for label, message in said]
    kept = _fitted(blocks, room)
    left_out = len(blocks) - len(kept)
    notes = _notes(left_out, shortened=kept != blocks[left_out:])
    sources = {label: message.id for label, message in said[left_out:]}
    return Material(BETWEEN.join([*notes, *kept]), sources)


def findings(discussions: Sequence[Discussion], insights: Sequence[Insight], room: int) -> str:
    """Write out what was learnt in a project, newest first, until there is no more room."""
    labels = {one.id: f"d{place}" for place, one in enumerate(discussions, start=1)}
    lines = [f"{labels[one.id]} {_line(one.title, one.summary or '')}" for one in discussions]
    found = [_insight(one, labels.get(one.discussion, "an earlier discussion")) for one in insights]
    told, untold = _until(room // 3, lines)
    shown, unshown = _until(room - sum(map(len, told)), found)
    parts = ["Discussions, newest first:", *told, "", "Insights, newest first:", *shown]
    if untold or unshown:
        parts.append(
            f"\n{untold} older discussions and {unshown} older insights are left out for want of room."
        )
    return "\n".join(parts)


def _counts(message: Message) -> bool:
    said = message.content.strip() and message.role != "system"
    return bool(said) and message.status != "failed" and not message.hidden


def _block(label: str, message: Message) -> str:
    who = message.name or ("The person" if message.role == "user" else message.role.capitalize())
    return f"[{label}] {who}:\n{message.content.strip()}"


def _fitted(blocks: Sequence[str], room: int) -> list[str]:
    kept = list(blocks)
    over = sum(len(block) + len(BETWEEN) for block in kept) - room
    for place, block in enumerate(kept):
        if over <= 0:
            return kept
        newest = place == len(kept) - 1
        kept[place] = cut(block, room // 2 if newest else SHORT)
        over -= len(block) - len(kept[place])
    while over > 0 and len(kept) > 1:
        over -= len(kept.pop(0)) + len(BETWEEN)
    return kept


def _notes(left_out: int, *, shortened: bool) -> list[str]:
    notes = []
    if left_out:
        notes.append(f"What was said before m{left_out + 1} is left out.")
    if shortened:
        notes.append("Older messages are shortened: those end in ….")
    return [f"This discussion is long. {' '.join(notes)}"] if notes else []


def _insight(one: Insight, source: str) -> str:
    kind = f"{one.kind}, {one.severity}" if one.severity else one.kind
    suggestion = f" Suggested: {one.suggestion}" if one.suggestion else ""
    return f"- ({kind}; {one.category}; {source}) {_line(one.title, one.detail + suggestion)}"


def _line(title: str, more: str) -> str:
    told = one_line(more, DETAIL)
    return f"{title}: {told}" if told else title


def _until(room: int, lines: Sequence[str]) -> tuple[list[str], int]:
    """Take lines from the start as long as they fit, and count the others."""
    taken: list[str] = []
    for line in lines:
        room -= len(line)
        if room < 0:
            break
        taken.append(line)
    return taken, len(lines) - len(taken)
