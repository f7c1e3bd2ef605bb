"""Four scripts that hold a lesson among themselves: one teaches, one assists, and two learn.

They answer by what is on the whiteboard, so they go with Moot's own prompts, and speak in any order a director
finds for them. Their subject is why the sum of the first odd numbers is a square.
"""

import json

DIRECTOR = "You direct a conversation"
LATE = "Turn 7 of"


def _say(words: str) -> dict[str, object]:
    return {"type": "text", "content": words}


def _do(name: str, **params: object) -> dict[str, object]:
    return {"type": "action", "name": name, "params": params}


def _array(*lines: dict[str, object]) -> str:
    return json.dumps(list(lines), ensure_ascii=False)


SQUARES = {"labels": ["1", "2", "3", "4"], "legends": ["sum"], "series": [[1, 4, 9, 16]]}
CODE = "def odd_sum(n):\n    total = 0\n    for k in range(n):\n        total += 2 * k\n    return total"

TEACHER = {
    "code-odd": _array(
        _say("Now count the dots: each odd number lays one more edge around the square before it. "),
        _do("wb_delete", elementId="chart"),
        _do(
            "wb_draw_shape",
            shape="rectangle",
            x=640,
            y=150,
            width=160,
            height=160,
            fillColor="#cfe8d5",
            elementId="square",
        ),
        _do(
            "wb_draw_line",
            startX=820,
            startY=150,
            endX=820,
            endY=310,
            color="#333333",
            points=["", "arrow"],
            elementId="edge",
        ),
        _say("Which edge comes next, and how long is it?"),
    ),
    "law": _array(
        _say("Look at the sums one after the other. Do you see what grows here? "),
        _do(
            "wb_draw_chart",
            chartType="column",
            x=560,
            y=60,
            width=380,
            height=240,
            data=SQUARES,
            elementId="chart",
        ),
    ),
}
TEACHER_FIRST = _array(
    _do("wb_open"),
    _do(
        "wb_draw_text",
        content="Odd numbers and squares",
        x=60,
        y=40,
        width=440,
        height=50,
        fontSize=28,
        elementId="title",
    ),
    _say("One plus three is four, plus five is nine. "),
    _do(
        "wb_draw_latex",
        latex="\\sum_{k=1}^{n} (2k-1) = n^2",
        x=60,
        y=110,
        width=320,
        height=110,
        elementId="law",
    ),
    _say("Could that be more than luck?"),
)
ASSISTANT = {
    "code-odd": _array(
        _do(
            "wb_edit_code",
            elementId="code-odd",
            operation="replace_lines",
            lineIds=["L4"],
            content="        total += 2 * k + 1",
        ),
        _say("Well spotted: it added even numbers. Now the fourth line is right."),
    ),
    "law": _array(
        _say("We can try it out. "),
        _do(
            "wb_draw_code",
            language="python",
            code=CODE,
            x=60,
            y=330,
            width=420,
            height=190,
            elementId="code-odd",
        ),
    ),
}
STUDENT = {
    "square": _array(_say("Nine, I think: four on each side, and the corner.")),
    "code-odd": _array(_say("Does the loop not add even numbers?")),
    "law": _array(_say("Why does it never miss a square?")),
}
CLASSMATE = {
    "square": _array(
        _say("So the square grows by itself. "),
        _do("spotlight", elementId="square"),  # which only teachers may do
    ),
    "law": _array(_say("It works up to four. But for all of them?")),
}
CHOICES = {
    LATE: json.dumps({"next": "USER", "reason": "A question is open that the user can answer."}),
    DIRECTOR: json.dumps({"next": "whoever", "reason": "This one names nobody."}),
}
PARTS: dict[str, tuple[str, dict[str, str]]] = {
    "teacher": (TEACHER_FIRST, CHOICES | TEACHER),
    "assistant": (_array(_say("I am here to help.")), CHOICES | ASSISTANT),
    "student": (_array(_say("What are we going to do?")), CHOICES | STUDENT),
    "classmate": (_array(_say("I am curious.")), CHOICES | CLASSMATE),
}
