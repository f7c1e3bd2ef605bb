from moot.modes.single import single
from tests.modes.fake import FakeTable, plan


async def test_the_first_one_answers_and_has_heard_everything() -> None:
    table = FakeTable(plan("single", 3))
    await single(table)
    assert table.log == ["answer/0/alpha sees everything"]


async def test_whoever_is_spoken_to_answers() -> None:
    table = FakeTable(plan("single", 3, to=("gamma", "beta")))
    await single(table)
    assert table.log == ["answer/0/beta sees everything"]


async def test_nobody_jumps_in_for_one_who_fails() -> None:
    table = FakeTable(plan("single", 3), {"alpha": ["failed"]})
    await single(table)
    assert table.log == ["answer/0/alpha sees everything: failed"]
