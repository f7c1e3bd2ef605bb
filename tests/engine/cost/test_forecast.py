"""The forecast of a run: its calls, their input, and unknown prices."""

from collections import Counter

import pytest
from msgspec.structs import replace

from moot.engine.cost.dry_run import ANSWER_TOKENS
from moot.engine.cost.forecast import Forecast, forecast_cost
from moot.prompts.builder import build_system_prompt
from moot.prompts.parts import Attachment
from moot.prompts.tokens import TOKENS_PER_FILE, estimate_tokens
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.modes import DebateOptions, DirectedOptions
from moot.types.participants import Participant, make_participants
from moot.types.primitives import new_id
from moot.types.requests import File
from moot.types.run_plan import RunPlan

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
    reads = estimate_tokens(build_system_prompt(plan, plan.participants[0])) + estimate_tokens(QUESTION_TEXT)
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
        (estimate_tokens(build_system_prompt(plan, who)) + estimate_tokens(QUESTION_TEXT)) * line.calls
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
