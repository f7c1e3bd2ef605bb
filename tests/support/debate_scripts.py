"""Scripts of three debaters: one for, one against, and one undecided who is convinced in the end."""

import json

from moot.providers.scripted.scripts import Script

SECOND_ANSWER_PROMPT = "These are the first answers of the others"
SYNTHESIS_PROMPT = "You now write for the whole table"
DEBATE_SUMMARY_PROMPT = "You summarise a debate"
JUDGE_PROMPT = "You judge answers"
CLAIMS_PROMPT = "You list the claims"
AGREEMENT_PROMPT = "would gain anything by debating"

YES = "Split it now: the teams block each other every single week."
NO = "Keep it whole: nobody has measured what the split would cost."
PERHAPS = "Wait a quarter: the numbers will tell which way is cheaper."
STILL_YES = "I keep my position. Split it now, but measure the cost first, as Beta asks."
STILL_NO = "I keep my position: nobody has measured what the split would cost."
CHANGED_TO_YES = "I change my position. Alpha is right that the teams block each other every single week: split it now."
SYNTHESIS_ANSWER = "Split it, beginning with the part that blocks most, and measure the cost as you go."


def summary_row(first: str, last: str, *, changed: bool) -> dict[str, object]:
    return {"initial_summary": first, "refined_summary": last, "changed_position": changed, "key_points": [last]}


SUMMARY = {
    "overview": "Two want to split, one does not.",
    "agreements": ["The cost has to be measured."],
    "disagreements": ["Beta would not split before."],
    "convergence": "Gamma was won over.",
    "p1": summary_row("Split.", "Split.", changed=False),
    "p2": summary_row("Keep.", "Keep.", changed=False),
    "p3": summary_row("Wait.", "Split.", changed=True),
}
CLAIMS = {
    "claims": [
        {
            "claim": "The teams block each other.",
            "supporters": [
                {"who": "p1", "quote": "the teams block each other every single week"},
                {"who": "p3", "quote": "the teams block each  other every single week"},
            ],
            "opponents": [],
        },
        {
            "claim": "The cost is not known.",
            "supporters": [{"who": "p2", "quote": "nobody has measured what the split would cost"}],
            "opponents": [{"who": "p1", "quote": "the cost was measured twice"}],
        },
    ],
    "position_changes": [
        {
            "who": "p3",
            "before": "Wait.",
            "after": "Split.",
            "because_of": "p1",
            "quote": "I change my position.",
        },
        {"who": "p2", "before": "x", "after": "y", "because_of": None, "quote": "I have changed my mind"},
    ],
}
TASK_ANSWERS = {
    DEBATE_SUMMARY_PROMPT: json.dumps(SUMMARY),
    CLAIMS_PROMPT: json.dumps(CLAIMS),
    JUDGE_PROMPT: json.dumps({"A": 7, "B": 4}),
    AGREEMENT_PROMPT: json.dumps({"agree": False, "reason": "One says wait."}),
}


def debater_script(first: str, second: str, **more: object) -> Script:
    when = {SECOND_ANSWER_PROMPT: second, SYNTHESIS_PROMPT: SYNTHESIS_ANSWER, **TASK_ANSWERS}
    return Script(answer=first, answer_if_contains=when, **more)  # type: ignore[arg-type]


DEBATER_SCRIPTS = {
    "yes": debater_script(YES, STILL_YES),
    "no": debater_script(NO, STILL_NO),
    "ponder": debater_script("Yes.", STILL_YES, chunk_chars=2, chunk_interval_seconds=0.2),
    "perhaps": debater_script(PERHAPS, CHANGED_TO_YES),
    "late": debater_script(PERHAPS, CHANGED_TO_YES, fault="unauthorized", faulty_calls=1),
    "slip": debater_script(PERHAPS, CHANGED_TO_YES, fault="unauthorized", faulty_calls=1),
}
