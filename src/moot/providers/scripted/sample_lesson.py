"""Four scripts for a sample lesson: teacher, assistant, student and classmate.

The answers are selected by the whiteboard content and by substrings of Moot's default prompts. The participants must
be in this order, with their default names. The question is why the sums of odd numbers are squares.
"""

import json

NEXT_SPEAKERS = {  # the director's choice for each turn after the first
    "Turn 2 of": ("gamma", "A listener should say what is not clear."),
    "Turn 3 of": ("beta", "It can be tried out."),
    "Turn 4 of": ("delta", "Somebody should look at the code."),
    "Turn 5 of": ("beta", "The code has to be mended."),
    "Turn 6 of": ("alpha", "The reason has not been shown yet."),
    "Turn 7 of": ("gamma", "A question was asked."),
    "Turn 8 of": ("USER", "Is the next edge clear to you, too?"),
}
CHART_DATA = {"labels": ["1", "2", "3", "4"], "legends": ["sum"], "series": [[1, 4, 9, 16]]}
SAMPLE_CODE = """\
def odd_sum(n):
    total = 0
    for k in range(n):
        total += 2 * k
    return total"""


def _text_item(text: str) -> dict[str, object]:
    return {"type": "text", "content": text}


def _action_item(name: str, element: str | None = None, **params: object) -> dict[str, object]:
    return {
        "type": "action",
        "name": name,
        "params": {**params, **({"elementId": element} if element else {})},
    }


def _element_box(x: int, y: int, width: int, height: int) -> dict[str, object]:
    return {"x": x, "y": y, "width": width, "height": height}


def _encode_items(*items: dict[str, object]) -> str:
    return json.dumps(items, ensure_ascii=False)


OPENING_TURN = _encode_items(
    _action_item("wb_open"),
    _action_item(
        "wb_draw_text",
        "title",
        content="Odd numbers and squares",
        fontSize=28,
        **_element_box(50, 30, 440, 50),
    ),
    _text_item("One plus three is four, plus five is nine."),
    _action_item("wb_draw_latex", "odd-law", latex=r"\sum_{k=1}^{n} (2k-1) = n^2", **_element_box(50, 100, 320, 110)),
    _text_item("Could that be more than luck?"),
)
EXPLANATION_TURN = _encode_items(
    _action_item("wb_draw_chart", "sums", chartType="column", data=CHART_DATA, **_element_box(540, 30, 410, 240)),
    _text_item("Each odd number lays one more edge around the square before it."),
    _action_item(
        "wb_draw_shape",
        "growing-square",
        shape="rectangle",
        fillColor="#cfe8d5",
        **_element_box(600, 330, 150, 150),
    ),
    _action_item(
        "wb_draw_line",
        "edge",
        startX=780,
        startY=330,
        endX=780,
        endY=480,
        color="#555555",
        points=["", "arrow"],
    ),
    _text_item("How long is the next one?"),
)
CODE_TURN = _encode_items(
    _text_item("We can try it out."),
    _action_item("wb_draw_code", "code-odd", language="python", code=SAMPLE_CODE, **_element_box(50, 300, 440, 200)),
)
CODE_FIX_TURN = _encode_items(
    _action_item(
        "wb_edit_code",
        "code-odd",
        operation="replace_lines",
        lineIds=["L4"],
        content="        total += 2 * k + 1",
    ),
    _text_item("Well spotted. Now it adds the odd ones."),
)
CODE_QUESTION_TURN = _encode_items(
    _text_item("Does the loop not add the even numbers?"),
    _action_item("spotlight", "code-odd"),  # rejected: only teachers may use it
)

DIRECTOR_ANSWERS = {turn: json.dumps({"next": who, "reason": why}) for turn, (who, why) in NEXT_SPEAKERS.items()}

# The first answer, and other answers by a substring of the prompt, such as an element on the whiteboard.
LESSON_ANSWERS: dict[str, tuple[str, dict[str, str]]] = {
    "teacher": (OPENING_TURN, {**DIRECTOR_ANSWERS, "code-odd": EXPLANATION_TURN}),
    "assistant": (CODE_TURN, {"code-odd": CODE_FIX_TURN}),
    "student": (
        _encode_items(_text_item("Why does it never miss a square?")),
        {"growing-square": _encode_items(_text_item("Nine: four on each side, and the corner."))},
    ),
    "classmate": (CODE_QUESTION_TURN, {}),
}
