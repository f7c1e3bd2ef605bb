"""Evaluation tasks: judge an answer by assertions, and rewrite a persona's text."""

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from moot.prompts.attachments import quote_block
from moot.prompts.library import persona_prompt, render_template
from moot.prompts.tasks.task import task_request
from moot.prompts.tokens import fit_texts, truncate_text
from moot.types.chunks import Text
from moot.types.errors import UsageError
from moot.types.evaluations import Evaluation, PersonaTextField, Verdict, best_round, best_verdicts
from moot.types.participants import Participant
from moot.types.personas import Persona
from moot.types.requests import ModelRequest

MAX_ASSERTIONS, MAX_ASSERTION_CHARACTERS = 20, 500
JUDGE_MAX_TOKENS = 4000
NO_QUESTION_NOTE = "(Nobody asked anything new: the table went on by itself.)"


class NumberedVerdict(Struct, frozen=True):
    """The reason stands first, so that it is thought of before the verdict."""

    number: int
    reason: Annotated[str, Meta(min_length=1, max_length=2000)]
    passed: bool


class Judgement(Struct, frozen=True):
    verdicts: tuple[NumberedVerdict, ...]


def parse_assertions(text: str) -> tuple[str, ...]:
    """Parse one assertion per line and ignore empty lines. Raises UsageError if a limit is exceeded."""
    found = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not found:
        raise UsageError("assertions: there are none. Write one per line.")
    if len(found) > MAX_ASSERTIONS:
        raise UsageError(f"assertions: there are {len(found)}. Write at most {MAX_ASSERTIONS}, one per line.")
    for place, one in enumerate(found, start=1):
        if len(one) > MAX_ASSERTION_CHARACTERS:
            raise UsageError(
                f"assertions: number {place} has more than {MAX_ASSERTION_CHARACTERS} characters. Shorten it."
            )
    return found


def judge_request(question: str, answer: str, assertions: Sequence[str], max_chars: int) -> ModelRequest:
    """Fence the answer, so that it cannot give instructions to the judge."""
    asked, given = fit_texts([question.strip() or NO_QUESTION_NOTE, answer.strip()], max_chars)
    parts = (quote_block("The question", asked), quote_block("The answer", given), number_assertions(assertions))
    return replace(task_request("judge_by_assertions", *parts, max_tokens=JUDGE_MAX_TOKENS), temperature=0.0)


def number_assertions(assertions: Sequence[str]) -> str:
    lines = (f"{place}. {one}" for place, one in enumerate(assertions, start=1))
    return "The assertions:\n" + "\n".join(lines)


def require_one_verdict_each(count: int) -> Callable[[Judgement], str | None]:
    """Return a validator. Its error message goes back to the model."""

    def check(judgement: Judgement) -> str | None:
        if sorted(one.number for one in judgement.verdicts) == list(range(1, count + 1)):
            return None
        return f"There must be exactly one verdict on each of the {count} assertions, by its number."

    return check


def sort_verdicts(judgement: Judgement) -> tuple[Verdict, ...]:
    """Sort by assertion number."""
    ordered = sorted(judgement.verdicts, key=lambda one: one.number)
    return tuple(Verdict(one.passed, one.reason) for one in ordered)


MAX_TEXT_CHARACTERS: dict[PersonaTextField, int] = {"description": 4000, "system_prompt": 20_000}
MAX_GROWTH_CHARACTERS = 1500  # per round, to keep changes small
REWRITE_MAX_TOKENS = 8000
MAX_CHANGE_CHARACTERS = 300  # per failed change in the prompt


class RewriteAnswer(Struct, frozen=True):
    change: str
    description: str


class RewriteTarget(Struct, frozen=True, kw_only=True):
    """The persona text to rewrite: the system prompt if it has one, or else the description."""

    participant: Participant
    persona: Persona | None = None  # None: start from an empty description

    @property
    def field(self) -> PersonaTextField:
        has_prompt = self.persona is not None and self.persona.system_prompt.strip()
        return "system_prompt" if has_prompt else "description"

    @property
    def text(self) -> str:
        return str(getattr(self.persona, self.field)) if self.persona is not None else ""

    def render_prompt(self, text: str) -> str:
        """Render the persona prompt with another value in the field."""
        if self.persona is not None:
            return persona_prompt(replace(self.persona, **{self.field: text}))
        return render_template(
            "part", {"name": self.participant.name, "description": text.strip(), "traits": "", "specialisations": ""}
        )


def rewrite_request(
    target: RewriteTarget, evaluation: Evaluation, question: str, answer: str, max_chars: int
) -> ModelRequest:
    """Request a small change of the best version so far. Lists later changes that failed."""
    found = best_round(evaluation.rounds)
    text = found.description if found else target.text
    asked, given = fit_texts([question.strip(), found.answer if found else answer], max_chars // 2)
    parts: list[Text | str] = [
        quote_block("The description as it is", text or "(It is empty.)"),
        quote_block("A question", asked),
        quote_block("The answer to it", given),
        _render_verdicts(evaluation.assertions, best_verdicts(evaluation)),
    ]
    if failed := _list_failed_changes(evaluation):
        parts.append(f"These changes were tried since, and did not help:\n{failed}")
    request = task_request("improve_description", *parts, max_tokens=REWRITE_MAX_TOKENS)
    return replace(request, system=request.system.format(most=MAX_TEXT_CHARACTERS[target.field]))


def require_small_change(target: RewriteTarget, text: str) -> Callable[[RewriteAnswer], str | None]:
    """Return a validator. It rejects an unchanged text and one that grows too much."""
    most = min(MAX_TEXT_CHARACTERS[target.field], len(text) + MAX_GROWTH_CHARACTERS)

    def check(rewrite: RewriteAnswer) -> str | None:
        if not rewrite.description.strip():
            return "`description` is empty."
        if rewrite.description.strip() == text.strip():
            return "`description` is as it was: change something."
        if len(rewrite.description) > max(most, len(text)):
            return f"`description` is too long: change less, and stay under {most} characters."
        return "`description` has a NUL character in it." if "\0" in rewrite.description else None

    return check


def _render_verdicts(assertions: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    lines = [
        f"- {'passes' if verdict.passed else 'FAILS'}: {assertion}\n  ({verdict.reason})"
        for assertion, verdict in zip(assertions, verdicts, strict=True)
    ]
    return "The assertions about that answer:\n" + "\n".join(lines)


def _list_failed_changes(evaluation: Evaluation) -> str:
    """All rounds after the best one count as failed."""
    found = best_round(evaluation.rounds)
    since = evaluation.rounds[evaluation.rounds.index(found) + 1 :] if found else evaluation.rounds
    return "\n".join(f"- {truncate_text(' '.join(one.change.split()), MAX_CHANGE_CHARACTERS)}" for one in since)
