import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.files import MAX_FILE_NAME_LENGTH, sanitize_file_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("notes.txt", "notes.txt"),
        ("Grüße 世界.md", "Grüße 世界.md"),
        ("../../x", "x"),
        ("/etc/passwd", "passwd"),
        ("C:\\Users\\ada\\cat.png", "cat.png"),
        ("..\\..\\x", "x"),
        ("a\0b.txt", "a b.txt"),
        ("a\r\nSet-Cookie: b", "a Set-Cookie: b"),
        ('"; filename=x', '"; filename=x'),
        ("exe\u202etxt.png", "exe txt.png"),
        ("line\u2028two", "line two"),
        ("half \ud800", "half"),
        ("  much   room .txt ", "much room .txt"),
        ("x" * 300, "x" * MAX_FILE_NAME_LENGTH),
        ("", "file"),
        (".", "file"),
        ("..", "file"),
        ("/", "file"),
        ("a/", "file"),
        ("\t\n", "file"),
    ],
)
def test_sanitize_file_name_removes_paths_and_control_characters(name: str, expected: str) -> None:
    assert sanitize_file_name(name) == expected


@given(st.text())
def test_sanitize_file_name_returns_short_printable_line_for_any_name(name: str) -> None:
    labelled = sanitize_file_name(name)
    assert 1 <= len(labelled) <= MAX_FILE_NAME_LENGTH
    assert labelled.isprintable()
    assert labelled == labelled.strip()
    assert not {"/", "\\"} & set(labelled)
    assert labelled not in {".", ".."}
    assert sanitize_file_name(labelled) == labelled
