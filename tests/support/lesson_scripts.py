"""Scripts of participants in a lesson: some draw, and some answer in a wrong format."""

import json

from moot.providers.scripted.scripts import Script

DIRECTOR_PROMPT = "You direct a conversation"


def lesson_answer(*items: str | tuple[str, dict[str, object]]) -> str:
    """Encode an answer: strings are speech, and names with params are actions."""
    return json.dumps(
        [
            {"type": "text", "content": line}
            if isinstance(line, str)
            else {"type": "action", "name": line[0], "params": line[1]}
            for line in items
        ]
    )


def draw_text_action(text: str, id: str, x: int = 50, y: int = 50) -> tuple[str, dict[str, object]]:
    return "wb_draw_text", {"content": text, "elementId": id, "x": x, "y": y, "width": 300, "height": 60}


DRAWING_ANSWER = lesson_answer(
    "Look here.", draw_text_action("One", "one"), "And there.", draw_text_action("Two", "two", y=200)
)
LONG_SPEECH = " ".join(f"word{place}" for place in range(600))


def director_choice(speaker: str) -> str:
    return json.dumps({"next": speaker, "reason": "Because."})


AGENT_SCRIPTS = {
    "drawer": Script(answer=DRAWING_ANSWER),
    "listener": Script(answer=lesson_answer("I see.")),
    "lecturer": Script(
        answer=lesson_answer(draw_text_action("One", "one"), LONG_SPEECH),
        answer_if_contains={DIRECTOR_PROMPT: "No."},
        chunk_interval_seconds=0.02,
    ),
    "prose": Script(answer="I would rather speak without any array."),
    "garbage": Script(answer='[{"type": "te{{]] "content": }} 17 ['),
    "mute": Script(answer="[]"),
    "blank": Script(answer=" "),
    "dreamer": Script(answer=lesson_answer(("wb_dance", {}), "I tried to dance.")),
    "clumsy": Script(answer=lesson_answer(("wb_draw_text", {"x": "far away"}), ("wb_delete", {}), "That went wrong.")),
    "idler": Script(answer=lesson_answer(("wb_dance", {}))),
    "fenced": Script(answer=f"Sure, here it is:\n```json\n{DRAWING_ANSWER}\n```\nI hope this helps!"),
    "vain": Script(answer=lesson_answer("Me."), answer_if_contains={DIRECTOR_PROMPT: director_choice("alpha")}),
    "lost": Script(answer=lesson_answer("Where?"), answer_if_contains={DIRECTOR_PROMPT: director_choice("nobody")}),
    "rambling": Script(
        answer=lesson_answer("Well."), answer_if_contains={DIRECTOR_PROMPT: "I think that Beta should speak."}
    ),
    "polite": Script(answer=lesson_answer("After you."), answer_if_contains={DIRECTOR_PROMPT: director_choice("USER")}),
    "done": Script(answer=lesson_answer("That is all."), answer_if_contains={DIRECTOR_PROMPT: director_choice("END")}),
}
