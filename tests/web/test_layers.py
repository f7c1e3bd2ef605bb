"""The layers of the page: a folder imports only from the folders below it, so there is no import cycle between folders."""

import re
from pathlib import PurePosixPath

from tests.support.node import WEB_FOLDER

# From the bottom up. Folders on one line do not import each other.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"api"}),
    frozenset({"state"}),
    frozenset({"stores", "markdown"}),
    frozenset({"ui"}),
    frozenset({"features/model-picker"}),
    frozenset({"features/evaluations", "features/persona-suggestions"}),
    frozenset({"features/turn-card"}),
    frozenset({"features/modes", "features/composer", "features/participants"}),
    frozenset({"features/library", "features/models", "features/usage"}),
    frozenset({"features/new-discussion", "features/discussion"}),
    frozenset({"features/shell"}),
    frozenset({"."}),
)
LEVELS = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
IMPORT = re.compile(r"""(?:from|import|import\()\s*["'](\.{1,2}/[^"']+)["']""")
SOURCES = sorted(path for path in (WEB_FOLDER / "src").rglob("*") if path.suffix in {".ts", ".svelte"})


def layer_folder(path: str) -> str:
    parts = PurePosixPath(path).parts[:-1]
    return "/".join(parts[: 2 if parts[:1] == ("features",) else 1]) or "."


def list_imports() -> list[tuple[str, str]]:
    source_folder = (WEB_FOLDER / "src").resolve()
    return [
        (
            path.relative_to(WEB_FOLDER / "src").as_posix(),
            (path.parent / target).resolve().relative_to(source_folder).as_posix(),
        )
        for path in SOURCES
        for target in IMPORT.findall(path.read_text("utf-8"))
    ]


def test_every_page_folder_has_a_layer() -> None:
    folders = {layer_folder(path.relative_to(WEB_FOLDER / "src").as_posix()) for path in SOURCES}
    assert folders == LEVELS.keys()


def test_page_folder_imports_only_from_lower_layers() -> None:
    found = list_imports()
    assert len(found) > len(SOURCES), "the imports of the page were not found"
    upward = [
        f"{importer} imports {imported}"
        for importer, imported in found
        if layer_folder(importer) != layer_folder(imported)
        and LEVELS[layer_folder(importer)] <= LEVELS[layer_folder(imported)]
    ]
    assert upward == []


def test_no_two_page_folders_import_each_other() -> None:
    """The folders of one layer do not either, such as a folder and its sub-folder."""
    found = {(str(PurePosixPath(a).parent), str(PurePosixPath(b).parent)) for a, b in list_imports()}
    assert [f"{a} and {b}" for a, b in sorted(found) if a < b and (b, a) in found] == []
