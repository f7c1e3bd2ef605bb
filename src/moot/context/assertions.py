"""Assertions about an answer: read from lines, put to a judge, and matched with its verdicts."""

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from moot.context.fitting import fitted
from moot.context.prompts import written
from moot.context.question import quoted
from moot.model.errors import UsageError
from moot.model.requests import ModelRequest, user
from moot.model.trials import Verdict

MOST, LONGEST = 20, 500
JUDGE_MAX_TOKENS = 4000
UNASKED = "(Nobody asked anything new: the table went on by itself.)"


class Finding(Struct, frozen=True):
    """The reason stands first, so that it is thought of before the verdict."""

    number: int
    reason: Annotated[str, Meta(min_length=1, max_length=2000)]
    passed: bool


class Judgement(Struct, frozen=True):
    verdicts: tuple[Finding, ...]


def assertions_in(text: str) -> tuple[str, ...]:
    """Read assertions, one a line; empty lines say nothing."""
    found = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not found:
        raise UsageError("assertions: there are none: write one a line.")
    if len(found) > MOST:
        raise UsageError(f"assertions: these are {len(found)}: write {MOST} at most, one a line.")
    for place, one in enumerate(found, start=1):
        if len(one) > LONGEST:
            raise UsageError(f"assertions: number {place} is longer than {LONGEST} characters: shorten it.")
    return found


def judging(question: str, answer: str, assertions: Sequence[str], room: int) -> ModelRequest:
    """Put an answer before a judge: fenced, as what is judged and not as somebody who speaks to the judge."""
    asked, given = fitted([question.strip() or UNASKED, answer.strip()], room)
    return ModelRequest(
        model="",
        system=written("judge_by_assertions"),
        messages=(user(quoted("The question", asked), quoted("The answer", given), numbered(assertions)),),
        temperature=0.0,
        max_tokens=JUDGE_MAX_TOKENS,
    )


def numbered(assertions: Sequence[str]) -> str:
    lines = (f"{place}. {one}" for place, one in enumerate(assertions, start=1))
    return "The assertions:\n" + "\n".join(lines)


def one_each(count: int) -> Callable[[Judgement], str | None]:
    """Check that there is exactly one verdict on each of so many assertions."""

    def check(told: Judgement) -> str | None:
        if sorted(one.number for one in told.verdicts) == list(range(1, count + 1)):
            return None
        return f"There must be exactly one verdict on each of the {count} assertions, by its number."

    return check


def verdicts(told: Judgement) -> tuple[Verdict, ...]:
    """Put verdicts in the order of the assertions."""
    ordered = sorted(told.verdicts, key=lambda one: one.number)
    return tuple(Verdict(one.passed, one.reason) for one in ordered)
