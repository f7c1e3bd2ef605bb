from msgspec.structs import replace

from moot.modes.advisors import advisors
from moot.types.modes import AdvisorOptions
from moot.types.run_plan import RunPlan
from tests.modes.fake_table import FakeTable, plan

CROSS_TALK_AND_SYNTHESIS = AdvisorOptions(cross_talk=True, synthesis=True)


def with_active(run_plan: RunPlan, *ids: str) -> RunPlan:
    participants = tuple(replace(who, active=who.id in ids) for who in run_plan.participants)
    return replace(run_plan, participants=participants)


async def test_advisors_answer_in_parallel_in_their_own_threads() -> None:
    table = FakeTable(plan("advisors", 2))
    await advisors(table)
    assert table.log == [
        "answer 0",
        "all at once:",
        "answer/0/alpha sees advisor_view",
        "answer/0/beta sees advisor_view",
    ]


async def test_advisors_cross_talk_once_and_first_synthesizes() -> None:
    table = FakeTable(plan("advisors", 3, advisors=CROSS_TALK_AND_SYNTHESIS))
    await advisors(table)
    assert table.log[4:] == [
        "answer/0/gamma sees advisor_view",
        "cross_talk 0",
        "all at once, with cross_talk_instructions:",
        "cross_talk/0/alpha sees advisor_view",
        "cross_talk/0/beta sees advisor_view",
        "cross_talk/0/gamma sees advisor_view",
        "synthesis 0",
        "one, as synthesis, with advisor_synthesis_instructions:",
        "synthesis/0/alpha sees advisor_view",
    ]


async def test_failed_advisor_is_excluded_from_later_stages() -> None:
    table = FakeTable(plan("advisors", 3, advisors=CROSS_TALK_AND_SYNTHESIS), {"alpha": ["failed"]})
    await advisors(table)
    assert [line for line in table.log if "alpha" in line] == ["answer/0/alpha sees advisor_view: failed"]
    assert "cross_talk/0/gamma sees advisor_view" in table.log
    assert table.log[-1] == "synthesis/0/beta sees advisor_view"


async def test_next_advisor_synthesizes_when_first_fails() -> None:
    table = FakeTable(plan("advisors", 2, advisors=AdvisorOptions(synthesis=True)), {"alpha": ["completed", "failed"]})
    await advisors(table)
    assert table.log[-2:] == ["synthesis/0/alpha sees advisor_view: failed", "synthesis/0/beta sees advisor_view"]


async def test_single_advisor_has_no_cross_talk_and_no_synthesis() -> None:
    for table in (
        FakeTable(plan("advisors", 1, advisors=CROSS_TALK_AND_SYNTHESIS)),
        FakeTable(plan("advisors", 2, advisors=CROSS_TALK_AND_SYNTHESIS), {"alpha": ["failed"]}),
    ):
        await advisors(table)
        assert not any(line.startswith(("cross_talk", "synthesis")) for line in table.log)


async def test_max_cost_skips_later_stages_but_never_answers() -> None:
    table = FakeTable(plan("advisors", 2, advisors=CROSS_TALK_AND_SYNTHESIS), unaffordable=["The cross-talk"])
    await advisors(table)
    assert "answer/0/beta sees advisor_view" in table.log
    assert not any(line.startswith("cross_talk") for line in table.log)
    assert "synthesis/0/alpha sees advisor_view" in table.log

    poorer = FakeTable(
        plan("advisors", 2, advisors=CROSS_TALK_AND_SYNTHESIS),
        unaffordable=["The cross-talk", "The synthesis"],
    )
    await advisors(poorer)
    assert poorer.log[-1] == "answer/0/beta sees advisor_view"


async def test_inactive_advisor_is_not_called() -> None:
    table = FakeTable(with_active(plan("advisors", 3), "beta", "gamma"))
    await advisors(table)
    assert [line for line in table.log if "sees" in line] == [
        "answer/0/beta sees advisor_view",
        "answer/0/gamma sees advisor_view",
    ]


async def test_first_participant_answers_plainly_when_no_advisor_is_active() -> None:
    table = FakeTable(with_active(plan("advisors", 3, advisors=CROSS_TALK_AND_SYNTHESIS)))
    await advisors(table)
    assert table.log == ["answer/0/alpha sees everything"]
