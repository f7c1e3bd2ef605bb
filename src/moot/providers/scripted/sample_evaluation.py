"""Two scripts for evaluations, persona suggestions and summaries: `scholar`, a participant, and `task-model`, a task model.

The answers are selected by substrings of Moot's default prompts. The evaluation must have two assertions: the answer
gives a reason, and it names a source.
"""

import json

# Substrings that identify the prompt of a request.
REWRITE_PROMPT, SUMMARY_PROMPT, SUGGESTIONS_PROMPT, QUESTIONS_PROMPT, JUDGE_PROMPT = (
    "A language model answers in a part",
    "tell them what this discussion came to",
    "Propose eight voices",
    "Before voices are proposed",
    "You judge one answer by assertions",
)

PERSONA_DESCRIPTION = "You name your source."
SOURCE_PHRASE = "says Vitruvius"
PLAIN_ANSWER = "Because nobody sits at its head."
SOURCED_ANSWER = f"Because nobody sits at its head, {SOURCE_PHRASE}."


def _verdicts_json(*verdicts: tuple[bool, str]) -> str:
    found = [
        {"number": number, "reason": reason, "passed": passed} for number, (passed, reason) in enumerate(verdicts, 1)
    ]
    return json.dumps({"verdicts": found})


def _persona_suggestion(name: str, category: str, description: str, rationale: str) -> dict[str, str]:
    return {"name": name, "category": category, "description": description, "rationale": rationale}


REASON_VERDICT = (True, "It says who sits where.")
SUMMARY_POINTS = {
    "points": [
        "The question was why a table is round.",
        "It was found that nobody sits at its head.",
        "Whether that helps a large table stayed open.",
    ]
}
CLARIFYING_QUESTIONS = {"questions": ["What would you miss most if you left?", "Who has to agree?"]}
SUGGESTED_PERSONAS = [
    _persona_suggestion(
        "Hannah Arendt", "thinker", "You ask what we are doing when we act.", "She keeps work and life apart."
    ),
    _persona_suggestion(
        "Epictetus", "thinker", "You part what is yours to decide from what is not.", "He knew about bonds."
    ),
    _persona_suggestion(
        "Penelope", "figure", "You wait, and undo at night what you wove.", "She knew what waiting costs."
    ),
    _persona_suggestion(
        "Sinbad", "figure", "You have left seven times and come home seven times.", "He would just go."
    ),
    _persona_suggestion(
        "The relocation adviser", "role", "You have seen a thousand moves.", "Most doubts are about papers."
    ),
    _persona_suggestion("The neighbour", "role", "You are the one who stays.", "Somebody will miss you."),
    _persona_suggestion("The accountant", "challenger", "You believe in figures, and say so.", "Dreams have a price."),
    _persona_suggestion(
        "Yourself at eighty", "challenger", "You look back, and are not impressed.", "Regret argues well."
    ),
]

TASK_ANSWERS = {
    REWRITE_PROMPT: json.dumps({"change": "It asks for a source.", "description": PERSONA_DESCRIPTION}),
    SUMMARY_PROMPT: json.dumps(SUMMARY_POINTS),
    SUGGESTIONS_PROMPT: json.dumps(SUGGESTED_PERSONAS),
    QUESTIONS_PROMPT: json.dumps(CLARIFYING_QUESTIONS),
    SOURCE_PHRASE: _verdicts_json(REASON_VERDICT, (True, "It names Vitruvius.")),
    JUDGE_PROMPT: _verdicts_json(REASON_VERDICT, (False, "It names nobody who says so.")),
}
SCHOLAR_ANSWERS = {PERSONA_DESCRIPTION: SOURCED_ANSWER}
