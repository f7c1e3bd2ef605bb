"""The forecast of a run. Its dry run makes the same calls with the same input as a real run."""

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from moot.engine.cost import (
    ANALYSIS_ROW_TOKENS,
    ANSWER_TOKENS,
    MAX_ANSWER_TOKENS,
    VERDICT_TOKENS,
    Forecast,
    PlannedCall,
    forecast_cost,
    simulate_calls,
)
from moot.engine.turns.token_estimates import estimate_usage
from moot.prompts.builder import build_model_request
from moot.prompts.parts import Attachment
from moot.prompts.tokens import TOKENS_PER_FILE, estimate_tokens
from moot.providers.scripted.scripts import Script
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.model_info import ModelLimits
from moot.types.modes import MODES, AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import LessonRole, Participant, make_participants
from moot.types.primitives import new_id
from moot.types.requests import File, ModelRequest
from moot.types.run_plan import RunPlan
from tests.support.table_harness import QUESTION, TableHarness

QUESTION_TEXT = "Why are tables round, and not square?"
SINGLE_PLAN = RunPlan(mode="single", participants=make_participants(("a/one",)))


def one_dollar_per_token(_: str, usage: Usage) -> float | None:
    return float(usage.input + usage.output)


def make_plan(mode: str, *models: str, **more: object) -> RunPlan:
    return replace(RunPlan(mode=mode, participants=make_participants(models)), **more)


def forecast_plan(plan: RunPlan, text: str | None = QUESTION_TEXT, *earlier: Message) -> Forecast:
    return forecast_cost(plan, make_message(text) if text else None, earlier, one_dollar_per_token)


def make_message(text: str, **more: object) -> Message:
    return replace(Message(id=new_id("msg"), discussion="dis", role="user", content=text), **more)


def count_purposes(forecast_result: Forecast) -> Counter[str]:
    return Counter(purpose for line in forecast_result.lines for purpose in [line.purpose] * line.calls)


def test_forecast_counts_system_prompt_message_and_default_answer_length() -> None:
    found = forecast_plan(make_plan("parallel", "a/one", "b/two"))
    plan = make_plan("parallel", "a/one", "b/two")
    reads = estimate_tokens(build_model_request(plan, plan.participants[0], ()).system) + estimate_tokens(QUESTION_TEXT)
    alpha = found.lines[0]
    assert (alpha.participant, alpha.model, alpha.calls) == ("alpha", "a/one", 1)
    assert (alpha.input, alpha.output, alpha.cost_usd) == (reads, ANSWER_TOKENS, reads + ANSWER_TOKENS)
    assert reads > estimate_tokens(QUESTION_TEXT)


@pytest.mark.parametrize(
    ("plan", "calls"),
    [
        (SINGLE_PLAN, 1),
        (make_plan("single", "a/one", "b/two"), 1),
        (make_plan("parallel", "a/one", "b/two", "c/three"), 3),
        (make_plan("consensus", "a/one", "b/two", "c/three", rounds=4), 12),
        (make_plan("consensus", "a/one", rounds=4), 1),
        (make_plan("continue", "a/one", "b/two", turns=5), 5),
        (make_plan("parallel", "a/one", "b/two", "c/three", to=("beta",)), 1),
    ],
)
def test_forecast_counts_the_calls_of_every_mode(plan: RunPlan, calls: int) -> None:
    found = forecast_plan(plan)
    assert (found.calls, found.output) == (calls, calls * ANSWER_TOKENS)
    assert found.cost_usd == found.input + found.output


@pytest.mark.parametrize(
    ("plan", "more"),
    [
        (make_plan("consensus", "a/one", "b/two", rounds=1), 1),
        (make_plan("consensus", "a/one", "b/two", rounds=2), 1 + 2 + 3),
        (make_plan("continue", "a/one", "b/two", turns=3), 1 + 2),
    ],
)
def test_forecast_counts_earlier_answers_as_input_of_later_turns(plan: RunPlan, more: int) -> None:
    prompt_input = sum(
        (estimate_tokens(build_model_request(plan, who, ()).system) + estimate_tokens(QUESTION_TEXT)) * line.calls
        for who, line in zip(plan.participants, forecast_plan(plan).lines, strict=True)
    )
    answer_input = forecast_plan(plan).input - prompt_input
    assert answer_input // ANSWER_TOKENS == more, "names and instructions are short"


def test_forecast_input_grows_with_every_round() -> None:
    read = [forecast_plan(make_plan("consensus", "a/one", "b/two", rounds=rounds)).input for rounds in (1, 2, 3)]
    first, second, third = (new - old for old, new in zip([0, *read], read, strict=False))
    assert second - first >= 4 * ANSWER_TOKENS, "both read the two answers of the round before"
    assert third - second >= 4 * ANSWER_TOKENS


def test_forecast_input_of_debate_is_larger_than_of_consensus() -> None:
    plan = make_plan("debate", "a/one", "b/two", "c/three")
    assert forecast_plan(plan).input > forecast_plan(replace(plan, mode="consensus", rounds=2)).input


def test_forecast_counts_files_of_new_message_for_every_participant() -> None:
    plan = make_plan("parallel", "a/one", "b/two")
    asked = make_message(QUESTION_TEXT)
    files = (Attachment(File("a.png", "image/png", b"")),) * 2
    found = forecast_cost(plan, asked, (), one_dollar_per_token, {asked.id: files})
    assert found.input - forecast_plan(plan).input == 2 * 2 * TOKENS_PER_FILE
    assert found.cost_usd - forecast_plan(plan).cost_usd == 2 * 2 * TOKENS_PER_FILE


def test_forecast_of_continue_starts_with_the_next_participant() -> None:
    found = forecast_plan(make_plan("continue", "a/one", "b/two", turns=1, first_position=1), None)
    assert [line.participant for line in found.lines] == ["beta"]


def test_forecast_uses_max_tokens_as_answer_length() -> None:
    limited = Participant("alpha", "Alpha", "a/one", max_tokens=50)
    assert forecast_plan(RunPlan(mode="single", participants=(limited,))).output == 50


def test_forecast_counts_earlier_messages_only_for_participants_who_see_them() -> None:
    plan = make_plan("parallel", "a/one", "b/two")
    before = forecast_plan(plan)
    after = forecast_plan(
        plan,
        QUESTION_TEXT,
        make_message("x" * 400),
        make_message("y" * 4000, visible_to=("beta",)),
        make_message("z" * 4000, status="failed"),
        make_message("w" * 40),
    )
    more = [new.input - old.input for new, old in zip(after.lines, before.lines, strict=True)]
    assert more == [110, 1110]


@pytest.mark.parametrize(
    ("rules", "speakers", "made"),
    [
        (DebateOptions(), 3, {"answer": 6, "synthesis": 1, "summary": 1, "claims": 1, "ranking": 3}),
        (
            DebateOptions(skip_if_agreed=True),
            3,
            {"answer": 6, "agreement": 1, "synthesis": 1, "summary": 1, "claims": 1, "ranking": 3},
        ),
        (DebateOptions(ranking=False, claims=False), 3, {"answer": 6, "synthesis": 1, "summary": 1}),
        (DebateOptions(), 2, {"answer": 4, "synthesis": 1, "summary": 1, "claims": 1}),
        (DebateOptions(), 1, {"answer": 1, "synthesis": 1, "summary": 1, "claims": 1}),
    ],
)
def test_forecast_counts_debate_calls_by_debate_options(
    rules: DebateOptions, speakers: int, made: dict[str, int]
) -> None:
    found = forecast_plan(make_plan("debate", *["a/one"] * speakers, debate=rules))
    assert count_purposes(found) == made


def test_forecast_counts_lesson_turns_and_director_calls() -> None:
    rules = DirectedOptions(turns=4, first_speaker="alpha")
    found = forecast_plan(make_plan("directed", "a/one", "b/two", directed=rules, task_model="c/cheap"))
    assert count_purposes(found) == {"answer": 4, "director": 3}
    assert {line.model for line in found.lines if line.purpose == "director"} == {"c/cheap"}
    alone = forecast_plan(make_plan("directed", "a/one", directed=rules))
    assert count_purposes(alone) == {"answer": 1}


def test_forecast_of_debate_counts_all_answers_as_input_of_everyone() -> None:
    plan = make_plan("debate", "a/one", "b/two", "c/three")
    blind = forecast_plan(replace(plan, mode="parallel"))
    alpha = forecast_plan(plan).lines[0]
    assert alpha.calls == 2
    assert alpha.input >= 2 * blind.lines[0].input + 3 * ANSWER_TOKENS, "its own first answer, too"


def test_forecast_uses_lead_for_synthesis_and_task_model_for_analyses() -> None:
    found = forecast_plan(
        make_plan(
            "debate", "a/one", "b/two", debate=DebateOptions(lead="beta", skip_if_agreed=True), task_model="c/cheap"
        )
    )
    models = {line.purpose: line.model for line in found.lines if line.purpose != "answer"}
    assert models == {"agreement": "c/cheap", "synthesis": "b/two", "summary": "c/cheap", "claims": "c/cheap"}
    alone = forecast_plan(make_plan("debate", "a/one", "b/two", debate=DebateOptions(lead="beta")))
    assert next(line.model for line in alone.lines if line.purpose == "summary") == "b/two"


def test_forecast_excludes_and_names_models_with_unknown_price() -> None:
    def priced(model: str, _: Usage) -> float | None:
        return None if model == "b/two" else 0.5

    found = forecast_cost(make_plan("consensus", "a/one", "b/two", "b/two"), make_message(QUESTION_TEXT), (), priced)
    assert (found.cost_usd, found.unpriced_models) == (1.0, ("b/two",))
    assert [line.cost_usd for line in found.lines] == [1.0, None, None]


def test_forecast_prices_each_call_separately() -> None:
    """A price may depend on the length of the prompt."""

    def priced(_: str, usage: Usage) -> float | None:
        return 1.0 if usage.input >= ANSWER_TOKENS else 0.1

    found = forecast_cost(make_plan("continue", "a/one", turns=2), None, (), priced)
    assert found.lines[0].cost_usd == pytest.approx(1.1)


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
