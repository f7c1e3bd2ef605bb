"""Trials: what somebody asserts of an answer, how that was judged, and what the part that gave it was improved to."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

MOST_ROUNDS = 10

TextField = Literal["description", "system_prompt"]
Outcome = Literal["all_pass", "no_more_rounds", "failed"]


class Verdict(Struct, frozen=True):
    passed: bool
    reason: str


class Round(Struct, frozen=True, kw_only=True):
    """One attempt: the description as it was rewritten, the answer given with it, and how that was judged.

    `better` is true where more assertions passed than ever before; only such rounds can be accepted. `cost` is None where
    nobody knows.
    """

    description: str
    change: str
    answer: str
    verdicts: tuple[Verdict, ...]
    better: bool = False
    cost: float | None
    created_at: float


class Acceptance(Struct, frozen=True, kw_only=True):
    """What was done when the best round was accepted: `field` of `persona` was `before` and is `after`.

    With `made` the persona is a new one, which `participant` plays instead of the persona `replaced`, if there was one.
    """

    persona: str
    field: TextField
    before: str
    after: str
    made: bool
    participant: str
    replaced: str | None


class Improvement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of improving until now, and which worker is at it."""

    rounds: tuple[Round, ...] = ()
    held_by: str | None = None
    acceptance: Acceptance | None = None


class Trial(Struct, frozen=True, kw_only=True):
    """Assertions about the answer `message`, in order, with a verdict on each; `judge` is the model that is asked."""

    id: str
    message: str
    judge: str
    assertions: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    rounds: tuple[Round, ...]
    acceptance: Acceptance | None
    created_at: float
    accepted_at: float | None


def passes(verdicts: Sequence[Verdict]) -> int:
    return sum(one.passed for one in verdicts)


def best(rounds: Sequence[Round]) -> Round | None:
    """Find the round to accept: the last that was better than all before it."""
    return next((one for one in reversed(rounds) if one.better), None)


def standing(trial: Trial) -> Sequence[Verdict]:
    """Tell how the best answer until now was judged."""
    found = best(trial.rounds)
    return found.verdicts if found else trial.verdicts


def with_round(trial: Trial, new: Round) -> Trial:
    """Add a round; it is better only if strictly more passed than at the best of times."""
    better = passes(new.verdicts) > passes(standing(trial))
    return replace(trial, rounds=(*trial.rounds, replace(new, better=better)))


def outcome(trial: Trial) -> Outcome | None:
    """Tell why there is nothing more to improve; None if there is."""
    if all(one.passed for one in standing(trial)):
        return "all_pass"
    return "no_more_rounds" if len(trial.rounds) >= MOST_ROUNDS else None
