"""The sample debate depends on the prompts: a change of one needs a change of the other."""

import json
import re

import pytest

from moot import Moot
from moot.prompts.library import load_template
from moot.providers.scripted import sample_debate
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (sample_debate.REBUTTAL_PROMPT, "rebuttal"),
        (sample_debate.SYNTHESIS_PROMPT, "synthesis"),
        (sample_debate.SUMMARY_PROMPT, "summarise"),
        (sample_debate.CLAIMS_PROMPT, "claims"),
        (sample_debate.RANKING_PROMPT, "ranking"),
        (sample_debate.AGREEMENT_PROMPT, "agreement_check"),
    ],
)
def test_sample_debate_phrase_identifies_exactly_one_template(words: str, prompt: str) -> None:
    assert words in load_template(prompt)
    for other in (
        "rebuttal",
        "synthesis",
        "summarise",
        "claims",
        "ranking",
        "agreement_check",
    ):
        assert other == prompt or words not in load_template(other)


def test_sample_debate_quotes_are_in_answers() -> None:
    answers = " ".join(text for both in sample_debate.DEBATER_ANSWERS.values() for text in both)
    quotes = re.findall(r'"quote": "(.*?)"', json.dumps(sample_debate.THREE_PARTICIPANT_CLAIMS))
    assert len(quotes) == 5
    assert all(quote in answers for quote in quotes)


def test_sample_debaters_are_built_in_scripts() -> None:
    assert set(sample_debate.DEBATER_ANSWERS) < set(BUILT_IN_SCRIPTS)
    assert BUILT_IN_SCRIPTS["sceptic"].answer_for("Well?") == sample_debate.DEBATER_ANSWERS["sceptic"][0]
    assert BUILT_IN_SCRIPTS["sceptic"].answer_for(load_template("synthesis")) == sample_debate.SYNTHESIS_ANSWER


@pytest.mark.parametrize("debaters", [["advocate", "sceptic"], ["advocate", "sceptic", "undecided"]])
async def test_sample_debate_has_summary_and_claims_for_two_and_three_participants(
    debaters: list[str],
) -> None:
    async with Moot() as moot:
        result = await moot.debate("Split it?", [f"scripted/{one}" for one in debaters])
    assert result.notices == ()
    assert result.summary is not None
    assert result.claims is not None
    assert len(result.claims.claims) == 2
    assert len(result.claims.position_changes) == len(debaters) - 2
