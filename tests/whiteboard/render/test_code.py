from moot.types.drawing import DrawCode
from moot.whiteboard.code_listing import create_listing
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.code import render_code_panel
from tests.whiteboard.markup_parsing import parse_markup

NBSP = "\u00a0"
BOX = Box(0, 0, 480, 280)


def panel_texts(code: str, box: Box = BOX, file_name: str = "") -> list[str]:
    drawing = DrawCode(code=code, x=0, y=0, file_name=file_name)
    tree = parse_markup(render_code_panel(drawing, create_listing(code), box))
    return [(node.text or "").replace(NBSP, " ") for node in tree.iter("text")]


def test_code_lines_are_shown_with_line_ids() -> None:
    assert panel_texts("if x:\n    y()") == ["L1", "if x:", "L2", "    y()"]


def test_empty_line_has_only_line_id() -> None:
    assert panel_texts("a\n\nb") == ["L1", "a", "L2", "L3", "b"]


def test_file_name_is_shown_as_title() -> None:
    assert panel_texts("a", file_name="grow.py") == ["grow.py", "L1", "a"]


def test_tabs_become_spaces() -> None:
    assert panel_texts("\ta") == ["L1", "    a"]


def test_hidden_lines_are_counted() -> None:
    shown = panel_texts("\n".join("abc"[at % 3] for at in range(50)), Box(0, 0, 300, 100))
    assert shown[-1] == f"… {50 - (len(shown) - 1) // 2} more lines"


def test_long_line_is_truncated() -> None:
    assert panel_texts("x" * 500)[1].endswith("x…")
