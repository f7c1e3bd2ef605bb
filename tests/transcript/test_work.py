import pytest

from moot.transcript.work import Work


def test_it_is_over_when_it_has_taken_long_enough() -> None:
    times = iter([0.0, 2.0, 10.0, 11.0])
    work = Work(3.0, lambda: next(times))
    with work.going_on():
        pass
    assert not work.is_over
    with work.going_on():
        pass
    assert work.is_over


def test_work_that_fails_counts_too() -> None:
    times = iter([0.0, 5.0])
    work = Work(3.0, lambda: next(times))
    with pytest.raises(ValueError, match="No"), work.going_on():
        raise ValueError("No")
    assert work.is_over
