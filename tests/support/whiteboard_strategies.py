"""Strategies for actions of every kind, in any order."""

from hypothesis import strategies as st

from moot.types.actions import Action, Laser, PlayVideo, Spotlight
from moot.types.drawing import (
    ChartData,
    ClearWhiteboard,
    CloseWhiteboard,
    DeleteElement,
    DrawChart,
    DrawCode,
    DrawLatex,
    DrawLine,
    DrawShape,
    DrawTable,
    DrawText,
    EditCode,
    OpenWhiteboard,
)
from moot.whiteboard.state import EMPTY_BOARD, Board, RecordedAction, apply_action, assign_element_id

ELEMENT_IDS = st.sampled_from(["a", "b", "box", "text-1", "shape-1", "code-1", "code-2", "code-1-2", "x" * 40])
LINE_IDS = st.integers(1, 12).map("L{}".format)
COORDINATES = st.floats(-2000, 3000)
SIZES = st.floats(1, 2000)
COLOURS = st.sampled_from(["#fff", "#12abEF", "red", "transparent"])
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40)
FORMULAS = st.sampled_from([r"\frac{a}{b}", r"\frac{a}{", r"\sum_{i=1}^n i^2", r"\unheard{x}", "}", "x^2"])
NUMBERS = st.floats(-1e12, 1e12) | st.integers(0, 20).map(float)


def tuples_of(elements: st.SearchStrategy[object], max_size: int) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(elements, min_size=1, max_size=max_size).map(tuple)


POSITION_FIELDS = {
    "element_id": st.none() | ELEMENT_IDS,
    "x": COORDINATES,
    "y": COORDINATES,
    "width": SIZES,
    "height": SIZES,
}
DRAWINGS = st.one_of(
    st.builds(DrawText, content=TEXTS, color=COLOURS, font_size=st.floats(8, 120), **POSITION_FIELDS),
    st.builds(
        DrawShape,
        shape=st.sampled_from(["rectangle", "circle", "triangle"]),
        fill_color=COLOURS,
        **POSITION_FIELDS,
    ),
    st.builds(
        DrawChart,
        chart_type=st.sampled_from(["bar", "column", "line", "pie", "ring", "area", "radar", "scatter"]),
        data=st.builds(
            ChartData,
            labels=tuples_of(TEXTS, 5) | st.just(()),
            legends=tuples_of(TEXTS, 3) | st.just(()),
            series=tuples_of(tuples_of(NUMBERS, 5) | st.just(()), 3),
        ),
        theme_colors=tuples_of(COLOURS, 3),
        **POSITION_FIELDS,
    ),
    st.builds(DrawLatex, latex=FORMULAS, color=COLOURS, **POSITION_FIELDS),
    st.builds(DrawTable, data=tuples_of(tuples_of(TEXTS, 3), 3), theme_color=COLOURS, **POSITION_FIELDS),
    st.builds(
        DrawLine,
        element_id=st.none() | ELEMENT_IDS,
        start_x=COORDINATES,
        start_y=COORDINATES,
        end_x=COORDINATES,
        end_y=COORDINATES,
        color=COLOURS,
        width=st.floats(0.5, 40),
        style=st.sampled_from(["solid", "dashed"]),
        points=st.tuples(*[st.sampled_from(["", "arrow", "dot"])] * 2),
    ),
    st.builds(DrawCode, code=TEXTS | st.just("a\nb\nc\n"), language=TEXTS, file_name=TEXTS, **POSITION_FIELDS),
)
EDITS = st.builds(
    EditCode,
    element_id=ELEMENT_IDS,
    operation=st.sampled_from(["insert_after", "insert_before", "delete_lines", "replace_lines"]),
    line_id=LINE_IDS,
    line_ids=st.lists(LINE_IDS, max_size=4).map(tuple),
    content=st.sampled_from(["", "x = 1", "x = 1\ny = 2", "\n\n\n"]),
)
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    DRAWINGS,
    DRAWINGS,
    EDITS,
    st.builds(DeleteElement, element_id=ELEMENT_IDS),
    st.builds(ClearWhiteboard) | st.builds(OpenWhiteboard) | st.builds(CloseWhiteboard),
    st.builds(Spotlight, element_id=ELEMENT_IDS)
    | st.builds(Laser, element_id=ELEMENT_IDS)
    | st.builds(PlayVideo, element_id=ELEMENT_IDS),
)
RECORDED_ACTIONS = st.builds(RecordedAction, participant=st.none() | st.sampled_from(["ada", "ben"]), action=ACTIONS)
ACTION_HISTORIES = st.lists(RECORDED_ACTIONS, max_size=12)


def record_actions(actions: list[Action], board: Board = EMPTY_BOARD) -> list[RecordedAction]:
    """Record actions as a run does: each gets its element id from the board before it."""
    recorded = []
    for action in actions:
        recorded.append(RecordedAction(action=assign_element_id(action, board)))
        board = apply_action(board, action)
    return recorded
