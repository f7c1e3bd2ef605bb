"""Material for knowledge tasks: a discussion or a project as labelled text within a character limit."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from moot.prompts.tokens import one_line, truncate_text
from moot.types.discussions import Discussion, Message
from moot.types.knowledge import Insight

BLOCK_SEPARATOR = "\n\n"
SHORT_MESSAGE_CHARACTERS = 240  # length of a shortened message
MAX_DETAIL_CHARACTERS = 600  # per insight, and per discussion summary


class Material(Struct, frozen=True):
    text: str
    sources: Mapping[str, str]  # label -> message id


def transcript_material(messages: Sequence[Message], max_chars: int) -> Material:
    """If the text exceeds the limit, shorten the oldest messages first, then omit them."""
    labelled = [(f"m{place}", message) for place, message in enumerate(filter(_is_visible_message, messages), start=1)]
    blocks = [_render_block(label, message) for label, message in labelled]
    kept = _fit_blocks(blocks, max_chars)
    left_out = len(blocks) - len(kept)
    notes = _truncation_notes(left_out, shortened=kept != blocks[left_out:])
    sources = {label: message.id for label, message in labelled[left_out:]}
    return Material(BLOCK_SEPARATOR.join([*notes, *kept]), sources)


def project_material(discussions: Sequence[Discussion], insights: Sequence[Insight], max_chars: int) -> str:
    """Discussions get at most a third of the limit, insights the rest. Both lists are newest first."""
    labels = {one.id: f"d{place}" for place, one in enumerate(discussions, start=1)}
    lines = [f"{labels[one.id]} {_render_line(one.title, one.summary or '')}" for one in discussions]
    found = [_render_insight(one, labels.get(one.discussion, "an earlier discussion")) for one in insights]
    listed, unlisted = _take_until_full(max_chars // 3, lines)
    shown, unshown = _take_until_full(max_chars - sum(map(len, listed)), found)
    parts = ["Discussions, newest first:", *listed, "", "Insights, newest first:", *shown]
    if unlisted or unshown:
        parts.append(f"\n{unlisted} older discussions and {unshown} older insights are left out for want of room.")
    return "\n".join(parts)


def _is_visible_message(message: Message) -> bool:
    has_text = message.content.strip() and message.role != "system"
    return bool(has_text) and message.status != "failed" and not message.hidden


def _render_block(label: str, message: Message) -> str:
    who = message.name or ("The person" if message.role == "user" else message.role.capitalize())
    return f"[{label}] {who}:\n{message.content.strip()}"


def _fit_blocks(blocks: Sequence[str], max_chars: int) -> list[str]:
    kept = list(blocks)
    over = sum(len(block) + len(BLOCK_SEPARATOR) for block in kept) - max_chars
    for place, block in enumerate(kept):
        if over <= 0:
            return kept
        newest = place == len(kept) - 1
        kept[place] = truncate_text(block, max_chars // 2 if newest else SHORT_MESSAGE_CHARACTERS)
        over -= len(block) - len(kept[place])
    while over > 0 and len(kept) > 1:
        over -= len(kept.pop(0)) + len(BLOCK_SEPARATOR)
    return kept


def _truncation_notes(omitted_count: int, *, shortened: bool) -> list[str]:
    notes = []
    if omitted_count:
        notes.append(f"What was said before m{omitted_count + 1} is left out.")
    if shortened:
        notes.append("Older messages are shortened: those end in ….")
    return [f"This discussion is long. {' '.join(notes)}"] if notes else []


def _render_insight(insight: Insight, source: str) -> str:
    kind = f"{insight.kind}, {insight.severity}" if insight.severity else insight.kind
    suggestion = f" Suggested: {insight.suggestion}" if insight.suggestion else ""
    return f"- ({kind}; {insight.category}; {source}) {_render_line(insight.title, insight.detail + suggestion)}"


def _render_line(title: str, detail: str) -> str:
    short = one_line(detail, MAX_DETAIL_CHARACTERS)
    return f"{title}: {short}" if short else title


def _take_until_full(max_chars: int, lines: Sequence[str]) -> tuple[list[str], int]:
    """Return the lines that fit, and the number of omitted ones."""
    taken: list[str] = []
    for line in lines:
        max_chars -= len(line)
        if max_chars < 0:
            break
        taken.append(line)
    return taken, len(lines) - len(taken)
