import pytest

from moot.modes.consensus import consensus
from tests.modes.fake import FakeRunStopped, FakeTable, plan


async def test_two_participants_and_two_rounds_are_four_turns() -> None:
    table = FakeTable(plan("consensus"))
    await consensus(table)
    assert table.log == [
        "round 0",
        "round/0/alpha sees everything",
        "round/0/beta sees everything",
        "round 1",
        "round/1/alpha sees everything",
        "round/1/beta sees everything",
    ]


async def test_one_who_fails_is_passed_over_and_asked_again_in_the_next_round() -> None:
    table = FakeTable(plan("consensus", 3), {"alpha": ["failed"], "beta": ["completed", "failed"]})
    await consensus(table)
    assert table.log == [
        "round 0",
        "round/0/alpha sees everything: failed",
        "round/0/beta sees everything",
        "round/0/gamma sees everything",
        "round 1",
        "round/1/alpha sees everything",
        "round/1/beta sees everything: failed",
        "round/1/gamma sees everything",
    ]


@pytest.mark.parametrize(("to", "rounds"), [(("alpha", "beta"), 3), (("beta",), 1)])
async def test_those_who_are_spoken_to_have_as_many_rounds_and_one_alone_a_single_one(
    to: tuple[str, ...], rounds: int
) -> None:
    table = FakeTable(plan("consensus", 3, rounds=3, to=to))
    await consensus(table)
    turns = [f"round/{round_}/{who} sees everything" for round_ in range(rounds) for who in to]
    assert [line for line in table.log if "sees" in line] == turns


async def test_a_stop_ends_it_wherever_it_is() -> None:
    table = FakeTable(plan("consensus"), stopped_after=2)
    with pytest.raises(FakeRunStopped):
        await consensus(table)
    assert table.log == ["round 0", "round/0/alpha sees everything", "round/0/beta sees everything"]
