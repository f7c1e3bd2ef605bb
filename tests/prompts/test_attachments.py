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
    replace_unreadable_part,
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


def test_replace_unreadable_files_keeps_accepted_files_and_adds_notes() -> None:
    readable = replace_unreadable_files(REQUEST, {"text", "image"})
    assert readable.messages[0].parts == (PICTURE, replace_unreadable_part(PDF, ()), Text("What is it?"))
    assert readable.messages[1:] == REQUEST.messages[1:]
    assert replace_unreadable_files(REQUEST, {"text", "image", "pdf"}) == REQUEST
    assert not has_files(replace_unreadable_files(REQUEST, {"text"}))


def test_file_notes_match_snapshots() -> None:
    assert replace_unreadable_part(PICTURE, ()) == Text(
        snapshot("(cat {name}.png, an image, came with this message, in a form that you cannot read.)")
    )
    assert replace_unreadable_part(File("x", "font/woff", b""), ()) == Text(
        snapshot("(x, a file, came with this message, in a form that you cannot read.)")
    )
    assert file_omission_note(PDF).text == snapshot(
        "(paper.pdf, a PDF file, came with this message. It is left out here: newer files take up the room.)"
    )


def test_has_files_is_false_for_text_only_request() -> None:
    assert has_files(REQUEST)
    assert not has_files(ModelRequest(model="m", messages=(user_message("Only words."),)))


@pytest.mark.parametrize(("kinds", "able"), [({"text"}, False), ({"text", "image"}, True)])
def test_reject_unreadable_file_names_participant_and_model(kinds: set[FileKind], able: bool) -> None:
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
def test_detect_media_type_reads_content(content: bytes, expected: str | None) -> None:
    assert (detect_media_type(content) or None) == expected


@given(st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_detect_media_type_returns_plain_text_for_text_without_nul(text: str) -> None:
    taken_for_another = text.startswith(("GIF87a", "GIF89a", "%PDF-"))
    assert taken_for_another or detect_media_type(text.encode()) == "text/plain"


@pytest.mark.parametrize("name", ["picture.txt", "picture", "picture.exe", "picture.pdf"])
def test_read_file_ignores_extension_of_image(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PNG)
    assert read_file(tmp_path / name) == File(name, "image/png", PNG)


def test_read_file_detects_text_despite_image_extension(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("only words")
    assert read_file(tmp_path / "notes.png").media_type == "text/plain"


def test_read_file_keeps_only_base_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("words")
    assert read_file(tmp_path / "notes.txt").name == "notes.txt"


def test_read_file_rejects_missing_file_with_path(tmp_path: Path) -> None:
    assert read_error(tmp_path / "gone.txt") == f"Cannot read {tmp_path / 'gone.txt'}: No such file or directory."


def test_read_file_rejects_folder(tmp_path: Path) -> None:
    assert read_error(tmp_path) == f"Cannot read {tmp_path}: Is a directory."


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01\x00", b"\xff\xfe\x00", "Grüße".encode("latin-1")])
def test_read_file_rejects_unsupported_content_and_names_supported_types(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "thing.txt"
    path.write_bytes(content)
    assert read_error(path).startswith(f"{path} is no text in UTF-8, image or PDF")


def test_read_file_rejects_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "thing.txt"
    path.touch()
    assert read_error(path) == f"{path} is empty."


def test_read_file_rejects_too_large_file_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.touch()
    os.truncate(path, MAX_FILE_BYTES + 1)
    assert read_error(path) == f"{path} is larger than 20 MB: attach a smaller file."


def test_read_file_accepts_file_of_maximum_size(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"a" * MAX_FILE_BYTES)
    assert len(read_file(path).data) == MAX_FILE_BYTES


def test_validate_media_type_uses_given_prefix_in_error() -> None:
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
def test_detect_media_type_never_returns_type_that_browsers_execute(content: bytes) -> None:
    assert detect_media_type(content) in ACCEPTED_MEDIA_TYPES
    assert not {"text/html", "image/svg+xml", "text/javascript"} & set(ACCEPTED_MEDIA_TYPES)
