import gzip
from pathlib import Path

import pytest

from moot.server.page_files import ANYTHING, PageFile, read


def test_files_are_named_by_the_paths_under_which_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "assets" / "fonts").mkdir(parents=True)
    for name in ("index.html", "icon.svg", "assets/app-1a.js", "assets/fonts/serif.woff2"):
        (tmp_path / name).write_text(name, "utf-8")
    found = read(tmp_path)
    assert {name: file.content.decode() for name, file in found.items()} == {
        name: name for name in ("index.html", "icon.svg", "assets/app-1a.js", "assets/fonts/serif.woff2")
    }


def test_where_nothing_was_built_there_are_no_files(tmp_path: Path) -> None:
    assert read(tmp_path) == read(tmp_path / "static") == {}


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("index.html", "text/html; charset=utf-8"),
        ("assets/app-1a.js", "text/javascript; charset=utf-8"),
        ("assets/app-1a.css", "text/css; charset=utf-8"),
        ("assets/serif.woff2", "font/woff2"),
        ("moot.webmanifest", "application/manifest+json"),
        ("assets/what", ANYTHING),
    ],
)
def test_the_name_tells_what_kind_of_file_it_is(name: str, media_type: str) -> None:
    assert PageFile(name, b"").media_type == media_type


def test_what_has_its_content_in_its_name_is_kept_and_the_rest_is_asked_for_again() -> None:
    assert PageFile("assets/app-1a.js", b"").cache_control == "public, max-age=31536000, immutable"
    assert PageFile("index.html", b"").cache_control == "no-cache"
    assert PageFile("assets.html", b"").cache_control == "no-cache"


def test_other_content_has_another_tag() -> None:
    one, same, other = (PageFile("index.html", content) for content in (b"one", b"one", b"other"))
    assert one.etag == same.etag != other.etag


async def test_a_file_is_zipped_once_and_that_is_kept() -> None:
    file = PageFile("index.html", b"<p>" * 100)
    zipped = await file.zipped()
    assert gzip.decompress(zipped) == file.content
    assert await file.zipped() is zipped
