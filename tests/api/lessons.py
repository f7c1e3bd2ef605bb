"""Agents of a lesson, as scripts: some that draw, and some that do not answer as they were asked to."""

import json

from moot.providers.scripted.scripts import Script

DIRECTOR = "You direct a conversation"


def array(*lines: str | tuple[str, dict[str, object]]) -> str:
    """Write an answer: words are speech, and names with params are actions."""
    return json.dumps(
        [
            {"type": "text", "content": line}
            if isinstance(line, str)
            else {"type": "action", "name": line[0], "params": line[1]}
            for line in lines
        ]
    )


def note(words: str, id: str, x: int = 50, y: int = 50) -> tuple[str, dict[str, object]]:
    return "wb_draw_text", {"content": words, "elementId": id, "x": x, "y": y, "width": 300, "height": 60}


DRAWS = array("Look here.", note("One", "one"), "And there.", note("Two", "two", y=200))
LONG_SPEECH = " ".join(f"word{place}" for place in range(600))


def chooses(next: str) -> str:
    return json.dumps({"next": next, "reason": "Because."})


AGENTS = {
    "drawer": Script(answer=DRAWS),
    "listener": Script(answer=array("I see.")),
    "lecturer": Script(answer=array(note("One", "one"), LONG_SPEECH), when={DIRECTOR: "No."}, pace=0.02),
    "prose": Script(answer="I would rather speak without any array."),
    "garbage": Script(answer='[{"type": "te{{]] "content": }} 17 ['),
    "mute": Script(answer="[]"),
    "blank": Script(answer=" "),
    "dreamer": Script(answer=array(("wb_dance", {}), "I tried to dance.")),
    "clumsy": Script(
        answer=array(("wb_draw_text", {"x": "far away"}), ("wb_delete", {}), "That went wrong.")
    ),
    "idler": Script(answer=array(("wb_dance", {}))),
    "fenced": Script(answer=f"Sure, here it is:\n```json\n{DRAWS}\n```\nI hope this helps!"),
    "vain": Script(answer=array("Me."), when={DIRECTOR: chooses("alpha")}),
    "lost": Script(answer=array("Where?"), when={DIRECTOR: chooses("nobody")}),
    "rambling": Script(answer=array("Well."), when={DIRECTOR: "I think that Beta should speak."}),
    "polite": Script(answer=array("After you."), when={DIRECTOR: chooses("USER")}),
    "done": Script(answer=array("That is all."), when={DIRECTOR: chooses("END")}),
}
