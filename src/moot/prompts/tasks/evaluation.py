"""Prompts that judge an answer by assertions, and that rewrite a persona."""

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from moot.prompts.attachments import quoted
from moot.prompts.library import part
from moot.prompts.templates import filled, written
from moot.prompts.tokens import cut, fitted
from moot.types.chunks import Text
from moot.types.errors import UsageError
from moot.types.evaluations import TextField, Trial, Verdict, best, standing
from moot.types.participants import Participant
from moot.types.personas import Persona
from moot.types.requests import ModelRequest, user

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


MOST_CHARACTERS: dict[TextField, int] = {"description": 4000, "system_prompt": 20_000}
LONGER = 1500  # characters by which a description may grow in a round: changes are small
REWRITE_MAX_TOKENS = 8000
CHANGE = 300  # characters of a change that did not help


class Rewritten(Struct, frozen=True):
    change: str
    description: str


class Role(Struct, frozen=True, kw_only=True):
    """What somebody plays, and the text that tells it: a persona's own prompt, else its description.

    Without a persona there is no text yet, and a description is what comes of it.
    """

    who: Participant
    persona: Persona | None = None

    @property
    def field(self) -> TextField:
        has_prompt = self.persona is not None and self.persona.system_prompt.strip()
        return "system_prompt" if has_prompt else "description"

    @property
    def text(self) -> str:
        return str(getattr(self.persona, self.field)) if self.persona is not None else ""

    def told(self, text: str) -> str:
        """Write the part as a model is told it, with another text."""
        if self.persona is not None:
            return part(replace(self.persona, **{self.field: text}))
        return filled(
            "part",
            {"name": self.who.name, "description": text.strip(), "traits": "", "specialisations": ""},
        )


def rewriting(role: Role, trial: Trial, question: str, answer: str, room: int) -> ModelRequest:
    """Ask for a small change, from the best there is, and knowing what did not help."""
    found = best(trial.rounds)
    text = found.description if found else role.text
    asked, given = fitted([question.strip(), found.answer if found else answer], room // 2)
    parts: list[Text | str] = [
        quoted("The description as it is", text or "(It is empty.)"),
        quoted("A question", asked),
        quoted("The answer to it", given),
        _judged(trial.assertions, standing(trial)),
    ]
    if failed := _in_vain(trial):
        parts.append(f"These changes were tried since, and did not help:\n{failed}")
    return ModelRequest(
        model="",
        system=written("improve_description").format(most=MOST_CHARACTERS[role.field]),
        messages=(user(*parts),),
        max_tokens=REWRITE_MAX_TOKENS,
    )


def small_change(role: Role, text: str) -> Callable[[Rewritten], str | None]:
    """Check that a text really is another one, and not much longer."""
    most = min(MOST_CHARACTERS[role.field], len(text) + LONGER)

    def check(told: Rewritten) -> str | None:
        if not told.description.strip():
            return "`description` is empty."
        if told.description.strip() == text.strip():
            return "`description` is as it was: change something."
        if len(told.description) > max(most, len(text)):
            return f"`description` is too long: change less, and stay under {most} characters."
        return "`description` has a NUL character in it." if "\0" in told.description else None

    return check


def _judged(assertions: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    lines = [
        f"- {'passes' if verdict.passed else 'FAILS'}: {assertion}\n  ({verdict.reason})"
        for assertion, verdict in zip(assertions, verdicts, strict=True)
    ]
    return "The assertions about that answer:\n" + "\n".join(lines)


def _in_vain(trial: Trial) -> str:
    """List the changes since the best round."""
    found = best(trial.rounds)
    since = trial.rounds[trial.rounds.index(found) + 1 :] if found else trial.rounds
    return "\n".join(f"- {cut(' '.join(one.change.split()), CHANGE)}" for one in since)
