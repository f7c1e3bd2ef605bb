from moot.modes.debate import debate
from moot.types.debate import DebateOptions
from moot.types.events import Agreed, BallotCast
from tests.modes.fake import FakeTable, plan


async def test_all_answer_alone_then_read_each_other_and_the_lead_sums_up_beside_the_minutes() -> None:
    ballots = [
        BallotCast(basis=who, participant=who, order=(others,))
        for who, others in (("alpha", ("beta", "gamma")), ("beta", ("alpha", "gamma")))
    ]
    table = FakeTable(plan("debate", 3, clerk="a/cheap"), results={"ranking": ballots})
    await debate(table)
    assert table.log == [
        "initial 0",
        "all at once, each in a lane that is then debate:",
        "initial/0/alpha sees own_thread",
        "initial/0/beta sees own_thread",
        "initial/0/gamma sees own_thread",
        "debate 0",
        "all at once, told to rebuttal_instructions, each in a lane that is then complete:",
        "debate/0/alpha sees own_thread",
        "debate/0/beta sees own_thread",
        "debate/0/gamma sees own_thread",
        "synthesis 0",
        "at the same time:",
        "one, as synthesis, told to synthesis_instructions:",
        "synthesis/0/alpha sees briefed",
        "alpha (a/cheap) looks for summary in vain",
        "alpha (a/cheap) looks for ledger in vain",
        "alpha (a/one) looks for ranking",
        "beta (a/one) looks for ranking",
        "gamma (a/one) looks for ranking in vain",
        "concluded: RankingMade",
    ]


async def test_where_nobody_keeps_minutes_there_is_only_the_synthesis() -> None:
    table = FakeTable(plan("debate", 3, minutes=False))
    await debate(table)
    assert "synthesis/0/alpha sees briefed" in table.log
    assert not any("looks for" in line for line in table.log)


async def test_whoever_failed_takes_no_part_in_what_follows() -> None:
    table = FakeTable(plan("debate", 3, debate=DebateOptions(ledger=False)), {"beta": ["failed"]})
    await debate(table)
    assert not [line for line in table.log if "beta" in line and not line.startswith("initial")]
    assert "debate/0/gamma sees own_thread" in table.log
    assert not any("ranking" in line or "ledger" in line for line in table.log)


async def test_a_lead_that_is_out_is_replaced_and_that_is_told() -> None:
    table = FakeTable(plan("debate", 3, debate=DebateOptions(lead="gamma")), {"gamma": ["failed"]})
    await debate(table)
    assert "lead_replaced: Gamma dropped out: Alpha sums up instead." in table.log
    assert "synthesis/0/alpha sees briefed" in table.log


async def test_the_chosen_lead_sums_up() -> None:
    table = FakeTable(plan("debate", 2, debate=DebateOptions(lead="beta")))
    await debate(table)
    assert "synthesis/0/beta sees briefed" in table.log
    assert "beta (a/one) looks for summary in vain" in table.log
    assert not any("ranking" in line for line in table.log)  # two cannot be ranked


async def test_where_nobody_answers_nothing_follows() -> None:
    table = FakeTable(plan("debate", 2), {"alpha": ["failed"], "beta": ["stopped"]})
    await debate(table)
    assert table.log[-1] == "initial/0/beta sees own_thread: stopped"


async def test_one_alone_debates_with_nobody_but_sums_up() -> None:
    table = FakeTable(plan("debate", 2), {"alpha": ["failed"]})
    await debate(table)
    assert "beta complete, missing: Only Beta answered: there is nothing to debate." in table.log
    assert "synthesis/0/beta sees briefed" in table.log
    assert not any(line.startswith("debate/") for line in table.log)


async def test_where_all_fail_to_refine_the_first_answers_are_summed_up() -> None:
    ends = {"alpha": ["completed", "failed"], "beta": ["completed", "failed"]}
    table = FakeTable(plan("debate", 2), ends)  # type: ignore[arg-type]
    await debate(table)
    assert "synthesis/0/alpha sees briefed" in table.log


async def test_the_gate_skips_the_debate_where_the_first_answers_agree_and_says_what_it_saved() -> None:
    agreed = Agreed(basis="x", agree=True, reason="Both say no.", saved=0.25)
    table = FakeTable(plan("debate", 2, debate=DebateOptions(gate=True)), results={"gate": [agreed]})
    await debate(table)
    words = "Both say no. The debate was skipped, which saved about $0.25."
    assert f"alpha, beta complete, agreed: {words}" in table.log
    assert not any(line.startswith("debate/") for line in table.log)
    assert "synthesis/0/alpha sees briefed" in table.log


async def test_the_gate_lets_them_debate_where_they_differ_or_nobody_can_tell() -> None:
    differ = Agreed(basis="x", agree=False, reason="One says yes.")
    for finds in ({"gate": [differ]}, {}):
        table = FakeTable(plan("debate", 2, debate=DebateOptions(gate=True)), results=finds)
        await debate(table)
        assert "debate/0/beta sees own_thread" in table.log


async def test_a_cap_takes_away_the_debate_before_the_answer() -> None:
    table = FakeTable(plan("debate", 3), unaffordable=["The debate", "The ranking", "The ledger"])
    await debate(table)
    assert not any(line.startswith("debate/") for line in table.log)
    assert "alpha, beta, gamma complete, cap: The first answers stand as they are." in table.log
    assert "synthesis/0/alpha sees briefed" in table.log
    assert not any("ranking" in line or "ledger" in line for line in table.log)
