import msgspec

from moot.model.advisors import Advisors


def test_at_first_they_ask_three_times_and_nothing_follows_their_answers() -> None:
    rules = Advisors()
    assert (rules.early, rules.cross_talk, rules.synthesis) == (3, False, False)


def test_only_what_is_not_usual_is_written_down() -> None:
    assert msgspec.json.encode(Advisors()) == b"{}"
    assert msgspec.json.decode(b'{"early":0}', type=Advisors) == Advisors(early=0)
