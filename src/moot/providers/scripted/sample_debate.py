"""Three scripts for a sample debate: advocate, sceptic, and undecided, who changes the position.

The answers are selected by substrings of Moot's default prompts. The participants must be in this order; the third
is optional. The question is whether a service should be split in two.
"""

import json

# Substrings that identify the prompt of a request.
REBUTTAL_PROMPT, SYNTHESIS_PROMPT = "the first answers of the others", "You now write for the whole table"
SUMMARY_PROMPT, CLAIMS_PROMPT, RANKING_PROMPT, AGREEMENT_PROMPT = (
    "You summarise a debate",
    "You list the claims",
    "You judge answers",
    "gain anything by debating",
)
THIRD_PARTICIPANT_LABEL = "### p3:"  # the label of the third participant in a prompt

SYNTHESIS_ANSWER = """\
Split it, in two steps. First move the reports out, which block the others most, and measure for a month what the split \
costs in calls and in on-call time. Then decide about the rest with those figures.

Nobody doubts that the shared release hurts. What a split costs is not known, and the sceptic is right that nobody has \
measured it: so measure it on the smallest part, not on paper."""


def _position_row(first: str, last: str, points: list[str], *, changed: bool = False) -> dict[str, object]:
    return {
        "initial_summary": first,
        "refined_summary": last,
        "changed_position": changed,
        "key_points": points,
    }


DEBATE_SUMMARY = {
    "overview": "Whether to split the service. Two ended up for a split in steps, one against any split without figures.",
    "agreements": ["The shared release holds the teams up.", "The cost of a split must be measured."],
    "disagreements": ["The sceptic would measure before anything moves; the others would move one part first."],
    "convergence": "They moved together: the undecided one joined the advocate, who took up the sceptic's wish to measure.",
    "p1": _position_row("Split now.", "Split in steps, and measure.", ["Teams wait for each other every week."]),
    "p2": _position_row("Keep it whole.", "No split without figures.", ["Nobody has measured what a split costs."]),
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
    "position_changes": [],
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
    "position_changes": [
        {
            "who": "p3",
            "before": "Wait a quarter.",
            "after": "Split one part first.",
            "because_of": "p1",
            "quote": "I change my position",
        }
    ],
}
TASK_ANSWERS = {
    SUMMARY_PROMPT: json.dumps(DEBATE_SUMMARY),
    RANKING_PROMPT: json.dumps({"A": 8, "B": 6}),
    AGREEMENT_PROMPT: json.dumps({"agree": False, "reason": "One would split, one would not, and one would wait."}),
    # Other prompts with labels match an earlier key, so only the claims prompt gets here.
    THIRD_PARTICIPANT_LABEL: json.dumps(THREE_PARTICIPANT_CLAIMS),
    CLAIMS_PROMPT: json.dumps(TWO_PARTICIPANT_CLAIMS),
}


# The first answer, and the answer after reading the others.
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
    """Return the answers to all prompts after the first, by a substring of the prompt."""
    return {REBUTTAL_PROMPT: second, SYNTHESIS_PROMPT: SYNTHESIS_ANSWER, **TASK_ANSWERS}
