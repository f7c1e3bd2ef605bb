"""Actions of every kind, in any order, as agents may well take them."""

from hypothesis import strategies as st

from moot.types.actions import Action, Laser, PlayVideo, Spotlight
from moot.types.drawing import (
    ChartData,
    Clear,
    Close,
    Delete,
    DrawChart,
    DrawCode,
    DrawLatex,
    DrawLine,
    DrawShape,
    DrawTable,
    DrawText,
    EditCode,
    Open,
)
from moot.whiteboard.state import EMPTY_BOARD, Board, RecordedAction, apply_action, assign_element_id

IDS = st.sampled_from(["a", "b", "box", "text-1", "shape-1", "code-1", "code-2", "code-1-2", "x" * 40])
LINES = st.integers(1, 12).map("L{}".format)
PLACES = st.floats(-2000, 3000)
SIZES = st.floats(1, 2000)
COLOURS = st.sampled_from(["#fff", "#12abEF", "red", "transparent"])
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40)
FORMULAS = st.sampled_from([r"\frac{a}{b}", r"\frac{a}{", r"\sum_{i=1}^n i^2", r"\unheard{x}", "}", "x^2"])
AMOUNTS = st.floats(-1e12, 1e12) | st.integers(0, 20).map(float)


def rows(items: st.SearchStrategy[object], most: int) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(items, min_size=1, max_size=most).map(tuple)


PLACED = {
    "element_id": st.none() | IDS,
    "x": PLACES,
    "y": PLACES,
    "width": SIZES,
    "height": SIZES,
}
DRAWINGS = st.one_of(
    st.builds(DrawText, content=WORDS, color=COLOURS, font_size=st.floats(8, 120), **PLACED),
    st.builds(
        DrawShape, shape=st.sampled_from(["rectangle", "circle", "triangle"]), fill_color=COLOURS, **PLACED
    ),
    st.builds(
        DrawChart,
        chart_type=st.sampled_from(["bar", "column", "line", "pie", "ring", "area", "radar", "scatter"]),
        data=st.builds(
            ChartData,
            labels=rows(WORDS, 5) | st.just(()),
            legends=rows(WORDS, 3) | st.just(()),
            series=rows(rows(AMOUNTS, 5) | st.just(()), 3),
        ),
        theme_colors=rows(COLOURS, 3),
        **PLACED,
    ),
    st.builds(DrawLatex, latex=FORMULAS, color=COLOURS, **PLACED),
    st.builds(DrawTable, data=rows(rows(WORDS, 3), 3), theme_color=COLOURS, **PLACED),
    st.builds(
        DrawLine,
        element_id=st.none() | IDS,
        start_x=PLACES,
        start_y=PLACES,
        end_x=PLACES,
        end_y=PLACES,
        color=COLOURS,
        width=st.floats(0.5, 40),
        style=st.sampled_from(["solid", "dashed"]),
        points=st.tuples(*[st.sampled_from(["", "arrow", "dot"])] * 2),
    ),
    st.builds(DrawCode, code=WORDS | st.just("a\nb\nc\n"), language=WORDS, file_name=WORDS, **PLACED),
)
EDITS = st.builds(
    EditCode,
    element_id=IDS,
    operation=st.sampled_from(["insert_after", "insert_before", "delete_lines", "replace_lines"]),
    line_id=LINES,
    line_ids=st.lists(LINES, max_size=4).map(tuple),
    content=st.sampled_from(["", "x = 1", "x = 1\ny = 2", "\n\n\n"]),
)
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    DRAWINGS,
    DRAWINGS,
    EDITS,
    st.builds(Delete, element_id=IDS),
    st.builds(Clear) | st.builds(Open) | st.builds(Close),
    st.builds(Spotlight, element_id=IDS)
    | st.builds(Laser, element_id=IDS)
    | st.builds(PlayVideo, element_id=IDS),
)
ENTRIES = st.builds(RecordedAction, participant=st.none() | st.sampled_from(["ada", "ben"]), action=ACTIONS)
LEDGERS = st.lists(ENTRIES, max_size=12)


def kept(actions: list[Action], board: Board = EMPTY_BOARD) -> list[RecordedAction]:
    """Keep actions as they are kept while they happen: each settled on the board that it finds."""
    ledger = []
    for action in actions:
        ledger.append(RecordedAction(action=assign_element_id(action, board)))
        board = apply_action(board, action)
    return ledger
