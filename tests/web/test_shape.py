"""What holds for every file of the page: short components, and types that say something."""

import re

import pytest

from tests.node import WEB_FOLDER

COMPONENTS = sorted(
    path.relative_to(WEB_FOLDER).as_posix() for path in (WEB_FOLDER / "src").rglob("*.svelte")
)
SOURCES = sorted(
    path.relative_to(WEB_FOLDER).as_posix()
    for folder in ("src", "tests")
    for path in (WEB_FOLDER / folder).rglob("*")
    if path.suffix in {".ts", ".svelte"}
)
MAX_LINES = 250
UNTYPED = re.compile(r"[:<,|&(]\s*any\b|\bas any\b|@ts-(?:ignore|nocheck|expect-error)")


def test_there_are_components() -> None:
    assert "src/App.svelte" in COMPONENTS


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_is_short(component: str) -> None:
    assert len((WEB_FOLDER / component).read_text("utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("source", SOURCES)
def test_a_type_says_something(source: str) -> None:
    assert not UNTYPED.findall((WEB_FOLDER / source).read_text("utf-8"))
