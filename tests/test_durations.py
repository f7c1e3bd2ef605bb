"""The plugin that sums the times of tests by folder and by fixture."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = """
import time
import pytest

@pytest.fixture
def inner():
    time.sleep(0.2)

@pytest.fixture
def outer(inner):
    pass

def test_one(outer):
    pass
"""


def test_durations_are_summed_by_folder_and_exclude_nested_fixtures(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "test_one.py").write_text(TESTS)
    ended = subprocess.run(  # noqa: S603 - our own words
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tools.durations",
            "-c",
            "/dev/null",
            f"--rootdir={tmp_path}",
            tmp_path,
        ],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    seconds = {name: float(took) for name, took in re.findall(r"(\w+) \(function\) +([\d.]+)", ended.stdout)}
    assert seconds["inner"] >= 0.2
    assert seconds["outer"] < seconds["inner"]
    assert re.search(r"^part/test_one.py +1 .*$", ended.stdout, re.MULTILINE)
