"""The sample evaluation depends on the prompts and schemas: a change of one needs a change of the other."""

import msgspec
import pytest

from moot.prompts.library import load_template
from moot.prompts.references import SummaryPoints
from moot.prompts.tasks.evaluation import Judgement, RewriteAnswer, judge_request, require_one_verdict_each
from moot.prompts.tasks.persona_suggestions import ProposalFilter, Questions
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, last_user_text
from moot.types.personas import MAX_PROPOSALS

PHRASES_AND_ANSWER_TYPES = {
    "improve_description": ("A language model answers in a part", RewriteAnswer),
    "reference_summary": ("tell them what this discussion came to", SummaryPoints),
    "ask_about_situation": ("Before voices are proposed", Questions),
    "judge_by_assertions": ("You judge one answer by assertions", Judgement),
    "persona_suggestions": ("Propose eight voices", list[dict[str, str]]),
}
PLAIN_ANSWER = "Because nobody sits at its head."
SOURCED_ANSWER = "Because nobody sits at its head, says Vitruvius."
TASK_SCRIPT, SCHOLAR_SCRIPT = BUILT_IN_SCRIPTS["task-model"], BUILT_IN_SCRIPTS["scholar"]


@pytest.mark.parametrize("prompt", PHRASES_AND_ANSWER_TYPES)
def test_sample_evaluation_phrase_identifies_template_and_answer_decodes(prompt: str) -> None:
    words, form = PHRASES_AND_ANSWER_TYPES[prompt]
    assert words in load_template(prompt)
    assert not any(words in load_template(other) for other in PHRASES_AND_ANSWER_TYPES if other != prompt)
    msgspec.json.decode(TASK_SCRIPT.answer_for(load_template(prompt)), type=form)


def test_sample_verdict_depends_on_answer() -> None:
    for answer, passed in (
        (PLAIN_ANSWER, [True, False]),
        (SOURCED_ANSWER, [True, True]),
    ):
        request = judge_request("Why?", answer, ["A reason.", "A source."], 10_000)
        judgement = msgspec.json.decode(
            TASK_SCRIPT.answer_for(f"{request.system}\n{last_user_text(request)}"), type=Judgement
        )
        assert require_one_verdict_each(2)(judgement) is None
        assert [one.passed for one in judgement.verdicts] == passed


def test_scholar_script_cites_source_only_when_description_asks() -> None:
    assert SCHOLAR_SCRIPT.answer_for("Why?") == PLAIN_ANSWER
    assert SCHOLAR_SCRIPT.answer_for("You take the part of Alpha.\n\nYou name your source.") == SOURCED_ANSWER


def test_sample_persona_suggestions_are_all_accepted() -> None:
    choice = ProposalFilter([])
    for persona in msgspec.json.decode(TASK_SCRIPT.answer_for(load_template("persona_suggestions"))):
        choice.add_proposal(persona)
    assert (len(choice.accepted), choice.rejected) == (MAX_PROPOSALS, [])
