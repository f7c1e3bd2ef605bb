import re
import time
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.primitives import Label, ModelName, Name, Title, is_loopback, new_id


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.2", "::1"])
def test_is_loopback_accepts_local_hosts(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "example", ""])
def test_is_loopback_rejects_other_hosts(host: str) -> None:
    assert not is_loopback(host)


SECONDS = st.integers(min_value=0, max_value=2**48 // 1000 - 1)


def id_created_at(seconds: float) -> str:
    with patch.object(time, "time", return_value=seconds):
        return new_id("run")


@given(SECONDS, SECONDS)
def test_new_ids_sort_by_creation_time(one: int, other: int) -> None:
    earlier, later = sorted((one, other))
    assert later == earlier or id_created_at(earlier) < id_created_at(later)


def test_new_ids_one_millisecond_apart_are_ordered() -> None:
    assert id_created_at(1.001) < id_created_at(1.002)


def test_new_ids_of_same_time_are_unique() -> None:
    with patch.object(time, "time", return_value=1.0):
        assert len({new_id("run") for _ in range(1000)}) == 1000


def test_new_id_has_prefix_and_unambiguous_alphabet() -> None:
    assert re.fullmatch(r"run_[0-9a-hjkmnp-tv-z]{26}", new_id("run"))


@pytest.mark.parametrize("text", ["A", "Plain words", "Größe", "two  blanks", "x" * 60])
def test_name_accepts_one_trimmed_line(text: str) -> None:
    assert msgspec.convert(text, Name) == text


@pytest.mark.parametrize("text", ["", " ", " A", "A ", "A\n", "A\nB", "A\0B", "x" * 61])
def test_name_rejects_invalid_text(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, Name)


@pytest.mark.parametrize("text", ["", " ", "\n", "A\0", "x" * 201])
def test_title_rejects_blank_and_too_long_text(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, Title)


def test_label_accepts_empty_text_but_no_nul() -> None:
    assert msgspec.convert("", Label) == ""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert("a\0b", Label)


@pytest.mark.parametrize("text", ["openai/gpt-5", "openrouter/vendor/model:free", "scripted/echo"])
def test_model_name_requires_provider_prefix(text: str) -> None:
    assert msgspec.convert(text, ModelName) == text


@pytest.mark.parametrize("text", ["", "gpt-5", "/gpt-5", "openai/", "open ai/gpt", "a/b c", "a/b\n"])
def test_model_name_rejects_invalid_text(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, ModelName)
