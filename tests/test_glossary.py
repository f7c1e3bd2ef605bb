"""The glossary names things that exist, and words that it replaced do not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/glossary.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| word", "| ---"))
]
REPLACED_WORDS = {  # by word: the word of the glossary
    "audience": "visible_to",
    "cap": "max_cost_usd",
    "clerk": "task_model",
    "flips": "position_changes",
    "ledger": "claims",
    "line_up": "preset",
    "recap": "summary",
    "reup": "reset",
    "trial": "evaluation",
    "unproven": "dropped_quotes",
    "upto": "visible_until",
}
KEEPS_OLD_WORDS = {  # by part of a path: the reason
    "store/migrations/": "a migration names what it replaces",
    "stateless": "the fields of the stateless endpoint are the contract of its clients",
}
DEFINITION = re.compile(r"^(?:\s*class |(?:async )?def )(\w+)|^(\w+)(?:: \w+)? = ", re.MULTILINE)


def test_every_row_of_the_glossary_has_five_cells() -> None:
    assert len(ROWS) > 50
    assert [row for row in ROWS if len(row) != 5 or not all(row)] == []


def test_every_python_name_of_the_glossary_is_defined() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "src/moot").rglob("*.py"))
    defined = {name for groups in DEFINITION.findall(source) for name in groups if name}
    named = {name for row in ROWS for name in re.findall(r"`(\w+)`", row[2])}
    assert named - defined == set()


def test_every_path_of_the_glossary_is_served() -> None:
    served = (ROOT / "web/src/api/types.ts").read_text("utf-8")
    paths = {path for row in ROWS for path in re.findall(r"`(/api/[^`]*)`", row[3])}
    assert {path for path in paths if f' {path}"' not in served} == set()


def test_every_word_of_the_glossary_is_explained_once() -> None:
    words = [row[0] for row in ROWS]
    assert sorted(words) == sorted(set(words))


def names_in_source(source: str) -> Iterator[str]:
    """Yield the identifiers and the keys of literal dictionaries."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.Subscript(slice=ast.Constant(value=str(name))):
                yield name
            case ast.Dict(keys=keys):
                yield from (one.value for one in keys if isinstance(one, ast.Constant) and isinstance(one.value, str))


def replaced_words(name: str) -> set[str]:
    snake_case = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", "_", name).lower()
    return {word for word in REPLACED_WORDS if re.search(rf"(?<![a-z]){word}s?(?![a-z])", snake_case)}


def test_replaced_words_do_not_come_back_as_names() -> None:
    found = {
        f"{path}: {name}: use {REPLACED_WORDS[word]}"
        for path in sorted((ROOT / "src/moot").rglob("*.py"))
        if not any(part in path.relative_to(ROOT).as_posix() for part in KEEPS_OLD_WORDS)
        for name in names_in_source(path.read_text("utf-8"))
        for word in replaced_words(name)
    }
    assert found == set()


def test_replaced_words_are_found_in_all_kinds_of_names() -> None:
    source = """
class LineUps:
    def clerk(self, cap): ...
x = {"trial": row.upto, "recapture": row["ledger"]}
make(audience=capital, text="recap")
"""
    found = [word for name in names_in_source(source) for word in replaced_words(name)]
    assert sorted(found) == ["audience", "cap", "clerk", "ledger", "line_up", "trial", "upto"]


def test_every_field_and_event_of_the_glossary_is_in_the_api() -> None:
    types = (ROOT / "web/src/api/types.ts").read_text("utf-8")
    named = {name for row in ROWS for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", row[3])}
    assert {name for name in named if not re.search(rf"\b{name}\b", types)} == set()
