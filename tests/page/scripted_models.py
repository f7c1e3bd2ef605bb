"""Scripted models for the tests of the page, besides the built-in ones: one set, so that tests can share a server."""

import json

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, SAMPLE_ANSWER, Script

STRUCTURED_ANSWERS = {
    "export": {
        "summary": "Round tables help people talk.",
        "usefulness": 0.72,
        "insights": [
            {
                "title": "Corners stay unused",
                "detail": "A round table wastes the corners.",
                "category": "space",
                "kind": "pain_point",
                "severity": "high",
                "messages": ["m2"],
            },
            {
                "title": "A bench uses the corner",
                "detail": "It takes two more people.",
                "suggestion": "Measure the wall.",
                "category": "space",
                "kind": "solution",
                "paired": 0,
                "messages": ["m2"],
            },
            {
                "title": "Oak it is",
                "detail": "Oak outlives the kitchen.",
                "category": "material",
                "kind": "decision",
                "messages": [],
            },
        ],
    },
    "consolidate": {
        "patterns": [
            {
                "kind": "pain",
                "title": "Space is measured too late",
                "description": "The room was measured after the choice.",
                "evidence": ["Corners stay unused"],
                "frequency": 4,
                "severity": "high",
                "tags": ["space", "planning"],
            }
        ]
    },
}
SENTENCE = "Everyone who sits at it can see everyone else, and nobody has to stand up. "

LONG_ANSWER = " ".join([SAMPLE_ANSWER] * 4)

# `unending` streams until it is stopped; `silent` never sends text.
SPEAKING_SCRIPTS = f"""
[unending]
answer = "A table has no head. "
fault = "endless"
chunk_interval_seconds = 0.25
[silent]
delay_seconds = 600
[lasting]
answer = '''{LONG_ANSWER}'''
chunk_interval_seconds = 0.06
[priced]
usd_per_million_tokens = 2.5
answer = 'A round one, of oak, so that everybody hears everybody.'
[brief]
answer = '''{SENTENCE * 10}'''
chunk_chars = 1000
[talker]
answer = '''{SENTENCE * 3}\n\n'''
fault = "endless"
chunk_chars = 1000
chunk_interval_seconds = 0.05
[agreeing]
answer = "Split it."
usd_per_million_tokens = 1000.0
answer_if_contains = {{ "would gain anything by debating" = '{{"agree": true, "reason": "Both would split it."}}' }}
[cut]
answer = "A round one."
finish_reason = "length"
"""
# The fallbacks of models that always fail.
FAILING_SCRIPTS = """
[locked]
fault = "unauthorized"
[barred]
fault = "forbidden"
[absent]
fault = "unauthorized"
[late]
fault = "forbidden"
delay_seconds = 0.5
"""
FALLBACK_SETTINGS = """
[fallback]
"scripted/locked" = ["scripted/echo"]
"scripted/barred" = ["scripted/unending"]
"scripted/absent" = ["scripted/teacher"]
"scripted/late" = ["scripted/cut"]
"""
STRUCTURED_SCRIPTS = "".join(
    f"[{name}]\nusd_per_million_tokens = 2.5\nanswer = '''{json.dumps(answer)}'''\n"
    for name, answer in STRUCTURED_ANSWERS.items()
)
MAX_FAST_INTERVAL_SECONDS = 0.03  # a script with pauses no longer than this has them only for the eye


def without_pauses(script: Script) -> str:
    """Return a script with the same answer, without pauses and in fewer pieces: each piece costs time."""
    when = ", ".join(
        f"{_toml_string(text)} = {_toml_string(script.answer_for(text))}" for text in script.answer_if_contains
    )
    return f"answer = {_toml_string(script.answer_for(''))}\nthoughts = {_toml_string(script.thoughts)}\nanswer_if_contains = {{ {when} }}\nchunk_chars = 80\n"


def _toml_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


FAST_SCRIPTS = "".join(
    f"[{name}]\n{without_pauses(script)}"
    for name, script in BUILT_IN_SCRIPTS.items()
    if 0 < script.chunk_interval_seconds <= MAX_FAST_INTERVAL_SECONDS and not script.tool
)
SCRIPTS = SPEAKING_SCRIPTS + FAILING_SCRIPTS + STRUCTURED_SCRIPTS + FAST_SCRIPTS
