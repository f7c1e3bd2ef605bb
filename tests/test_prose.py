"""Words that docstrings, comments, log messages and the documentation do not use, because readers cannot search for them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted(
    path for folder in ("src/moot", "tests", "bench", "tools", "docs") for path in (ROOT / folder).rglob("*.py")
)
PAGE_SOURCES = sorted(
    path
    for folder in ("src", "tests")
    for path in (ROOT / "web" / folder).rglob("*")
    if path.suffix in {".ts", ".svelte", ".css"}
)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "web/src").rglob("*.md")])
BANNED = re.compile(
    r"\b(whoever|somebody|nobody|anybody|anew|wherever|whatever|wished|therein|one's own"
    r"|is told|are told|was told|comes to|takes up|goes on|what was said|is to be|those who)\b",
    re.IGNORECASE,
)
# What a model said or is asked is quoted as it is; a quoted example is not our prose.
ALLOWED = {
    "src/moot/providers/scripted": "samples are the words of models",
}
LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical"}
STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\\n])*`'
PAGE_COMMENT = re.compile(rf"{STRING}|(/\*.*?\*/|<!--.*?-->|(?<![:\w])//[^\n]*)", re.DOTALL)
CODE = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def prose_of_source(path: Path) -> Iterator[str]:
    """Yield the docstrings, comments and log messages of a module."""
    source = path.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOG_METHODS:
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def prose_of_page(path: Path) -> Iterator[str]:
    """Yield the comments of a page file, in TypeScript, in HTML and in styles."""
    yield from (comment for comment in PAGE_COMMENT.findall(path.read_text("utf-8")) if comment)


def banned_words(name: str, text: str) -> list[str]:
    return [f"{name}: {found[0]!r} in {text.strip()[:100]!r}" for found in BANNED.finditer(text)]


def test_source_prose_has_no_banned_word() -> None:
    found = [
        words
        for path in [*SOURCES, *PAGE_SOURCES]
        if BANNED.search(path.read_text("utf-8"))  # parsing all files would take long
        if not any((name := path.relative_to(ROOT).as_posix()).startswith(allowed) for allowed in ALLOWED)
        for text in (prose_of_source(path) if path.suffix == ".py" else prose_of_page(path))
        for words in banned_words(name, text)
    ]
    assert found == []


def test_documentation_has_no_banned_word() -> None:
    found = [
        words
        for path in PAGES
        for line in CODE.sub("", path.read_text("utf-8")).splitlines()
        for words in banned_words(path.relative_to(ROOT).as_posix(), line)
    ]
    assert found == []


def test_banned_words_are_found_in_all_kinds_of_prose(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""Somebody reads."""\nlog.info("it goes on")  # whoever\nx = "nobody"\n')
    found = [found[0] for text in prose_of_source(module) for found in BANNED.finditer(text)]
    assert sorted(found) == ["Somebody", "goes on", "whoever"], "a string that is not logged is not prose"


def test_banned_words_are_found_in_comments_of_the_page(tmp_path: Path) -> None:
    component = tmp_path / "Component.svelte"
    component.write_text(
        """<!-- Somebody reads. --><script>
/** It comes to
 * an end. */
const url = "https://nobody"; // whoever
</script><style>p { /* anew */ }</style>"""
    )
    found = [found[0] for text in prose_of_page(component) for found in BANNED.finditer(text)]
    assert sorted(found) == ["Somebody", "anew", "comes to", "whoever"], "a string is not prose"
