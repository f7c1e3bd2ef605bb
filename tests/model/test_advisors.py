from moot.model.advisors import Advisors


def test_advisors_ask_first_unless_the_rules_say_otherwise() -> None:
    rules = Advisors()
    assert (rules.early, rules.cross_talk, rules.synthesis) == (3, False, False)
