"""Two scripts that show trials, perspectives and recaps: a scholar who answers, and a clerk who does the rest.

They answer by what they are asked, so they go with Moot's own prompts, and with two assertions: that the answer gives a
reason, and that it names a source.
"""

import json

# Words of the prompts that tell what is asked.
REWRITE, RECAP, PROPOSE, ASK, JUDGE = (
    "A language model answers in a part",
    "tell them what this discussion came to",
    "Propose eight voices",
    "Before voices are proposed",
    "You judge one answer by assertions",
)

DESCRIPTION = "You name your source."
SOURCE = "says Vitruvius"
PLAIN = "Because nobody sits at its head."
SOURCED = f"Because nobody sits at its head, {SOURCE}."


def _judged(*verdicts: tuple[bool, str]) -> str:
    found = [
        {"number": number, "reason": reason, "passed": passed}
        for number, (passed, reason) in enumerate(verdicts, 1)
    ]
    return json.dumps({"verdicts": found})


def _voice(name: str, category: str, description: str, rationale: str) -> dict[str, str]:
    return {"name": name, "category": category, "description": description, "rationale": rationale}


REASONED = (True, "It says who sits where.")
POINTS = {
    "points": [
        "The question was why a table is round.",
        "It was found that nobody sits at its head.",
        "Whether that helps a large table stayed open.",
    ]
}
QUESTIONS = {"questions": ["What would you miss most if you left?", "Who has to agree?"]}
VOICES = [
    _voice(
        "Hannah Arendt", "thinker", "You ask what we are doing when we act.", "She keeps work and life apart."
    ),
    _voice(
        "Epictetus", "thinker", "You part what is yours to decide from what is not.", "He knew about bonds."
    ),
    _voice(
        "Penelope", "figure", "You wait, and undo at night what you wove.", "She knew what waiting costs."
    ),
    _voice("Sinbad", "figure", "You have left seven times and come home seven times.", "He would just go."),
    _voice(
        "The relocation adviser", "role", "You have seen a thousand moves.", "Most doubts are about papers."
    ),
    _voice("The neighbour", "role", "You are the one who stays.", "Somebody will miss you."),
    _voice("The accountant", "challenger", "You believe in figures, and say so.", "Dreams have a price."),
    _voice(
        "Yourself at eighty", "challenger", "You look back, and are not impressed.", "Regret argues well."
    ),
]

CLERK = {
    REWRITE: json.dumps({"change": "It asks for a source.", "description": DESCRIPTION}),
    RECAP: json.dumps(POINTS),
    PROPOSE: json.dumps(VOICES),
    ASK: json.dumps(QUESTIONS),
    SOURCE: _judged(REASONED, (True, "It names Vitruvius.")),
    JUDGE: _judged(REASONED, (False, "It names nobody who says so.")),
}
SCHOLAR = {DESCRIPTION: SOURCED}
