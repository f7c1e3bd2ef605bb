"""Trials: what somebody asserts of an answer, how that was judged, and what the part that gave it was improved to."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

MAX_IMPROVEMENT_ROUNDS = 10

PersonaTextField = Literal["description", "system_prompt"]
ImprovementOutcome = Literal["all_pass", "no_more_rounds", "failed"]


class Verdict(Struct, frozen=True):
    passed: bool
    reason: str


class ImprovementRound(Struct, frozen=True, kw_only=True):
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


class AppliedImprovement(Struct, frozen=True, kw_only=True):
    """What was done when the best round was accepted: `field` of `persona` was `before` and is `after`.

    With `made` the persona is a new one, which `participant` plays instead of the persona `replaced`, if there was one.
    """

    persona: str
    field: PersonaTextField
    before: str
    after: str
    made: bool
    participant: str
    replaced: str | None


class Improvement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of improving until now, and which worker is at it."""

    rounds: tuple[ImprovementRound, ...] = ()
    held_by: str | None = None
    acceptance: AppliedImprovement | None = None


class Evaluation(Struct, frozen=True, kw_only=True):
    """Assertions about the answer `message`, in order, with a verdict on each; `judge` is the model that is asked."""

    id: str
    message: str
    judge: str
    assertions: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    rounds: tuple[ImprovementRound, ...]
    acceptance: AppliedImprovement | None
    created_at: float
    accepted_at: float | None


def count_passes(verdicts: Sequence[Verdict]) -> int:
    return sum(one.passed for one in verdicts)


def best_round(rounds: Sequence[ImprovementRound]) -> ImprovementRound | None:
    """Find the round to accept: the last that was better than all before it."""
    return next((one for one in reversed(rounds) if one.better), None)


def best_verdicts(evaluation: Evaluation) -> Sequence[Verdict]:
    """Tell how the best answer until now was judged."""
    found = best_round(evaluation.rounds)
    return found.verdicts if found else evaluation.verdicts


def add_round(evaluation: Evaluation, new_round: ImprovementRound) -> Evaluation:
    """Add a round; it is better only if strictly more passed than at the best of times."""
    better = count_passes(new_round.verdicts) > count_passes(best_verdicts(evaluation))
    return replace(evaluation, rounds=(*evaluation.rounds, replace(new_round, better=better)))


def improvement_outcome(evaluation: Evaluation) -> ImprovementOutcome | None:
    """Tell why there is nothing more to improve; None if there is."""
    if all(one.passed for one in best_verdicts(evaluation)):
        return "all_pass"
    return "no_more_rounds" if len(evaluation.rounds) >= MAX_IMPROVEMENT_ROUNDS else None
