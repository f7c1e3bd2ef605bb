"""A mode is data: what holds for it is in its `ModeSpec`, so few modules compare the name of a mode.

The rule: outside of `moot.modes` and `moot.types.modes`, at most three Python modules and three page files compare
the name of a mode or of its page layout, or have a table by names of modes. Read a field of `ModeSpec` instead, or add one.
To choose a mode for something, such as `mode="debate"`, is no comparison.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from moot.types.modes import MODE_NAMES, MODES
from tests.support.node import WEB_FOLDER

MAX_MODULES = MAX_PAGE_FILES = 3
SOURCE_FOLDER = Path(__file__).parents[1] / "src/moot"
PAGE_FOLDER = WEB_FOLDER / "src"
GENERATED_TYPES = PAGE_FOLDER / "api/types.ts"

QUOTED_NAME = rf"""["'](?:{"|".join(MODES)})["']"""
PAGE_COMPARISONS = re.compile(
    rf"""(?:mode|kind|page_layout)\)?\s*[!=]==\s*{QUOTED_NAME}|{QUOTED_NAME}\s*[!=]==\s*[\w.]*(?:mode|kind|page_layout)\b"""
    rf"""|kind\([^()]*\)\s*[!=]==\s*{QUOTED_NAME}|\[(?:{QUOTED_NAME},?\s*){{2,}}\]""",
    re.IGNORECASE,
)
# The other modes are also the names of fields with options.
PAGE_KEYS = {name: re.compile(rf"^\s*{name}:", re.MULTILINE) for name in ("single", "parallel", "consensus")}


def compares_in_python(source: str) -> bool:
    return re.search(QUOTED_NAME, source) is not None and any(map(_compares, ast.walk(ast.parse(source))))


def _compares(node: ast.AST) -> bool:
    match node:
        case ast.Compare(left=left, comparators=others):
            sides = [left, *others]
            return any(map(_is_mode, sides)) and any(map(_names_in, sides))
        case ast.Match(subject=subject, cases=cases):
            patterns = [part for case in cases for part in ast.walk(case.pattern)]
            return _is_mode(subject) and any(isinstance(part, ast.MatchValue) for part in patterns)
        case ast.Dict() | ast.Set() | ast.Tuple() | ast.List():  # "continue" is also a stage
            return len({*_names_in(node)} & {*MODE_NAMES}) > 1
    return False


def _is_mode(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name == "mode" or name.endswith("_mode")


def _names_in(node: ast.AST | None) -> list[str]:
    """Return the name of a mode, or the names in a literal tuple, list, set or dict."""
    match node:
        case ast.Constant(value=str(value)):
            return [value] if value in MODES else []
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return [name for element in elements for name in _names_in(element)]
        case ast.Dict(keys=keys):
            return [name for key in keys for name in _names_in(key)]
    return []


def compares_in_page(source: str) -> bool:
    keys = [name for name, pattern in PAGE_KEYS.items() if pattern.search(source)]
    return PAGE_COMPARISONS.search(source) is not None or len(keys) > 1


def python_modules() -> Iterator[Path]:
    for path in SOURCE_FOLDER.rglob("*.py"):
        is_mode = path.parent == SOURCE_FOLDER / "modes" or path == SOURCE_FOLDER / "types/modes.py"
        if not is_mode and compares_in_python(path.read_text("utf-8")):
            yield path


def page_files() -> Iterator[Path]:
    for path in PAGE_FOLDER.rglob("*.*"):
        is_source = path.suffix in {".ts", ".svelte"} and path != GENERATED_TYPES
        if is_source and compares_in_page(path.read_text("utf-8")):
            yield path


def test_comparisons_and_tables_are_found() -> None:
    python = (
        'x = plan.mode == "debate"',
        'x = mode in {"single"}',
        'match plan.mode:\n    case "single" | "debate": pass',
        'TABLE = {"single": 1, "debate": 2}',
    )
    assert [text for text in python if not compares_in_python(text)] == []
    page = (
        'table.mode !== "debate"',
        '"single" === mode',
        'kind !== "debate"',
        'runKind(run, discussion) === "debate"',
        'spec.page_layout === "debate"',
        'new Set(["single", "debate"])',
        "single: 1,\n  parallel: 2",
    )
    assert [text for text in page if not compares_in_page(text)] == []


def test_stages_and_chosen_modes_are_no_comparisons() -> None:
    python = ('x = turn.stage == "debate"', 'RunPlan(mode="debate")', 'TITLES = {"initial": "", "debate": ""}')
    assert not any(map(compares_in_python, python))
    assert not any(
        map(compares_in_page, ('turn.stage === "debate"', 'mode: "debate",', "debate: null, advisors: null"))
    )


def test_few_modules_compare_mode_names() -> None:
    found = sorted(path.relative_to(SOURCE_FOLDER).as_posix() for path in python_modules())
    assert len(found) <= MAX_MODULES, found


def test_few_page_files_compare_mode_names() -> None:
    found = sorted(path.relative_to(PAGE_FOLDER).as_posix() for path in page_files())
    assert len(found) <= MAX_PAGE_FILES, found
