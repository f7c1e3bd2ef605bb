from moot.modes.single import single
from tests.modes.fake_table import FakeTable, plan


async def test_first_participant_answers_with_view_of_everything() -> None:
    table = FakeTable(plan("single", 3))
    await single(table)
    assert table.log == ["answer/0/alpha sees everything"]


async def test_addressed_participant_answers() -> None:
    table = FakeTable(plan("single", 3, to=("gamma", "beta")))
    await single(table)
    assert table.log == ["answer/0/beta sees everything"]


async def test_failed_participant_is_not_replaced() -> None:
    table = FakeTable(plan("single", 3), {"alpha": ["failed"]})
    await single(table)
    assert table.log == ["answer/0/alpha sees everything: failed"]
