"""The glossary names things that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/glossary.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| word", "| ---"))
]
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
