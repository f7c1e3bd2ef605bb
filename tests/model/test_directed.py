import msgspec

from moot.model.directed import MOST_TURNS, TURNS, Directed


def test_a_lesson_has_ten_turns_unless_somebody_says_otherwise() -> None:
    assert (Directed().turns, TURNS, MOST_TURNS) == (10, 10, 20)


def test_only_what_differs_is_kept() -> None:
    assert msgspec.json.encode(Directed()) == b"{}"
    rules = Directed(turns=3, trigger="alpha", topic="Squares")
    assert msgspec.json.decode(msgspec.json.encode(rules), type=Directed) == rules
