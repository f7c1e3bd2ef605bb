import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.attachments import (
    ACCEPTED_MEDIA_TYPES,
    MAX_FILE_BYTES,
    accepts_file,
    detect_media_type,
    file_omission_note,
    has_files,
    read_file,
    reject_unreadable_file,
    replace_unreadable_files,
    unreadable_file_note,
    validate_media_type,
)
from moot.types.chunks import Text
from moot.types.errors import UsageError
from moot.types.model_info import FileKind
from moot.types.requests import File, ModelRequest, assistant_message, user_message

PICTURE = File("cat {name}.png", "image/png", b"\x89PNG")
PDF = File("paper.pdf", "application/pdf", b"%PDF-")
REQUEST = ModelRequest(
    model="m",
    messages=(
        user_message(PICTURE, PDF, "What is it?"),
        assistant_message("A cat."),
        user_message("And now?"),
    ),
)


def test_what_a_model_takes_stays_and_the_rest_becomes_a_line() -> None:
    sees = replace_unreadable_files(REQUEST, {"text", "image"})
    assert sees.messages[0].parts == (PICTURE, unreadable_file_note(PDF), Text("What is it?"))
    assert sees.messages[1:] == REQUEST.messages[1:]
    assert replace_unreadable_files(REQUEST, {"text", "image", "pdf"}) == REQUEST
    assert not has_files(replace_unreadable_files(REQUEST, {"text"}))


def test_what_those_are_told_who_cannot_read() -> None:
    assert unreadable_file_note(PICTURE).text == snapshot(
        "(cat {name}.png, an image, came with this message, in a form that you cannot read.)"
    )
    assert unreadable_file_note(File("x", "font/woff", b"")).text == snapshot(
        "(x, a file, came with this message, in a form that you cannot read.)"
    )
    assert file_omission_note(PDF).text == snapshot(
        "(paper.pdf, a PDF file, came with this message. It is left out here: newer files take up the room.)"
    )


def test_a_request_of_words_has_no_files() -> None:
    assert has_files(REQUEST)
    assert not has_files(ModelRequest(model="m", messages=(user_message("Only words."),)))


@pytest.mark.parametrize(("kinds", "able"), [({"text"}, False), ({"text", "image"}, True)])
def test_who_cannot_read_a_file_is_named(kinds: set[FileKind], able: bool) -> None:
    assert accepts_file(kinds, PICTURE) is able
    if able:
        reject_unreadable_file("Beta", "a/b", kinds, PICTURE)
        return
    with pytest.raises(UsageError) as caught:
        reject_unreadable_file("Beta", "a/b", kinds, PICTURE)
    assert str(caught.value) == (
        "Beta (a/b) takes no image files such as cat {name}.png: leave the file out or choose another model."
    )


PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def read_error(path: Path) -> str:
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
    assert (detect_media_type(content) or None) == expected


@given(st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_all_text_without_nul_is_text(text: str) -> None:
    taken_for_another = text.startswith(("GIF87a", "GIF89a", "%PDF-"))
    assert taken_for_another or detect_media_type(text.encode()) == "text/plain"


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
        read_error(tmp_path / "gone.txt")
        == f"Cannot read {tmp_path / 'gone.txt'}: No such file or directory."
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert read_error(tmp_path) == f"Cannot read {tmp_path}: Is a directory."


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01\x00", b"\xff\xfe\x00", "Grüße".encode("latin-1")])
def test_what_no_model_can_read_is_refused_and_what_can_be_read_is_named(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "thing.txt"
    path.write_bytes(content)
    assert read_error(path).startswith(f"{path} is no text in UTF-8, image or PDF")


def test_an_empty_file_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "thing.txt"
    path.touch()
    assert read_error(path) == f"{path} is empty."


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.touch()
    os.truncate(path, MAX_FILE_BYTES + 1)
    assert read_error(path) == f"{path} is larger than 20 MB: attach a smaller file."


def test_the_largest_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"a" * MAX_FILE_BYTES)
    assert len(read_file(path).data) == MAX_FILE_BYTES


def test_what_is_refused_is_refused_in_the_words_of_whoever_asks() -> None:
    with pytest.raises(UsageError, match=r"^file: it is empty\.$"):
        validate_media_type(b"", "file: it")
    assert validate_media_type(PNG, "file: it") == "image/png"


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
    assert detect_media_type(content) in ACCEPTED_MEDIA_TYPES
    assert not {"text/html", "image/svg+xml", "text/javascript"} & set(ACCEPTED_MEDIA_TYPES)
