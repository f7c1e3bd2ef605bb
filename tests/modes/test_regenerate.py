from moot.modes import PROGRAMS, program_for_plan
from moot.modes.regenerate import regenerate
from moot.types.run_plan import RegenerateTarget
from tests.modes.fake_table import FakeTable, plan

TARGET = RegenerateTarget(
    answer="msg_3",
    seq=3,
    run="run_0",
    participant="beta",
    stage="round",
    round=1,
    view="with_instructions",
    visible_until=2,
    instructions="Go on.",
)


async def test_regenerate_repeats_turn_with_original_view_and_instruction() -> None:
    table = FakeTable(plan("consensus", 3, regenerate=TARGET))
    await regenerate(table, TARGET)
    assert table.log == ["round/1/beta sees with_instructions"]
    assert table.instructions == {"Go on."}


async def test_program_for_plan_returns_program_or_regenerate() -> None:
    assert program_for_plan(plan("consensus")) is PROGRAMS["consensus"]
    table = FakeTable(plan("consensus", 3, regenerate=TARGET))
    await program_for_plan(table.plan)(table)
    assert len(table.log) == 1
