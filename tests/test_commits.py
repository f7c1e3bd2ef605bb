"""Subjects of commits: `area: imperative`, at most 72 characters. Commits before the rule are left alone."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RULE_SINCE = "2026-11-18T02:30:00Z"
SUBJECT = re.compile(r"[a-z0-9][\w ,./-]*: \S.*")


def is_valid_subject(subject: str) -> bool:
    return len(subject) <= 72 and SUBJECT.fullmatch(subject) is not None


def test_new_commits_have_short_subjects_with_an_area() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the sources were not cloned, so there are no commits")
    command = ["git", "log", "--no-merges", f"--since={RULE_SINCE}", "--format=%s"]
    subjects = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603
    assert [subject for subject in subjects if not is_valid_subject(subject)] == []


@pytest.mark.parametrize(
    ("subject", "is_valid"),
    [
        ("store: keep the limiter of model calls beside the rate limiters", True),
        ("docs, page: say options", True),
        ("Fix a bug", False),
        ("engine: " + "x" * 65, False),
    ],
)
def test_subject_needs_an_area_and_at_most_72_characters(subject: str, is_valid: bool) -> None:
    assert is_valid_subject(subject) is is_valid
