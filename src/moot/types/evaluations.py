"""Evaluations: assertions about an answer, a judge model's verdicts, and rounds of persona improvement."""

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
    """One attempt to improve a persona's text, with the new answer and its verdicts."""

    description: str  # rewritten text
    change: str  # summary of the rewrite
    answer: str
    verdicts: tuple[Verdict, ...]
    is_better: bool = False  # more assertions passed than in all earlier rounds; only then can a user apply it
    cost_usd: float | None  # US dollars; None: price unknown
    created_at: float


class AppliedImprovement(Struct, frozen=True, kw_only=True):
    """The persona change that applied the best round."""

    persona: str  # id of the changed or new persona
    field: PersonaTextField
    before: str
    after: str
    is_new_persona: bool  # the persona is new
    participant: str  # id of the participant that uses the persona
    previous_persona: str | None  # id of the participant's previous persona, if `is_new_persona`


class Improvement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Stored state of an improvement task."""

    rounds: tuple[ImprovementRound, ...] = ()
    worker: str | None = None  # id of the worker that runs the task
    applied_improvement: AppliedImprovement | None = None


class Evaluation(Struct, frozen=True, kw_only=True):
    """Assertions about one answer and their verdicts."""

    id: str
    message: str  # id of the answer
    judge: str  # model that returns the verdicts
    assertions: tuple[str, ...]
    verdicts: tuple[Verdict, ...]  # same order as `assertions`
    rounds: tuple[ImprovementRound, ...]
    applied_improvement: AppliedImprovement | None
    created_at: float
    applied_at: float | None


def count_passes(verdicts: Sequence[Verdict]) -> int:
    return sum(one.passed for one in verdicts)


def best_round(rounds: Sequence[ImprovementRound]) -> ImprovementRound | None:
    """Return the last round with `is_better` set; None if no round improved the answer."""
    return next((one for one in reversed(rounds) if one.is_better), None)


def best_verdicts(evaluation: Evaluation) -> Sequence[Verdict]:
    """Return the verdicts of the best round, or of the original answer."""
    best = best_round(evaluation.rounds)
    return best.verdicts if best else evaluation.verdicts


def add_round(evaluation: Evaluation, new_round: ImprovementRound) -> Evaluation:
    """Append a round. Sets `is_better` only if strictly more assertions pass than in the best verdicts."""
    better = count_passes(new_round.verdicts) > count_passes(best_verdicts(evaluation))
    return replace(evaluation, rounds=(*evaluation.rounds, replace(new_round, is_better=better)))


def improvement_outcome(evaluation: Evaluation) -> ImprovementOutcome | None:
    """Return why the task ends; None if another round is useful."""
    if all(one.passed for one in best_verdicts(evaluation)):
        return "all_pass"
    return "no_more_rounds" if len(evaluation.rounds) >= MAX_IMPROVEMENT_ROUNDS else None
