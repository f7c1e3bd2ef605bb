from moot.model.chunks import Usage
from moot.model.money import Charge


def test_a_price_that_nobody_knows_is_none_and_not_zero() -> None:
    assert Charge(purpose="answer", model="a/b", usage=Usage(), cost=None).cost is None
