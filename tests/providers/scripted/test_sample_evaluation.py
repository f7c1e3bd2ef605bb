"""The sample trial goes with the prompts and forms: whoever changes one changes the other."""

import msgspec
import pytest

from moot.prompts.references import Points
from moot.prompts.tasks.evaluation import Judgement, Rewritten, judging, one_each
from moot.prompts.tasks.persona_suggestions import Choice, Questions
from moot.prompts.templates import written
from moot.providers.scripted import sample_evaluation
from moot.providers.scripted.scripts import BUILT_IN, question
from moot.types.personas import PROPOSALS

PROMPTS = {
    "improve_description": (sample_evaluation.REWRITE, Rewritten),
    "recap": (sample_evaluation.RECAP, Points),
    "ask_about_situation": (sample_evaluation.ASK, Questions),
    "judge_by_assertions": (sample_evaluation.JUDGE, Judgement),
    "propose_perspectives": (sample_evaluation.PROPOSE, list[dict[str, str]]),
}
CLERK, SCHOLAR = BUILT_IN["clerk"], BUILT_IN["scholar"]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_each_prompt_is_known_by_its_words_and_answered_in_its_form(prompt: str) -> None:
    words, form = PROMPTS[prompt]
    assert words in written(prompt)
    assert not any(words in written(other) for other in PROMPTS if other != prompt)
    msgspec.json.decode(CLERK.reply(written(prompt)), type=form)


def test_the_verdict_depends_on_the_answer() -> None:
    for answer, passed in (
        (sample_evaluation.PLAIN, [True, False]),
        (sample_evaluation.SOURCED, [True, True]),
    ):
        request = judging("Why?", answer, ["A reason.", "A source."], 10_000)
        told = msgspec.json.decode(CLERK.reply(f"{request.system}\n{question(request)}"), type=Judgement)
        assert one_each(2)(told) is None
        assert [one.passed for one in told.verdicts] == passed


def test_the_scholar_does_as_it_is_described() -> None:
    assert SCHOLAR.reply("Why?") == sample_evaluation.PLAIN
    assert (
        SCHOLAR.reply(f"You take the part of Alpha.\n\n{sample_evaluation.DESCRIPTION}")
        == sample_evaluation.SOURCED
    )


def test_all_eight_voices_can_be_used() -> None:
    choice = Choice([])
    for voice in sample_evaluation.VOICES:
        choice.take(dict(voice))
    assert (len(choice.chosen), choice.dropped) == (PROPOSALS, [])
