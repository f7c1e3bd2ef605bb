"""Build scripts for the models of a debate, each with its own delay and speed, and compute the minimum duration."""

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

Call = tuple[str, str]  # name of the script, and prompt of the request


def build_debate_scripts(lanes: int) -> dict[str, Script]:
    """Return a script for each lane. A stage takes about two seconds, and all scripts have a different speed."""
    return {f"lane-{index}": _build_script(index, lanes) for index in range(lanes)}


def list_stages(lanes: Sequence[str]) -> list[list[Call]]:
    """Return the concurrent model requests of each stage; the first lane also returns synthesis, summary and claims."""
    final_calls = [(lanes[0], prompt) for prompt in (SYNTHESIS_MARKER, SUMMARY_MARKER, CLAIMS_MARKER)]
    return [
        [(lane, QUESTION) for lane in lanes],
        [(lane, DEBATE_MARKER) for lane in lanes],
        [*final_calls, *((lane, VOTE_MARKER) for lane in lanes)],
    ]


def compute_scripted_seconds(scripts: dict[str, Script]) -> float:
    """Return the sum of the longest request of each stage, from the parameters of the scripts."""
    return sum(
        max(_compute_seconds(scripts[lane], prompt) for lane, prompt in calls) for calls in list_stages([*scripts])
    )


async def measure_bare_calls(scripts: dict[str, Script]) -> float:
    """Return the measured duration of the same requests without Moot, because `sleep` is not exact."""
    provider = ScriptedProvider(Scripts(scripts))

    async def call_model(lane: str, prompt: str) -> None:
        async for _ in provider.stream_chunks(ModelRequest(model=lane, messages=(user_message(prompt),))):
            pass

    start_time = time.monotonic()
    for calls in list_stages([*scripts]):
        await asyncio.gather(*(call_model(lane, prompt) for lane, prompt in calls))
    return time.monotonic() - start_time


def _compute_seconds(script: Script, prompt: str) -> float:
    return script.delay_seconds + script.chunk_interval_seconds * (
        ceil(len(script.answer_for(prompt)) / script.chunk_chars) - 1
    )


def _build_script(index: int, lanes: int) -> Script:
    others = dict.fromkeys(ascii_uppercase[: lanes - 1], 5)
    return Script(
        answer=f"{index}. {SAMPLE_ANSWER} {SAMPLE_ANSWER}",
        answer_if_contains={
            DEBATE_MARKER: f"{index}. I keep my position. {SAMPLE_ANSWER} {SAMPLE_ANSWER}",
            SYNTHESIS_MARKER: f"{SAMPLE_ANSWER} {SAMPLE_ANSWER}",
            SUMMARY_MARKER: json.dumps(_build_summary(lanes)),
            CLAIMS_MARKER: json.dumps(_build_claims(lanes)),
            VOTE_MARKER: json.dumps(others),
        },
        chunk_chars=CHUNK,
        delay_seconds=0.4 + 0.05 * (index * 7 % lanes),
        chunk_interval_seconds=0.05 + 0.04 * (index * 5 % lanes) / lanes,
    )


def _build_summary(lanes: int) -> dict[str, object]:
    row = {"initial_summary": "Round.", "refined_summary": "Round.", "changed_position": False, "key_points": []}
    heads = {"overview": "Round.", "agreements": [], "disagreements": [], "convergence": "None."}
    return {**heads, **{f"p{index}": row for index in range(1, lanes + 1)}}


def _build_claims(lanes: int) -> dict[str, object]:
    supporters = [{"who": f"p{index}", "quote": QUOTE} for index in range(1, min(lanes, 4) + 1)]
    return {
        "claims": [{"claim": "It is round.", "supporters": supporters, "opponents": []}] * CLAIMS,
        "position_changes": [],
    }
