import pytest

from moot.modes.auto_continue import auto_continue
from moot.prompts.library import load_template
from tests.modes.fake_table import FakeRunStopped, FakeTable, plan


async def test_auto_continue_starts_at_first_and_cycles_through_participants() -> None:
    table = FakeTable(plan("continue", 3, turns=4, first_position=1))
    await auto_continue(table)
    assert table.log == [
        "continue/0/beta sees everything",
        "continue/1/gamma sees everything",
        "continue/2/alpha sees everything",
        "continue/3/beta sees everything",
    ]
    assert table.instructions == {load_template("go_on_together")}


@pytest.mark.parametrize(("first", "speaker"), [(0, "alpha"), (2, "gamma"), (3, "alpha"), (7, "beta")])
async def test_auto_continue_wraps_first_index_around(first: int, speaker: str) -> None:
    table = FakeTable(plan("continue", 3, turns=1, first_position=first))
    await auto_continue(table)
    assert table.log == [f"continue/0/{speaker} sees everything"]


async def test_auto_continue_with_one_participant_uses_solo_instruction() -> None:
    table = FakeTable(plan("continue", 1, turns=2))
    await auto_continue(table)
    assert table.log == ["continue/0/alpha sees everything", "continue/1/alpha sees everything"]
    assert table.instructions == {load_template("go_on_alone")}


async def test_auto_continue_skips_to_next_participant_after_failure() -> None:
    table = FakeTable(plan("continue", 2, turns=3), {"alpha": ["failed", "failed"]})
    await auto_continue(table)
    assert table.log == [
        "continue/0/alpha sees everything: failed",
        "continue/1/beta sees everything",
        "continue/2/alpha sees everything: failed",
    ]


async def test_auto_continue_ends_when_no_participant_can_speak() -> None:
    table = FakeTable(plan("continue", 2, turns=20), {"alpha": ["completed", "stopped"], "beta": ["failed", "stopped"]})
    await auto_continue(table)
    assert [line.partition(" ")[0] for line in table.log] == [
        "continue/0/alpha",
        "continue/1/beta",
        "continue/2/alpha",
    ]


async def test_auto_continue_ends_at_once_when_stopped() -> None:
    table = FakeTable(plan("continue", 2, turns=20), stopped_after=3)
    with pytest.raises(FakeRunStopped):
        await auto_continue(table)
    assert len(table.log) == 3
