import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.context.files import LARGEST, MEDIA_TYPES, media_type, read_file, recognised
from moot.model.errors import UsageError
from moot.model.requests import File

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_file(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"GIF87a\x01\x00", "image/gif"),
        (b"GIF89a\x01\x00", "image/gif"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7\n\xe2\xe3\xcf\xd3", "application/pdf"),
        (b"plain words", "text/plain"),
        ("Grüße, 世界 🎉".encode(), "text/plain"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", None),
        (b"PK\x03\x04\x14\x00\x00\x00", None),
        (b"words with a \0 in them", None),
        ("Grüße".encode("latin-1"), None),
        ("words".encode("utf-16"), None),
        (b"", None),
    ],
    ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else str(value),
)
def test_the_content_tells_the_type(content: bytes, expected: str | None) -> None:
    assert (media_type(content) or None) == expected


@given(st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_all_text_without_nul_is_text(text: str) -> None:
    taken_for_another = text.startswith(("GIF87a", "GIF89a", "%PDF-"))
    assert taken_for_another or media_type(text.encode()) == "text/plain"


@pytest.mark.parametrize("name", ["picture.txt", "picture", "picture.exe", "picture.pdf"])
def test_the_name_does_not_tell_the_type(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PNG)
    assert read_file(tmp_path / name) == File(name, "image/png", PNG)


def test_text_in_a_file_called_a_picture_is_text(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("only words")
    assert read_file(tmp_path / "notes.png").media_type == "text/plain"


def test_a_file_is_known_by_its_name_and_not_by_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("words")
    assert read_file(tmp_path / "notes.txt").name == "notes.txt"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert (
        refusal(tmp_path / "gone.txt") == f"Cannot read {tmp_path / 'gone.txt'}: No such file or directory."
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"Cannot read {tmp_path}: Is a directory."


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01\x00", b"\xff\xfe\x00", "Grüße".encode("latin-1")])
def test_what_no_model_can_read_is_refused_and_what_can_be_read_is_named(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "thing.txt"
    path.write_bytes(content)
    assert refusal(path).startswith(f"{path} is no text in UTF-8, image or PDF")


def test_an_empty_file_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "thing.txt"
    path.touch()
    assert refusal(path) == f"{path} is empty."


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.touch()
    os.truncate(path, LARGEST + 1)
    assert refusal(path) == f"{path} is larger than 20 MB: attach a smaller file."


def test_the_largest_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"a" * LARGEST)
    assert len(read_file(path).data) == LARGEST


def test_what_is_refused_is_refused_in_the_words_of_whoever_asks() -> None:
    with pytest.raises(UsageError, match=r"^file: it is empty\.$"):
        recognised(b"", "file: it")
    assert recognised(PNG, "file: it") == "image/png"


@pytest.mark.parametrize(
    "content",
    [
        b"<html><script>alert(1)</script></html>",
        b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        b"<?xml version='1.0'?><!DOCTYPE svg>",
        PNG + b"<script>alert(1)</script>",
        b"GIF89a/*<svg/onload=alert(1)>*/",
        b"%PDF-1.7 <html>",
    ],
)
def test_nothing_is_ever_of_a_type_that_a_browser_would_run(content: bytes) -> None:
    assert media_type(content) in MEDIA_TYPES
    assert not {"text/html", "image/svg+xml", "text/javascript"} & set(MEDIA_TYPES)
