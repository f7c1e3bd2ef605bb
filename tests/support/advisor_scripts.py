"""Advisors as scripts: what each says to every message, to the others, and in the end."""

from moot.providers.scripted.scripts import Script

CROSS_TALK_PROMPT, SYNTHESIS_PROMPT = (
    "what the others have just answered",
    "what it comes to, once for all of you",
)
MESSAGES = ("I want to leave.", "Since spring.", "They pay well.", "So what now?")


def advisor_script(name: str, **more: object) -> Script:
    """Let every answer say whose it is, and to which message."""
    to_others = {CROSS_TALK_PROMPT: f"{name} to the others.", SYNTHESIS_PROMPT: f"{name} for all."}
    numbered = reversed(list(enumerate(MESSAGES, start=1)))  # the newest of those that went unanswered counts
    answers = {message: f"{name}, answer {number}." for number, message in numbered}
    return Script(answer="Well.", answer_if_contains={**to_others, **answers}, **more)  # type: ignore[arg-type]


ADVISOR_SCRIPTS = {
    "careful": advisor_script("Careful"),
    "daring": advisor_script("Daring", thoughts="Between us: I would leave."),
    "plain": advisor_script("Plain"),
    "silent": Script(answer="Pass."),
}
