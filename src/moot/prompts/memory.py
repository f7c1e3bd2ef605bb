"""Short-term memory: what a participant knows of a channel beyond the discussion that is led in it now.

Pure: times are passed in. The newest words are remembered as they were, what fell out as a summary.
"""

from collections.abc import Sequence

from moot.prompts.templates import filled, written
from moot.prompts.tokens import cut, one_line
from moot.prompts.visibility import everything
from moot.types.discord import Remembered, Summary
from moot.types.discussions import Message
from moot.types.requests import ModelRequest, user

MOST = 10  # messages and replies
LASTS = 12 * 3600.0  # seconds
SUMMARY_LASTS = 24 * 3600.0
LONGEST_SUMMARY = 1500  # characters
LONGEST = 1000
MOST_DISCUSSIONS = 10  # that a summary knows it is of
MOST_TOKENS = 600  # of a clerk


def heard(said: Sequence[Message], who: str) -> list[Remembered]:
    """Take in what was said in a channel, as far as somebody may know of it."""
    return [
        Remembered(
            discussion=one.discussion,
            name=one.name if one.role != "user" else None,
            words=cut(one.content.strip(), LONGEST),
            details=cut(one.details, LONGEST) if one.participant == who else "",
            at=one.created_at,
        )
        for one in everything(said, who, "")
    ]


def recent(known: Sequence[Remembered], now: float) -> list[Remembered]:
    return [one for one in known if now - one.at <= LASTS][-MOST:]


def fallen_out(known: Sequence[Remembered], before: Summary | None, now: float) -> list[Remembered]:
    """Return what is not remembered any more, and is in no summary yet."""
    kept, since = recent(known, now), before.upto if before else 0.0
    return [one for one in known if one not in kept and one.at > since and now - one.at <= SUMMARY_LASTS]


def lasting(summary: Summary | None, now: float) -> Summary | None:
    return summary if summary and now - summary.created_at <= SUMMARY_LASTS else None


def recalled(known: Sequence[Remembered], summary: Summary | None, discussion: str, now: float) -> str:
    """Write down what somebody remembers; words of the discussion itself are not said twice."""
    kept, summary = recent(known, now), lasting(summary, now)
    elsewhere = summary is not None and any(one != discussion for one in summary.discussions)
    values = {
        "summary": summary.words if summary and elsewhere else "",
        "words": "\n".join(_line(one) for one in kept if one.discussion != discussion),
        "details": "\n".join(f"- {one_line(one.details, LONGEST)}" for one in kept if one.details),
    }
    return filled("memory", values) if any(values.values()) else ""


def summing_up(before: Summary | None, fallen: Sequence[Remembered]) -> ModelRequest:
    """Ask for a new summary of what an earlier one says and of what fell out since."""
    return ModelRequest(
        model="", system=written("remember"), messages=(user(_all(before, fallen)),), max_tokens=MOST_TOKENS
    )


def plainly(before: Summary | None, fallen: Sequence[Remembered]) -> str:
    """Sum up without a clerk: the newest words, as many as there is room for."""
    text = _all(before, fallen)
    return text if len(text) <= LONGEST_SUMMARY else "…" + text[1 - LONGEST_SUMMARY :].lstrip()


def summary_of(words: str, before: Summary | None, fallen: Sequence[Remembered], now: float) -> Summary:
    discussions = (*(before.discussions if before else ()), *(one.discussion for one in fallen))
    newest_last = tuple(dict.fromkeys(reversed(discussions)))[::-1]
    return Summary(
        words=cut(words.strip(), LONGEST_SUMMARY),
        discussions=newest_last[-MOST_DISCUSSIONS:],
        upto=max(one.at for one in fallen),
        created_at=now,
    )


def _all(before: Summary | None, fallen: Sequence[Remembered]) -> str:
    noted = [f"{one.name} noted: {one_line(one.details, LONGEST)}" for one in fallen if one.details]
    return "\n".join([*([before.words] if before else []), *map(_line, fallen), *noted])


def _line(one: Remembered) -> str:
    words = one_line(one.words, LONGEST)
    return f"- {one.name}: {words}" if one.name else f"- {words}"
