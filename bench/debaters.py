"""Tables of debaters who follow scripts at paces of their own, and how long their debate must take at the least."""

import asyncio
import json
import time
from collections.abc import Sequence
from math import ceil
from string import ascii_uppercase

from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import SAMPLE_ANSWER, Script, Scripts
from moot.types.requests import ModelRequest, user_message

DEBATE_MARKER = "These are the first answers of the others"
SYNTHESIS_MARKER = "You now write for the whole table"
SUMMARY_MARKER = "You summarise a debate"
CLAIMS_MARKER = "You list the claims"
VOTE_MARKER = "You judge answers"
QUESTION = "What shall we do?"

QUOTE = "A table has no head when it is round."
CHUNK = 16  # characters
CLAIMS = 3

Call = tuple[str, str]  # the script, and the prompt


def debater_scripts(lanes: int) -> dict[str, Script]:
    """Make scripts that take about two seconds a stage; no two of them go at one pace."""
    return {f"lane-{place}": _debater(place, lanes) for place in range(lanes)}


def stages(lanes: Sequence[str]) -> list[list[Call]]:
    """List the calls of each stage, which run at the same time; the first lane writes synthesis and summary."""
    concluding = [(lanes[0], words) for words in (SYNTHESIS_MARKER, SUMMARY_MARKER, CLAIMS_MARKER)]
    return [
        [(lane, QUESTION) for lane in lanes],
        [(lane, DEBATE_MARKER) for lane in lanes],
        [*concluding, *((lane, VOTE_MARKER) for lane in lanes)],
    ]


def scripted_seconds(scripts: dict[str, Script]) -> float:
    """Add up the longest call of each stage, as the scripts have it."""
    return sum(max(_seconds(scripts[lane], words) for lane, words in calls) for calls in stages([*scripts]))


async def measure_bare_calls(scripts: dict[str, Script]) -> float:
    """Measure the time that the same calls need alone: sleep is never exact."""
    provider = ScriptedProvider(Scripts(scripts))

    async def call_model(lane: str, words: str) -> None:
        async for _ in provider.stream_chunks(ModelRequest(model=lane, messages=(user_message(words),))):
            pass

    began = time.monotonic()
    for calls in stages([*scripts]):
        await asyncio.gather(*(call_model(lane, words) for lane, words in calls))
    return time.monotonic() - began


def _seconds(script: Script, words: str) -> float:
    return script.delay_seconds + script.chunk_interval_seconds * (
        ceil(len(script.answer_for(words)) / script.chunk_chars) - 1
    )


def _debater(place: int, lanes: int) -> Script:
    others = dict.fromkeys(ascii_uppercase[: lanes - 1], 5)
    return Script(
        answer=f"{place}. {SAMPLE_ANSWER} {SAMPLE_ANSWER}",
        answer_if_contains={
            DEBATE_MARKER: f"{place}. I keep my position. {SAMPLE_ANSWER} {SAMPLE_ANSWER}",
            SYNTHESIS_MARKER: f"{SAMPLE_ANSWER} {SAMPLE_ANSWER}",
            SUMMARY_MARKER: json.dumps(_summary_answer(lanes)),
            CLAIMS_MARKER: json.dumps(_claims_answer(lanes)),
            VOTE_MARKER: json.dumps(others),
        },
        chunk_chars=CHUNK,
        delay_seconds=0.4 + 0.05 * (place * 7 % lanes),
        chunk_interval_seconds=0.05 + 0.04 * (place * 5 % lanes) / lanes,
    )


def _summary_answer(lanes: int) -> dict[str, object]:
    row = {"initial_summary": "Round.", "refined_summary": "Round.", "changed_position": False, "key_points": []}
    heads = {"overview": "Round.", "agreements": [], "disagreements": [], "convergence": "None."}
    return {**heads, **{f"p{place}": row for place in range(1, lanes + 1)}}


def _claims_answer(lanes: int) -> dict[str, object]:
    supporters = [{"who": f"p{place}", "quote": QUOTE} for place in range(1, min(lanes, 4) + 1)]
    return {
        "claims": [{"claim": "It is round.", "supporters": supporters, "opponents": []}] * CLAIMS,
        "position_changes": [],
    }
