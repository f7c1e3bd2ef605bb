from moot.modes.parallel import parallel
from tests.modes.fake import FakeTable, plan


async def test_all_answer_at_once_and_do_not_see_each_other() -> None:
    table = FakeTable(plan("parallel", 3), {"beta": ["failed"]})
    await parallel(table)
    assert table.log == [
        "all at once:",
        "answer/0/alpha sees blind",
        "answer/0/beta sees blind: failed",
        "answer/0/gamma sees blind",
    ]


async def test_only_those_who_are_spoken_to_answer() -> None:
    table = FakeTable(plan("parallel", 3, to=("alpha", "gamma")))
    await parallel(table)
    assert table.log == ["all at once:", "answer/0/alpha sees blind", "answer/0/gamma sees blind"]
