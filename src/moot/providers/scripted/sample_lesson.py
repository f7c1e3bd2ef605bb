"""Four scripts that hold a lesson among themselves: one teaches, one assists, and two learn.

They answer by what is on the whiteboard, and one of them directs, so they go with Moot's own prompts and with these
seats: teacher, assistant, student, classmate, in this order and under their usual names. Their question is why the
sums of odd numbers are squares.
"""

import json

NEXT = {  # who has the word in which turn, after the first
    "Turn 2 of": ("gamma", "A listener should say what is not clear."),
    "Turn 3 of": ("beta", "It can be tried out."),
    "Turn 4 of": ("delta", "Somebody should look at the code."),
    "Turn 5 of": ("beta", "The code has to be mended."),
    "Turn 6 of": ("alpha", "The reason has not been shown yet."),
    "Turn 7 of": ("gamma", "A question was asked."),
    "Turn 8 of": ("USER", "Is the next edge clear to you, too?"),
}
SUMS = {"labels": ["1", "2", "3", "4"], "legends": ["sum"], "series": [[1, 4, 9, 16]]}
CODE = """\
def odd_sum(n):
    total = 0
    for k in range(n):
        total += 2 * k
    return total"""


def _say(words: str) -> dict[str, object]:
    return {"type": "text", "content": words}


def _do(name: str, element: str | None = None, **params: object) -> dict[str, object]:
    return {
        "type": "action",
        "name": name,
        "params": {**params, **({"elementId": element} if element else {})},
    }


def _at(x: int, y: int, width: int, height: int) -> dict[str, object]:
    return {"x": x, "y": y, "width": width, "height": height}


def _array(*lines: dict[str, object]) -> str:
    return json.dumps(lines, ensure_ascii=False)


OPENING = _array(
    _do("wb_open"),
    _do("wb_draw_text", "title", content="Odd numbers and squares", fontSize=28, **_at(50, 30, 440, 50)),
    _say("One plus three is four, plus five is nine."),
    _do("wb_draw_latex", "odd-law", latex=r"\sum_{k=1}^{n} (2k-1) = n^2", **_at(50, 100, 320, 110)),
    _say("Could that be more than luck?"),
)
SHOWING = _array(
    _do("wb_draw_chart", "sums", chartType="column", data=SUMS, **_at(540, 30, 410, 240)),
    _say("Each odd number lays one more edge around the square before it."),
    _do("wb_draw_shape", "growing-square", shape="rectangle", fillColor="#cfe8d5", **_at(600, 330, 150, 150)),
    _do(
        "wb_draw_line",
        "edge",
        startX=780,
        startY=330,
        endX=780,
        endY=480,
        color="#555555",
        points=["", "arrow"],
    ),
    _say("How long is the next one?"),
)
TRYING = _array(
    _say("We can try it out."),
    _do("wb_draw_code", "code-odd", language="python", code=CODE, **_at(50, 300, 440, 200)),
)
MENDING = _array(
    _do(
        "wb_edit_code",
        "code-odd",
        operation="replace_lines",
        lineIds=["L4"],
        content="        total += 2 * k + 1",
    ),
    _say("Well spotted. Now it adds the odd ones."),
)
LOOKING = _array(
    _say("Does the loop not add the even numbers?"),
    _do("spotlight", "code-odd"),  # which is for teachers
)

DIRECTING = {turn: json.dumps({"next": who, "reason": why}) for turn, (who, why) in NEXT.items()}

# What each says first, and what when something is on the board.
PARTS: dict[str, tuple[str, dict[str, str]]] = {
    "teacher": (OPENING, {**DIRECTING, "code-odd": SHOWING}),
    "assistant": (TRYING, {"code-odd": MENDING}),
    "student": (
        _array(_say("Why does it never miss a square?")),
        {"growing-square": _array(_say("Nine: four on each side, and the corner."))},
    ),
    "classmate": (LOOKING, {}),
}
