from hypothesis import given
from hypothesis import strategies as st

from moot.types.evaluations import (
    MAX_IMPROVEMENT_ROUNDS,
    Evaluation,
    ImprovementRound,
    Verdict,
    add_round,
    best_round,
    best_verdicts,
    count_passes,
    improvement_outcome,
)


def make_evaluation(*passed: bool) -> Evaluation:
    return Evaluation(
        id="trial_1",
        message="msg_1",
        judge="scripted/judge",
        assertions=tuple("x" for _ in passed),
        verdicts=make_verdicts(*passed),
        rounds=(),
        applied_improvement=None,
        created_at=0.0,
        applied_at=None,
    )


def make_verdicts(*passed: bool) -> tuple[Verdict, ...]:
    return tuple(Verdict(one, "Because.") for one in passed)


def make_round(*passed: bool) -> ImprovementRound:
    return ImprovementRound(
        description="d", change="c", answer="a", verdicts=make_verdicts(*passed), cost_usd=0.0, created_at=0.0
    )


def pass_lists() -> st.SearchStrategy[list[tuple[bool, ...]]]:
    """Draw the verdicts of a first judgement and of some rounds, with equally many assertions."""
    return st.integers(1, 5).flatmap(
        lambda count: st.lists(st.tuples(*[st.booleans()] * count), min_size=1, max_size=20)
    )


@given(pass_lists())
def test_add_round_marks_round_better_only_when_it_passes_more_than_all_before(
    judged: list[tuple[bool, ...]],
) -> None:
    first, *more = judged
    now = make_evaluation(*first)
    most = sum(first)
    for one in more:
        now = add_round(now, make_round(*one))
        assert now.rounds[-1].is_better == (sum(one) > most)
        most = max(most, sum(one))
        assert count_passes(best_verdicts(now)) == most
    found = best_round(now.rounds)
    assert (found is None) == (most == sum(first))


@given(pass_lists())
def test_improvement_ends_when_all_pass_or_rounds_run_out(judged: list[tuple[bool, ...]]) -> None:
    first, *more = judged
    now = make_evaluation(*first)
    for one in more:
        if improvement_outcome(now) is not None:
            break
        now = add_round(now, make_round(*one))
    assert len(now.rounds) <= MAX_IMPROVEMENT_ROUNDS
    all_pass = any(all(one) for one in judged[: len(now.rounds) + 1])
    assert (improvement_outcome(now) == "all_pass") == all_pass
    assert (improvement_outcome(now) == "no_more_rounds") == (
        not all_pass and len(now.rounds) == MAX_IMPROVEMENT_ROUNDS
    )


def test_round_with_equal_passes_is_not_better() -> None:
    now = add_round(make_evaluation(True, False), make_round(False, True))
    assert best_round(now.rounds) is None
    assert best_verdicts(now) == make_verdicts(True, False)
