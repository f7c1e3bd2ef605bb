from moot.model.directed import MOST_TURNS, Directed


def test_a_lesson_has_an_end() -> None:
    assert 1 <= Directed().turns <= MOST_TURNS
