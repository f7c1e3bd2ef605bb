"""The sample debate goes with the prompts: whoever changes one changes the other."""

import json
import re

import pytest

from moot import Moot
from moot.prompts.templates import written
from moot.providers.scripted import sample_debate
from moot.providers.scripted.scripts import BUILT_IN


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (sample_debate.SECOND, "read_the_others"),
        (sample_debate.SYNTHESIS, "sum_up"),
        (sample_debate.MINUTES, "summarise"),
        (sample_debate.LEDGER, "keep_the_ledger"),
        (sample_debate.JUDGE, "judge_the_answers"),
        (sample_debate.GATE, "do_they_agree"),
    ],
)
def test_each_prompt_is_known_by_its_words(words: str, prompt: str) -> None:
    assert words in written(prompt)
    for other in (
        "read_the_others",
        "sum_up",
        "summarise",
        "keep_the_ledger",
        "judge_the_answers",
        "do_they_agree",
    ):
        assert other == prompt or words not in written(other)


def test_every_quote_is_in_an_answer() -> None:
    said = " ".join(text for both in sample_debate.POSITIONS.values() for text in both)
    quotes = re.findall(r'"quote": "(.*?)"', json.dumps(sample_debate.CLAIMS))
    assert len(quotes) == 5
    assert all(quote in said for quote in quotes)


def test_they_are_among_the_scripts_that_come_with_moot() -> None:
    assert set(sample_debate.POSITIONS) < set(BUILT_IN)
    assert BUILT_IN["sceptic"].reply("Well?") == sample_debate.POSITIONS["sceptic"][0]
    assert BUILT_IN["sceptic"].reply(written("sum_up")) == sample_debate.SYNTHESIS_SAID


@pytest.mark.parametrize("debaters", [["advocate", "sceptic"], ["advocate", "sceptic", "undecided"]])
async def test_two_of_them_have_all_minutes_as_three_have(debaters: list[str]) -> None:
    async with Moot() as table:
        result = await table.debate("Split it?", [f"scripted/{one}" for one in debaters])
    assert result.notices == ()
    assert result.summary is not None
    assert result.ledger is not None
    assert len(result.ledger.claims) == 2
    assert len(result.ledger.flips) == len(debaters) - 2
