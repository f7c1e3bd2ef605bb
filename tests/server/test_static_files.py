import gzip
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from httpx import ASGITransport, AsyncClient, Response
from litestar import Litestar, get, post
from litestar.params import FromPath

from moot.server.csrf import SameOriginMiddleware
from moot.server.errors import EXCEPTION_HANDLERS
from moot.server.static_files import (
    DEFAULT_MEDIA_TYPE,
    SECURITY_HEADERS,
    StaticFile,
    StaticFilesApp,
    read_static_files,
)

INDEX = b"<!doctype html><title>Moot</title>" + b"<p>A round table.</p>" * 50
SCRIPT = b"console.log('moot');" * 100
INCOMPRESSIBLE = os.urandom(500)
FILES = {
    name: StaticFile(name, content)
    for name, content in {
        "index.html": INDEX,
        "icon.svg": b"<svg/>",
        "assets/app-1a.js": SCRIPT,
        "assets/serif-2b.woff2": INCOMPRESSIBLE,
    }.items()
}
NAVIGATION = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"}
OLD_BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FETCH_HEADERS = {"Sec-Fetch-Dest": "empty", "Accept": "text/html"}
NO_COMPRESSION = {"Accept-Encoding": "identity"}


@get("/healthz")
async def healthz() -> str:
    return "ok"


@get("/api/things/{id:str}")
async def get_thing(id: FromPath[str]) -> str:
    return id


@post("/api/things")
async def create_thing() -> str:
    return "made"


def create_client(files: dict[str, StaticFile]) -> AsyncClient:
    app = Litestar(
        [healthz, get_thing, create_thing],
        exception_handlers=EXCEPTION_HANDLERS,
        openapi_config=None,
        logging_config=None,
    )
    middleware = SameOriginMiddleware(StaticFilesApp(app, files), loopback=False)
    return AsyncClient(transport=ASGITransport(app=middleware), base_url="http://moot.example")  # type: ignore[arg-type]


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with create_client(FILES) as client:
        yield client


def is_problem_404(reply: Response) -> bool:
    return (reply.status_code, reply.headers["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("headers", [{}, NAVIGATION, OLD_BROWSER, {"Accept": "*/*"}], ids=str)
async def test_root_path_serves_index(client: AsyncClient, headers: dict[str, str]) -> None:
    reply = await client.get("/", headers=headers)
    assert (reply.status_code, reply.content) == (200, INDEX)
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert reply.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/d/dis_1", "/settings", "/d/dis_1/r/run_2", "//x", "/d/a%2Fb", "/index.html"])
@pytest.mark.parametrize("headers", [NAVIGATION, OLD_BROWSER], ids=str)
async def test_browser_navigation_to_any_path_serves_index(
    client: AsyncClient, path: str, headers: dict[str, str]
) -> None:
    reply = await client.get(f"http://moot.example{path}", headers=headers)
    assert (reply.status_code, reply.content) == (200, INDEX)


@pytest.mark.parametrize("headers", [{}, {"Accept": "application/json"}, FETCH_HEADERS], ids=str)
async def test_unknown_path_returns_404_to_non_browser(client: AsyncClient, headers: dict[str, str]) -> None:
    assert is_problem_404(await client.get("/d/dis_1", headers=headers))


@pytest.mark.parametrize("path", ["/api/nothing", "/api", "/api/things/1/2", "/healthz/more"])
async def test_unknown_api_path_returns_404_to_browser(client: AsyncClient, path: str) -> None:
    assert is_problem_404(await client.get(path, headers=NAVIGATION))


async def test_application_routes_are_unaffected(client: AsyncClient) -> None:
    assert (await client.get("/healthz", headers=NAVIGATION)).text == "ok"
    assert (await client.get("/api/things/7", headers=NAVIGATION)).text == "7"
    assert (await client.post("/api/things")).text == "made"
    assert (await client.post("/")).status_code == 404
    assert (await client.delete("/icon.svg")).status_code == 404


async def test_files_are_served_with_media_type_and_cache_control(client: AsyncClient) -> None:
    script = await client.get("/assets/app-1a.js")
    assert (script.content, script.headers["Content-Type"]) == (SCRIPT, "text/javascript; charset=utf-8")
    assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    icon = await client.get("/icon.svg", headers={"Sec-Fetch-Dest": "image"})
    assert (icon.headers["Content-Type"], icon.headers["Cache-Control"]) == ("image/svg+xml", "no-cache")


@pytest.mark.parametrize("path", ["/assets/gone-9f.js", "/assets/", "/assets/%2e%2e/%2e%2e/pyproject.toml"])
async def test_unknown_asset_returns_404(client: AsyncClient, path: str) -> None:
    for headers in ({}, NAVIGATION):
        assert is_problem_404(await client.get(path, headers=headers))


@pytest.mark.parametrize("wanted", ["gzip", "br, gzip", "deflate, gzip;q=0.5", "gzip; q=1.0"])
async def test_compressible_file_is_sent_with_gzip_when_accepted(client: AsyncClient, wanted: str) -> None:
    reply = await client.send(client.build_request("GET", "/", headers={"Accept-Encoding": wanted}), stream=True)
    sent = b"".join([piece async for piece in reply.aiter_raw()])
    assert (reply.headers["Content-Encoding"], gzip.decompress(sent)) == ("gzip", INDEX)
    assert int(reply.headers["Content-Length"]) == len(sent) < len(INDEX)
    assert reply.headers["Vary"] == "accept-encoding"


@pytest.mark.parametrize("wanted", ["identity", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip", ""])
async def test_file_is_sent_uncompressed_when_gzip_is_not_accepted(client: AsyncClient, wanted: str) -> None:
    reply = await client.get("/", headers={"Accept-Encoding": wanted})
    assert "Content-Encoding" not in reply.headers
    assert reply.content == INDEX


async def test_incompressible_file_is_sent_uncompressed(client: AsyncClient) -> None:
    reply = await client.get("/assets/serif-2b.woff2")
    assert ("Content-Encoding" in reply.headers, reply.content) == (False, INCOMPRESSIBLE)


async def test_matching_etag_returns_304(client: AsyncClient) -> None:
    first = await client.get("/")
    for tags in (first.headers["ETag"], f'W/"other", {first.headers["ETag"]}'):
        again = await client.get("/d/dis_1", headers=NAVIGATION | {"If-None-Match": tags})
        assert (again.status_code, again.content) == (304, b"")
        assert (again.headers["ETag"], again.headers["Cache-Control"]) == (first.headers["ETag"], "no-cache")
        assert "Content-Length" not in again.headers
    other = await client.get("/", headers={"If-None-Match": 'W/"other"'})
    assert other.status_code == 200


@pytest.mark.parametrize("path", ["/", "/assets/app-1a.js"])
async def test_head_returns_same_headers_as_get(client: AsyncClient, path: str) -> None:
    head, whole = (
        await client.head(path, headers=NO_COMPRESSION),
        await client.get(path, headers=NO_COMPRESSION),
    )
    assert (head.status_code, head.content, head.headers) == (200, b"", whole.headers)


async def test_every_response_has_security_headers(client: AsyncClient) -> None:
    tag = {"If-None-Match": FILES["index.html"].etag}
    async with create_client({}) as bare:
        replies = [
            await client.get("/"),
            await client.get("/assets/app-1a.js"),
            await client.head("/"),
            await client.get("/", headers=tag),
            await bare.get("/"),
        ]
    for reply in replies:
        assert {name: reply.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "unsafe" not in SECURITY_HEADERS["content-security-policy"]


async def test_missing_page_build_returns_503_with_build_command() -> None:
    async with create_client({}) as client:
        for path in ("/", "/d/dis_1"):
            reply = await client.get(path, headers=NAVIGATION)
            assert reply.status_code == 503
            assert "build.py run build" in reply.text
        assert (await client.get("/healthz")).text == "ok"


async def test_cross_site_navigation_is_accepted_and_embedding_rejected(client: AsyncClient) -> None:
    elsewhere = NAVIGATION | {"Sec-Fetch-Site": "cross-site"}
    assert (await client.get("/d/dis_1", headers=elsewhere)).status_code == 200
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    assert (await client.get("/assets/app-1a.js", headers=embedded)).status_code == 403
    framed = elsewhere | {"Sec-Fetch-Dest": "iframe"}
    assert (await client.get("/", headers=framed)).status_code == 403


def test_static_files_are_keyed_by_url_path(tmp_path: Path) -> None:
    (tmp_path / "assets" / "fonts").mkdir(parents=True)
    for name in ("index.html", "icon.svg", "assets/app-1a.js", "assets/fonts/serif.woff2"):
        (tmp_path / name).write_text(name, "utf-8")
    found = read_static_files(tmp_path)
    assert {name: file.content.decode() for name, file in found.items()} == {
        name: name for name in ("index.html", "icon.svg", "assets/app-1a.js", "assets/fonts/serif.woff2")
    }


def test_missing_or_empty_static_folder_has_no_files(tmp_path: Path) -> None:
    assert read_static_files(tmp_path) == read_static_files(tmp_path / "static") == {}


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("index.html", "text/html; charset=utf-8"),
        ("assets/app-1a.js", "text/javascript; charset=utf-8"),
        ("assets/app-1a.css", "text/css; charset=utf-8"),
        ("assets/serif.woff2", "font/woff2"),
        ("moot.webmanifest", "application/manifest+json"),
        ("assets/what", DEFAULT_MEDIA_TYPE),
    ],
)
def test_media_type_is_derived_from_file_name(name: str, media_type: str) -> None:
    assert StaticFile(name, b"").media_type == media_type


def test_hashed_assets_are_immutable_and_other_files_revalidate() -> None:
    assert StaticFile("assets/app-1a.js", b"").cache_control == "public, max-age=31536000, immutable"
    assert StaticFile("index.html", b"").cache_control == "no-cache"
    assert StaticFile("assets.html", b"").cache_control == "no-cache"


def test_etag_depends_on_content() -> None:
    one, same, other = (StaticFile("index.html", content) for content in (b"one", b"one", b"other"))
    assert one.etag == same.etag != other.etag


async def test_gzip_content_is_cached() -> None:
    file = StaticFile("index.html", b"<p>" * 100)
    zipped = await file.gzip_content()
    assert gzip.decompress(zipped) == file.content
    assert await file.gzip_content() is zipped
