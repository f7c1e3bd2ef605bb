import pytest

from moot.modes.consensus import consensus
from tests.modes.fake_table import FakeRunStopped, FakeTable, plan


async def test_two_participants_in_two_rounds_take_four_turns() -> None:
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


async def test_failed_participant_is_skipped_and_called_again_in_next_round() -> None:
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
async def test_addressed_participants_take_all_rounds_and_a_single_one_takes_one(
    to: tuple[str, ...], rounds: int
) -> None:
    table = FakeTable(plan("consensus", 3, rounds=3, to=to))
    await consensus(table)
    turns = [f"round/{round_}/{who} sees everything" for round_ in range(rounds) for who in to]
    assert [line for line in table.log if "sees" in line] == turns


async def test_consensus_ends_at_once_when_stopped() -> None:
    table = FakeTable(plan("consensus"), stopped_after=2)
    with pytest.raises(FakeRunStopped):
        await consensus(table)
    assert table.log == ["round 0", "round/0/alpha sees everything", "round/0/beta sees everything"]
