"""A dry run makes the same calls with the same input as a real run."""

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from moot.engine.cost.dry_run import (
    ANALYSIS_ROW_TOKENS,
    ANSWER_TOKENS,
    MAX_ANSWER_TOKENS,
    VERDICT_TOKENS,
    PlannedCall,
    simulate_calls,
)
from moot.engine.turns.token_estimates import estimate_usage
from moot.prompts.parts import Attachment
from moot.prompts.tokens import TOKENS_PER_FILE
from moot.providers.scripted.scripts import Script
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.model_info import ModelLimits
from moot.types.modes import MODES, AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import LessonRole, make_participants
from moot.types.requests import File, ModelRequest
from moot.types.run_plan import RunPlan
from tests.support.table_harness import QUESTION, TableHarness

ATTACHED_FILE = Attachment(File("a.png", "image/png", b""))
EARLIER_MESSAGES = (
    Message(id="msg_a", discussion="dis_1", run="run_0", role="user", content="What is a moot?"),
    Message(
        id="msg_b",
        discussion="dis_1",
        run="run_0",
        role="assistant",
        content="A meeting.",
        participant="beta",
        name="Beta",
    ),
)
DEFAULT_SCRIPT = Script(answer="x" * ANSWER_TOKENS * 4, chunk_chars=ANSWER_TOKENS * 4)  # four characters per token


@st.composite
def random_plans(draw: st.DrawFn) -> RunPlan:
    roles = st.sampled_from([*get_args(LessonRole), None])
    table = tuple(
        replace(who, role=draw(roles)) for who in make_participants(("default_model",) * draw(st.integers(1, 5)))
    )
    names = [who.id for who in table]
    some = st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)
    return RunPlan(
        mode=draw(st.sampled_from(sorted(MODES))),
        participants=table,
        project=draw(st.sampled_from(["", "A garden."])),
        language=draw(st.sampled_from([None, "de"])),
        rounds=draw(st.integers(1, 3)),
        turns=draw(st.integers(1, 6)),
        first_position=draw(st.integers(0, len(table) - 1)),
        to=draw(st.none() | some),
        debate=DebateOptions(
            lead=draw(st.none() | st.sampled_from(names)),
            skip_if_agreed=draw(st.booleans()),
            ranking=draw(st.booleans()),
            claims=draw(st.booleans()),
        ),
        advisors=AdvisorOptions(cross_talk=draw(st.booleans()), synthesis=draw(st.booleans())),
        directed=DirectedOptions(
            turns=draw(st.integers(1, 6)),
            first_speaker=draw(st.none() | st.sampled_from(names)),
            topic=draw(st.sampled_from(["", "Squares"])),
        ),
        task_model=draw(st.sampled_from([None, "default_model"])),
    )


def count_inputs(requests: Sequence[ModelRequest]) -> Counter[int]:
    """Count the input of each call. A repeated structured call is left out, because a dry run does not predict it."""
    return Counter(
        estimate_usage(one, 0).input for one in requests if one.json_schema is None or len(one.messages) == 1
    )


@given(plan=random_plans(), earlier=st.sampled_from([(), EARLIER_MESSAGES]))
@example(
    plan=RunPlan(
        mode="debate", participants=make_participants(("default_model",) * 4), debate=DebateOptions(skip_if_agreed=True)
    ),
    earlier=(),
)
async def test_dry_run_simulates_the_same_calls_as_a_run_in_which_all_answer(
    plan: RunPlan, earlier: tuple[Message, ...]
) -> None:
    harness = create_table(plan, earlier)
    await harness.table.run_mode()
    calls = simulate_calls(plan, QUESTION, earlier)
    assert count_turns(calls) == count_turns(harness.transcript.charges)
    assert Counter(call.purpose for call in calls) == Counter(one.purpose for one in harness.transcript.charges)
    assert Counter(call.input for call in calls) == count_inputs(harness.provider.requests)


def create_table(plan: RunPlan, earlier: tuple[Message, ...]) -> TableHarness:
    """Create a real table for a plan. All participants answer at the assumed length."""
    more = asdict(plan)
    mode, table = more.pop("mode"), more.pop("participants")
    messages = [*earlier, QUESTION]
    return TableHarness(mode, messages=messages, scripts={"default_model": DEFAULT_SCRIPT}, participants=table, **more)


def count_turns(calls: Sequence[PlannedCall] | Sequence[Charge]) -> Counter[tuple[str, str | None]]:
    turn_purposes = {"answer", "synthesis"}
    return Counter((one.purpose, one.participant) for one in calls if one.purpose in turn_purposes)


def debate_plan(participant_count: int = 3, **options: object) -> RunPlan:
    return RunPlan(
        mode="debate",
        participants=make_participants(("a/one",) * participant_count),
        debate=DebateOptions(**options),  # type: ignore[arg-type]
    )


def test_simulate_calls_estimates_report_rows_per_participant_and_short_verdicts() -> None:
    outputs = {call.purpose: call.output for call in simulate_calls(debate_plan(5, skip_if_agreed=True), QUESTION, ())}
    assert outputs == {
        "answer": ANSWER_TOKENS,
        "agreement": VERDICT_TOKENS,
        "synthesis": ANSWER_TOKENS,
        "summary": 5 * ANALYSIS_ROW_TOKENS,
        "claims": 5 * ANALYSIS_ROW_TOKENS,
        "ranking": VERDICT_TOKENS,
    }


def test_simulate_calls_attributes_votes_to_voters_and_analyses_to_no_participant() -> None:
    calls = simulate_calls(debate_plan(skip_if_agreed=True), QUESTION, ())
    whose = [(call.purpose, call.participant) for call in calls if call.purpose not in {"answer", "synthesis"}]
    assert whose == [
        ("agreement", None),
        ("summary", None),
        ("claims", None),
        ("ranking", "alpha"),
        ("ranking", "beta"),
        ("ranking", "gamma"),
    ]


def test_simulate_calls_ignores_simultaneous_answers_in_parallel_prompts() -> None:
    plan = RunPlan(mode="parallel", participants=make_participants(("a/one", "a/one")), knows_others=False)
    alpha, beta = simulate_calls(plan, QUESTION, ())
    assert alpha.input == beta.input


def test_simulate_calls_counts_files_only_for_participants_who_see_the_message() -> None:
    plan = RunPlan(mode="parallel", participants=make_participants(("a/one", "b/two")))
    private = replace(EARLIER_MESSAGES[0], visible_to=("beta",))
    plain = simulate_calls(plan, QUESTION, [private])
    full = simulate_calls(
        plan, QUESTION, [private], {private.id: (ATTACHED_FILE, ATTACHED_FILE), QUESTION.id: (ATTACHED_FILE,)}
    )
    more = [new.input - old.input for new, old in zip(full, plain, strict=True)]
    assert more == [TOKENS_PER_FILE, 3 * TOKENS_PER_FILE]


def test_simulate_calls_counts_files_in_every_turn_but_not_in_analyses() -> None:
    plain, full = (
        simulate_calls(debate_plan(), QUESTION, (), attached) for attached in ({}, {QUESTION.id: (ATTACHED_FILE,)})
    )
    more = Counter(new.input - old.input for new, old in zip(full, plain, strict=True))
    assert more == {TOKENS_PER_FILE: 7, 0: 5}, "six answers and a synthesis; minutes and ballots are of the answers"


@pytest.mark.parametrize(
    ("limit", "is_read"), [(50, 50), (MAX_ANSWER_TOKENS, MAX_ANSWER_TOKENS), (1_000_000, MAX_ANSWER_TOKENS)]
)
def test_simulate_calls_limits_how_much_of_an_answer_others_read(limit: int, is_read: int) -> None:
    table = make_participants(("a/one", "b/two"))
    plan = RunPlan(mode="consensus", rounds=1, participants=(replace(table[0], max_tokens=limit), table[1]))
    first, second = simulate_calls(plan, QUESTION, ())
    assert first.output == limit
    assert is_read < second.input < is_read + 200


def test_simulate_calls_uses_characters_per_token_of_the_model() -> None:
    plan = RunPlan(mode="consensus", participants=make_participants(("a/one", "b/two")), rounds=1)
    dense = replace(plan, model_limits={"a/one": ModelLimits(characters_per_token=1.0)})
    usual, other = simulate_calls(plan, QUESTION, ()), simulate_calls(dense, QUESTION, ())
    assert other[0].input > 3 * usual[0].input
    assert other[1].input < usual[1].input, "the answer that is read has fewer characters in as many tokens"


def test_simulate_calls_keeps_advisor_prompts_within_their_budget() -> None:
    long = tuple(replace(one, content=one.content * 5000) for one in EARLIER_MESSAGES)
    plan = RunPlan(
        mode="advisors",
        participants=make_participants(("a/one", "b/two")),
        advisors=AdvisorOptions(max_prompt_tokens=2000),
    )
    assert all(call.input <= 2000 for call in simulate_calls(plan, QUESTION, long))
    wide = replace(plan, advisors=AdvisorOptions())
    assert all(call.input > 10_000 for call in simulate_calls(wide, QUESTION, long))


def test_simulate_calls_counts_only_active_advisors() -> None:
    participants = tuple(replace(who, active=who.id == "beta") for who in make_participants(("a/one",) * 3))
    plan = RunPlan(mode="advisors", participants=participants, advisors=AdvisorOptions(cross_talk=True, synthesis=True))
    assert [call.participant for call in simulate_calls(plan, QUESTION, ())] == ["beta"]
