from moot.modes.debate import debate
from moot.types.events import AgreementChecked, VoteCast
from moot.types.modes import DebateOptions
from tests.modes.fake_table import FakeTable, plan


async def test_debate_runs_answers_rebuttals_then_synthesis_beside_analyses() -> None:
    votes = [
        VoteCast(cache_key=who, participant=who, ranking=(others,))
        for who, others in (("alpha", ("beta", "gamma")), ("beta", ("alpha", "gamma")))
    ]
    table = FakeTable(plan("debate", 3, task_model="a/cheap"), results={"ranking": votes})
    await debate(table)
    assert table.log == [
        "initial 0",
        "all at once, each in a lane that is then debate:",
        "initial/0/alpha sees own_thread",
        "initial/0/beta sees own_thread",
        "initial/0/gamma sees own_thread",
        "debate 0",
        "all at once, with rebuttal_instructions, each in a lane that is then complete:",
        "debate/0/alpha sees own_thread",
        "debate/0/beta sees own_thread",
        "debate/0/gamma sees own_thread",
        "synthesis 0",
        "at the same time:",
        "one, as synthesis, with synthesis_instructions:",
        "synthesis/0/alpha sees with_instructions",
        "alpha (a/cheap) looks for summary in vain",
        "alpha (a/cheap) looks for claims in vain",
        "alpha (a/one) looks for ranking",
        "beta (a/one) looks for ranking",
        "gamma (a/one) looks for ranking in vain",
        "concluded: RankingMade",
    ]


async def test_debate_without_analyses_has_only_synthesis() -> None:
    table = FakeTable(plan("debate", 3, debate_report=False))
    await debate(table)
    assert "synthesis/0/alpha sees with_instructions" in table.log
    assert not any("looks for" in line for line in table.log)


async def test_failed_participant_is_excluded_from_later_stages() -> None:
    table = FakeTable(plan("debate", 3, debate=DebateOptions(claims=False)), {"beta": ["failed"]})
    await debate(table)
    assert not [line for line in table.log if "beta" in line and not line.startswith("initial")]
    assert "debate/0/gamma sees own_thread" in table.log
    assert not any("ranking" in line or "for claims" in line for line in table.log)


async def test_missing_lead_is_replaced_with_notice() -> None:
    table = FakeTable(plan("debate", 3, debate=DebateOptions(lead="gamma")), {"gamma": ["failed"]})
    await debate(table)
    assert "lead_replaced: Gamma did not answer. Alpha writes the synthesis instead." in table.log
    assert "synthesis/0/alpha sees with_instructions" in table.log


async def test_chosen_lead_synthesizes() -> None:
    table = FakeTable(plan("debate", 2, debate=DebateOptions(lead="beta")))
    await debate(table)
    assert "synthesis/0/beta sees with_instructions" in table.log
    assert "beta (a/one) looks for summary in vain" in table.log
    assert not any("ranking" in line for line in table.log)  # a ranking needs three answers


async def test_debate_ends_when_no_participant_answers() -> None:
    table = FakeTable(plan("debate", 2), {"alpha": ["failed"], "beta": ["stopped"]})
    await debate(table)
    assert table.log[-1] == "initial/0/beta sees own_thread: stopped"


async def test_single_answer_skips_rebuttal_but_is_synthesized() -> None:
    table = FakeTable(plan("debate", 2), {"alpha": ["failed"]})
    await debate(table)
    assert "beta complete, missing: Only Beta answered: there is nothing to debate." in table.log
    assert "synthesis/0/beta sees with_instructions" in table.log
    assert not any(line.startswith("debate/") for line in table.log)


async def test_first_answers_are_synthesized_when_all_rebuttals_fail() -> None:
    ends = {"alpha": ["completed", "failed"], "beta": ["completed", "failed"]}
    table = FakeTable(plan("debate", 2), ends)  # type: ignore[arg-type]
    await debate(table)
    assert "synthesis/0/alpha sees with_instructions" in table.log


async def test_skip_if_agreed_skips_rebuttals_when_answers_agree_and_reports_savings() -> None:
    agreed = AgreementChecked(cache_key="x", agree=True, reason="Both say no.", saved_usd=0.25)
    table = FakeTable(plan("debate", 2, debate=DebateOptions(skip_if_agreed=True)), results={"agreement": [agreed]})
    await debate(table)
    words = "Both say no. The debate was skipped, which saved about $0.25."
    assert f"alpha, beta complete, agreed: {words}" in table.log
    assert not any(line.startswith("debate/") for line in table.log)
    assert "synthesis/0/alpha sees with_instructions" in table.log


async def test_skip_if_agreed_runs_rebuttals_when_answers_differ_or_check_fails() -> None:
    differ = AgreementChecked(cache_key="x", agree=False, reason="One says yes.")
    for finds in ({"agreement": [differ]}, {}):
        table = FakeTable(plan("debate", 2, debate=DebateOptions(skip_if_agreed=True)), results=finds)
        await debate(table)
        assert "debate/0/beta sees own_thread" in table.log


async def test_max_cost_skips_rebuttals_before_synthesis() -> None:
    table = FakeTable(plan("debate", 3), unaffordable=["The debate", "The ranking", "The list of claims"])
    await debate(table)
    assert not any(line.startswith("debate/") for line in table.log)
    assert "alpha, beta, gamma complete, max_cost: The first answers stand as they are." in table.log
    assert "synthesis/0/alpha sees with_instructions" in table.log
    assert not any("ranking" in line or "for claims" in line for line in table.log)
