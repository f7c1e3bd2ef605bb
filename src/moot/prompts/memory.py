"""Short-term memory of a participant in a Discord channel, across discussions.

The newest messages are kept as entries, older ones as a summary. Pure: the caller passes the time.
"""

from collections.abc import Sequence

from moot.prompts.library import render_template
from moot.prompts.tasks.task import task_request
from moot.prompts.tokens import one_line, truncate_text
from moot.prompts.visibility import everything
from moot.types.discord import MemoryEntry, MemorySummary
from moot.types.discussions import Message
from moot.types.requests import ModelRequest

MAX_ENTRIES = 10  # user messages and answers
ENTRY_LIFETIME_SECONDS = 12 * 3600.0
SUMMARY_LIFETIME_SECONDS = 24 * 3600.0
MAX_SUMMARY_CHARACTERS = 1500
MAX_ENTRY_CHARACTERS = 1000
MAX_SUMMARY_DISCUSSIONS = 10  # discussion ids in a summary
MAX_SUMMARY_TOKENS = 600  # response limit of the task model


def memory_entries(messages: Sequence[Message], participant: str) -> list[MemoryEntry]:
    """Convert the messages that the participant may see. Details are private to their author."""
    return [
        MemoryEntry(
            discussion=one.discussion,
            name=one.name if one.role != "user" else None,
            text=truncate_text(one.content.strip(), MAX_ENTRY_CHARACTERS),
            details=truncate_text(one.details, MAX_ENTRY_CHARACTERS) if one.participant == participant else "",
            said_at=one.created_at,
        )
        for one in everything(messages, participant, "")
    ]


def recent_entries(entries: Sequence[MemoryEntry], now: float) -> list[MemoryEntry]:
    return [one for one in entries if now - one.said_at <= ENTRY_LIFETIME_SECONDS][-MAX_ENTRIES:]


def entries_to_summarize(
    entries: Sequence[MemoryEntry], previous: MemorySummary | None, now: float
) -> list[MemoryEntry]:
    """Return expired entries that the previous summary does not include."""
    kept, since = recent_entries(entries, now), previous.covers_until if previous else 0.0
    return [
        one
        for one in entries
        if one not in kept and one.said_at > since and now - one.said_at <= SUMMARY_LIFETIME_SECONDS
    ]


def valid_summary(summary: MemorySummary | None, now: float) -> MemorySummary | None:
    return summary if summary and now - summary.created_at <= SUMMARY_LIFETIME_SECONDS else None


def render_memory(entries: Sequence[MemoryEntry], summary: MemorySummary | None, discussion: str, now: float) -> str:
    """Omit messages of the current discussion: the request contains them already."""
    kept, summary = recent_entries(entries, now), valid_summary(summary, now)
    elsewhere = summary is not None and any(one != discussion for one in summary.discussions)
    values = {
        "summary": summary.text if summary and elsewhere else "",
        "words": "\n".join(_render_entry(one) for one in kept if one.discussion != discussion),
        "details": "\n".join(f"- {one_line(one.details, MAX_ENTRY_CHARACTERS)}" for one in kept if one.details),
    }
    return render_template("memory", values) if any(values.values()) else ""


def memory_summary_request(previous: MemorySummary | None, old_entries: Sequence[MemoryEntry]) -> ModelRequest:
    """Request one summary of the previous summary and the expired entries."""
    return task_request("remember", _summary_material(previous, old_entries), max_tokens=MAX_SUMMARY_TOKENS)


def summarize_without_model(previous: MemorySummary | None, old_entries: Sequence[MemoryEntry]) -> str:
    """Fallback without a task model: keep the end of the text."""
    text = _summary_material(previous, old_entries)
    return text if len(text) <= MAX_SUMMARY_CHARACTERS else "…" + text[1 - MAX_SUMMARY_CHARACTERS :].lstrip()


def make_memory_summary(
    text: str, previous: MemorySummary | None, old_entries: Sequence[MemoryEntry], now: float
) -> MemorySummary:
    discussions = (*(previous.discussions if previous else ()), *(one.discussion for one in old_entries))
    newest_last = tuple(dict.fromkeys(reversed(discussions)))[::-1]
    return MemorySummary(
        text=truncate_text(text.strip(), MAX_SUMMARY_CHARACTERS),
        discussions=newest_last[-MAX_SUMMARY_DISCUSSIONS:],
        covers_until=max(one.said_at for one in old_entries),
        created_at=now,
    )


def _summary_material(previous: MemorySummary | None, old_entries: Sequence[MemoryEntry]) -> str:
    noted = [f"{one.name} noted: {one_line(one.details, MAX_ENTRY_CHARACTERS)}" for one in old_entries if one.details]
    return "\n".join([*([previous.text] if previous else []), *map(_render_entry, old_entries), *noted])


def _render_entry(entry: MemoryEntry) -> str:
    words = one_line(entry.text, MAX_ENTRY_CHARACTERS)
    return f"- {entry.name}: {words}" if entry.name else f"- {words}"
