"""The scripted models of the journeys, beside those that ship: one set, so that journeys can share a server."""

import json

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, SAMPLE_ANSWER, Script

READS = {
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
TALK = "Everyone who sits at it can see everyone else, and nobody has to stand up. "

LASTING = " ".join([SAMPLE_ANSWER] * 4)

# Unending speaks until it is stopped, however long a test takes to do that; silent never says a word.
SPEAKING = f"""
[unending]
answer = "A table has no head. "
fault = "endless"
pace = 0.25
[silent]
delay = 600
[lasting]
answer = '''{LASTING}'''
pace = 0.06
[priced]
price = 2.5
answer = 'A round one, of oak, so that everybody hears everybody.'
[brief]
answer = '''{TALK * 10}'''
chunk = 1000
[talker]
answer = '''{TALK * 3}\n\n'''
fault = "endless"
chunk = 1000
pace = 0.05
[agreeing]
answer = "Split it."
price = 1000.0
when = {{ "would gain anything by debating" = '{{"agree": true, "reason": "Both would split it."}}' }}
[cut]
answer = "A round one."
finish = "length"
"""
# Who answers instead of those who always fail.
FAILING = """
[locked]
fault = "unauthorized"
[barred]
fault = "forbidden"
[absent]
fault = "unauthorized"
[late]
fault = "forbidden"
delay = 0.5
"""
FALLBACK = """
[fallback]
"scripted/locked" = ["scripted/echo"]
"scripted/barred" = ["scripted/unending"]
"scripted/absent" = ["scripted/teacher"]
"scripted/late" = ["scripted/cut"]
"""
READING = "".join(
    f"[{name}]\nprice = 2.5\nanswer = '''{json.dumps(answer)}'''\n" for name, answer in READS.items()
)
QUICK_SECONDS = 0.03  # a script with pauses no longer than this has them only for the eye


def hurried(script: Script) -> str:
    """Return a script that says the same without pauses and in fewer pieces: each is work for server and page."""
    when = ", ".join(f"{_quoted(asked)} = {_quoted(said)}" for asked, said in script.when.items())
    return f"answer = {_quoted(script.answer)}\nthoughts = {_quoted(script.thoughts)}\nwhen = {{ {when} }}\nchunk = 80\n"


def _quoted(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


HURRIED = "".join(
    f"[{name}]\n{hurried(script)}"
    for name, script in BUILT_IN_SCRIPTS.items()
    if 0 < script.pace <= QUICK_SECONDS and not script.tool
)
VOICES = SPEAKING + FAILING + READING + HURRIED
