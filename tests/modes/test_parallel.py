from moot.modes.parallel import parallel
from tests.modes.fake_table import FakeTable, plan


async def test_parallel_participants_answer_without_seeing_each_other() -> None:
    table = FakeTable(plan("parallel", 3), {"beta": ["failed"]})
    await parallel(table)
    assert table.log == [
        "all at once:",
        "answer/0/alpha sees blind",
        "answer/0/beta sees blind: failed",
        "answer/0/gamma sees blind",
    ]


async def test_only_addressed_participants_answer() -> None:
    table = FakeTable(plan("parallel", 3, to=("alpha", "gamma")))
    await parallel(table)
    assert table.log == ["all at once:", "answer/0/alpha sees blind", "answer/0/gamma sees blind"]
