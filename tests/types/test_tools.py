import msgspec
import pytest

from moot.types.tools import ToolName, is_server_name, truncate_with_note


def test_truncate_with_note_adds_original_length() -> None:
    assert truncate_with_note("short", 5) == "short"
    assert truncate_with_note("x" * 1000, 10).startswith("x" * 10 + "\n[Cut here: this was 1,000 characters long")


@pytest.mark.parametrize("name", ["moot", "my-files_2", "0"])
def test_server_name_accepts_valid_names(name: str) -> None:
    assert is_server_name(name)
    assert msgspec.convert(name, ToolName) == name


@pytest.mark.parametrize("name", ["", "Moot", "a b", "a/b", "-a", "a\n", "x" * 33, "ä"])
def test_server_name_rejects_invalid_names(name: str) -> None:
    assert not is_server_name(name)


@pytest.mark.parametrize("name", ["a/b/c", "a/", "a/b c", "A/b", "a/b\n"])
def test_tool_name_rejects_invalid_names(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(name, ToolName)
