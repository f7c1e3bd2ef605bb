"""Three scripts that hold a debate among themselves: somebody for it, somebody against, and one who changes sides.

They answer by what they are asked, so they go with Moot's own prompts and with these seats: advocate, sceptic,
undecided, in this order; the first two can do without the third. Their question is whether a service should be split in two.
"""

import json

# Words of the prompts that tell what is asked.
REBUTTAL_PROMPT, SYNTHESIS_PROMPT = "the first answers of the others", "You now write for the whole table"
SUMMARY_PROMPT, CLAIMS_PROMPT, RANKING_PROMPT, AGREEMENT_PROMPT = (
    "take the minutes",
    "keep the ledger",
    "You judge answers",
    "gain anything by debating",
)
THIRD_PARTICIPANT_LABEL = "### p3:"  # how the answers of a third one are labelled

SYNTHESIS_ANSWER = """\
Split it, in two steps. First move the reports out, which block the others most, and measure for a month what the split \
costs in calls and in on-call time. Then decide about the rest with those figures.

Nobody doubts that the shared release hurts. What a split costs is not known, and the sceptic is right that nobody has \
measured it: so measure it on the smallest part, not on paper."""


def _position_row(first: str, last: str, points: list[str], *, changed: bool = False) -> dict[str, object]:
    return {
        "initialSummary": first,
        "refinedSummary": last,
        "changedPosition": changed,
        "keyPoints": points,
    }


DEBATE_SUMMARY = {
    "overview": "Whether to split the service. Two ended up for a split in steps, one against any split without figures.",
    "agreements": ["The shared release holds the teams up.", "The cost of a split must be measured."],
    "disagreements": [
        "The sceptic would measure before anything moves; the others would move one part first."
    ],
    "convergence": "They moved together: the undecided one joined the advocate, who took up the sceptic's wish to measure.",
    "p1": _position_row(
        "Split now.", "Split in steps, and measure.", ["Teams wait for each other every week."]
    ),
    "p2": _position_row(
        "Keep it whole.", "No split without figures.", ["Nobody has measured what a split costs."]
    ),
    "p3": _position_row("Wait a quarter.", "Split one part first.", ["Waiting costs too."], changed=True),
}
RELEASE_CLAIM = "The shared release holds the teams up."
RELEASE_QUOTE = {"who": "p1", "quote": "every week one team waits for the other's release"}
FIGURES_CLAIM = {
    "claim": "Without figures there should be no split.",
    "supporters": [{"who": "p2", "quote": "nobody has measured what a split costs"}],
    "opponents": [{"who": "p1", "quote": "measure on the first part that moves"}],
}
TWO_PARTICIPANT_CLAIMS = {
    "claims": [{"claim": RELEASE_CLAIM, "supporters": [RELEASE_QUOTE], "opponents": []}, FIGURES_CLAIM],
    "flips": [],
}
THREE_PARTICIPANT_CLAIMS = {
    "claims": [
        {
            "claim": RELEASE_CLAIM,
            "supporters": [RELEASE_QUOTE, {"who": "p3", "quote": "one team waits for the other's release"}],
            "opponents": [],
        },
        FIGURES_CLAIM,
    ],
    "flips": [
        {
            "who": "p3",
            "before": "Wait a quarter.",
            "after": "Split one part first.",
            "becauseOf": "p1",
            "quote": "I change my position",
        }
    ],
}
TASK_ANSWERS = {
    SUMMARY_PROMPT: json.dumps(DEBATE_SUMMARY),
    RANKING_PROMPT: json.dumps({"A": 8, "B": 6}),
    AGREEMENT_PROMPT: json.dumps(
        {"agree": False, "reason": "One would split, one would not, and one would wait."}
    ),
    THIRD_PARTICIPANT_LABEL: json.dumps(
        THREE_PARTICIPANT_CLAIMS
    ),  # of what is labelled, only the ledger is left here
    CLAIMS_PROMPT: json.dumps(TWO_PARTICIPANT_CLAIMS),
}


# What each says first, and after reading the others.
DEBATER_ANSWERS = {
    "advocate": (
        "Split it now: every week one team waits for the other's release, and the code has grown apart already.",
        "I keep my position, but in steps: measure on the first part that moves, as the sceptic asks. Still, every week one team waits for the other's release, and that has a price too.",
    ),
    "sceptic": (
        "Keep it whole: nobody has measured what a split costs, and two services fail in more ways than one.",
        "I keep my position: nobody has measured what a split costs. Measure first; if the figures carry it, I am for it.",
    ),
    "undecided": (
        "Wait a quarter: by then the new release train has run for a while, and you decide with figures.",
        "I change my position. The advocate is right that one team waits for the other's release already now: moving one small part gives the figures that the sceptic wants, and sooner than waiting does.",
    ),
}


def later_answers(second: str) -> dict[str, str]:
    """Say what a debater answers when it is not the first question."""
    return {REBUTTAL_PROMPT: second, SYNTHESIS_PROMPT: SYNTHESIS_ANSWER, **TASK_ANSWERS}
