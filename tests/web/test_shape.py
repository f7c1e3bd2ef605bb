"""What holds for every file of the page: a size that can be read, and types that say something."""

import re

import pytest

from tests.support.node import WEB_FOLDER

COMPONENTS = sorted(path.relative_to(WEB_FOLDER).as_posix() for path in (WEB_FOLDER / "src").rglob("*.svelte"))
SOURCES = sorted(
    path.relative_to(WEB_FOLDER).as_posix()
    for folder in ("src", "tests")
    for path in (WEB_FOLDER / folder).rglob("*")
    if path.suffix in {".ts", ".svelte"}
)
STYLES = sorted(path.relative_to(WEB_FOLDER).as_posix() for path in (WEB_FOLDER / "src").rglob("*.css"))
GENERATED_TYPES = "src/api/types.ts"
MAX_LINES = 250
MAX_SOURCE_LINES = 400
UNTYPED = re.compile(r"[:<,|&(]\s*any\b|\bas any\b|@ts-(?:ignore|nocheck|expect-error)")


def test_components_are_found() -> None:
    assert "src/App.svelte" in COMPONENTS


@pytest.mark.parametrize("component", COMPONENTS)
def test_component_does_not_exceed_max_lines(component: str) -> None:
    assert len((WEB_FOLDER / component).read_text("utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("source", [one for one in (*SOURCES, *STYLES) if one != GENERATED_TYPES])
def test_source_does_not_exceed_max_lines(source: str) -> None:
    assert len((WEB_FOLDER / source).read_text("utf-8").splitlines()) <= MAX_SOURCE_LINES


@pytest.mark.parametrize("source", SOURCES)
def test_source_uses_no_any_and_no_ts_suppression(source: str) -> None:
    assert not UNTYPED.findall((WEB_FOLDER / source).read_text("utf-8"))


IDENTIFIER_AS_TEXT = re.compile(r">\s*[A-Z][a-z]+[A-Z]\w*\s*</")
PRODUCT_NAMES = {"OpenAI", "OpenRouter"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_component_shows_no_identifier_as_text(component: str) -> None:
    shown = IDENTIFIER_AS_TEXT.findall((WEB_FOLDER / component).read_text("utf-8"))
    assert [text for text in shown if text.strip("></ \n") not in PRODUCT_NAMES] == []
