"""The sample debate depends on the prompts: a change of one needs a change of the other."""

import re

import pytest

from moot import Moot
from moot.prompts.library import load_template
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS

DEBATERS = ("advocate", "sceptic", "undecided")
THIRD_PARTICIPANT_LABEL = "### p3:"
PROMPTS_BY_PHRASE = {
    "the first answers of the others": "rebuttal",
    "You now write for the whole table": "synthesis",
    "You summarise a debate": "summarise",
    "You judge answers": "ranking",
    "gain anything by debating": "agreement_check",
    "You list the claims": "claims",
}


@pytest.mark.parametrize("debater", DEBATERS)
def test_sample_debater_answers_every_prompt(debater: str) -> None:
    assert set(BUILT_IN_SCRIPTS[debater].answer_if_contains) == {*PROMPTS_BY_PHRASE, THIRD_PARTICIPANT_LABEL}


@pytest.mark.parametrize("words", PROMPTS_BY_PHRASE)
def test_sample_debate_phrase_identifies_exactly_one_template(words: str) -> None:
    found = [prompt for prompt in PROMPTS_BY_PHRASE.values() if words in load_template(prompt)]
    assert found == [PROMPTS_BY_PHRASE[words]]


def test_sample_debate_quotes_are_in_answers() -> None:
    scripts = [BUILT_IN_SCRIPTS[debater] for debater in DEBATERS]
    answers = " ".join(script.answer_for(prompt) for script in scripts for prompt in ("", load_template("rebuttal")))
    quotes = re.findall(r'"quote": "(.*?)"', scripts[0].answer_for(THIRD_PARTICIPANT_LABEL))
    assert len(quotes) == 5
    assert all(quote in answers for quote in quotes)


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
