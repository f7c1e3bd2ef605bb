"""What is true of the repository as a whole."""

import re
import shutil
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import moot
from tests.support.node import WEB_FOLDER

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "moot"
MODULES = sorted(
    path.relative_to(SOURCE)
    for path in SOURCE.rglob("*.py")
    if path.name != "__init__.py" and "migrations" not in path.parts  # one test compares what they make
)
PAGE_MODULES = [path.relative_to(ROOT) for path in (WEB_FOLDER / "src").rglob("*") if path.suffix in {".ts", ".svelte"}]
FUNDING = re.compile(r'"funding": (\{[^}]*\}|\[[^\]]*\])')  # where one may give money
MAX_MODULES = 20
LOCK_FILES = ("uv.lock", "package-lock.json")


def tracked_files(*names: str) -> list[Path]:
    """Return the files of these names that belong to the repository, in all folders."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    listed = subprocess.run(  # noqa: S603 - git, with arguments of our own
        [git, "ls-files", "-z", "--", *(f":(glob)**/{name}" for name in names)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_modules_are_found() -> None:
    assert Path("types/events.py") in MODULES
    assert Path("web/src/App.svelte") in PAGE_MODULES


def test_no_folder_exceeds_max_modules() -> None:
    counts = Counter(module.parent for module in [*MODULES, *PAGE_MODULES])
    del counts[Path("types")]  # a dictionary, read by name
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_every_module_has_a_test_file_of_its_name() -> None:
    tables = Path("store/schema")  # `tests/store/test_schema.py` compares all tables with the migrations
    modules = [module for module in MODULES if module.parent != tables]
    wanted = {module: Path("tests", module.parent, f"test_{module.name}") for module in modules}
    missing = [f"src/moot/{module}: {test}" for module, test in wanted.items() if not (ROOT / test).is_file()]
    assert missing == []


def test_tracked_files_finds_files_by_name() -> None:
    assert tracked_files("pyproject.toml") == [ROOT / "pyproject.toml"]


def test_lock_files_contain_no_registry_urls() -> None:
    for lock in tracked_files(*LOCK_FILES):
        hosts = set(re.findall(r"https?://[^/\"\s]+", FUNDING.sub("", lock.read_text("utf-8"))))
        assert hosts == set(), f"{lock.relative_to(ROOT)} names {hosts}"


def test_package_version_matches_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert moot.__version__ == project["version"]


def test_changelog_has_entry_for_current_version() -> None:
    headings = re.findall(r"^## .*$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert any(moot.__version__ in heading for heading in headings)
