"""Serves the built page from memory."""

import asyncio
import gzip
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.types import HTTPScope, Receive, Scope, Send

from moot import __file__ as package

STATIC_DIR = Path(package).parent / "static"
INDEX_FILE = "index.html"
ASSETS_DIR = "assets"  # the folder of files whose names tell what is in them

CACHE_IMMUTABLE = "public, max-age=31536000, immutable"
CACHE_REVALIDATE = "no-cache"

# Not the machine's own table: some of them call a script plain text, and then no browser runs it.
FILE_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
DEFAULT_MEDIA_TYPE = "application/octet-stream"
GZIP_LEVEL = 6  # more of it takes twice as long and saves next to nothing


class StaticFile:
    def __init__(self, name: str, content: bytes) -> None:
        self.content = content
        self.media_type = FILE_MEDIA_TYPES.get(Path(name).suffix, DEFAULT_MEDIA_TYPE)
        self.etag = f'W/"{sha256(content).hexdigest()[:32]}"'
        self.cache_control = CACHE_IMMUTABLE if name.startswith(f"{ASSETS_DIR}/") else CACHE_REVALIDATE
        self._gzip_bytes: bytes | None = None

    async def gzip_content(self) -> bytes:
        """Return the content as gzip. It is made when it is first asked for, aside, since that takes a moment."""
        if self._gzip_bytes is None:
            self._gzip_bytes = await asyncio.to_thread(gzip.compress, self.content, GZIP_LEVEL, mtime=0)
        return self._gzip_bytes


def read_static_files(folder: Path) -> dict[str, StaticFile]:
    """Return all files of a folder by the paths under which they are asked for; none where there is no folder."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: StaticFile(name, path.read_bytes()) for name, path in paths.items()}


SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": (
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), serial=(), usb=()"
    ),
}
NOT_BUILT_MESSAGE = (
    "The page was not built. Run `uv run python web/build.py ci` and `uv run python web/build.py run build`, then start `moot serve` again. "
    "The API is there: /api/openapi.json describes it.\n"
)
ZERO_QUALITY = re.compile(r"\s*q=0(\.0*)?")


class StaticFilesApp:
    """An ASGI app around another, which has all that is not of the page. Nobody needs to log in for the page itself."""

    def __init__(self, app: Litestar, files: Mapping[str, StaticFile]) -> None:
        self._app = app
        self._files = files
        self._excluded_prefixes = {_first_segment(route.path) for route in app.routes} | {ASSETS_DIR}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or (name := self._match_file_name(scope)) is None:
            await self._app(scope, receive, send)
        elif (file := self._files.get(name)) is None:
            await _send_text(scope, send, NOT_BUILT_MESSAGE)
        else:
            await _send_file(scope, send, file)

    def _match_file_name(self, scope: HTTPScope) -> str | None:
        """Tell which file is meant; None is none of ours."""
        name = scope["path"].removeprefix("/")
        if scope["method"] not in {"GET", "HEAD"}:
            return None
        if not name or name in self._files:
            return name or INDEX_FILE
        return (
            INDEX_FILE
            if _first_segment(scope["path"]) not in self._excluded_prefixes and _is_document(scope)
            else None
        )


def _first_segment(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]


def _is_document(scope: HTTPScope) -> bool:
    """Tell whether somebody opens it in a browser. Those that do not say so ask for HTML, and programs do not."""
    opens = _header_value(scope, b"sec-fetch-dest")
    return opens == "document" if opens else "text/html" in _header_value(scope, b"accept")


async def _send_file(scope: HTTPScope, send: Send, file: StaticFile) -> None:
    headers = {"etag": file.etag, "cache-control": file.cache_control, "vary": "accept-encoding"}
    if file.etag in _header_list(scope, b"if-none-match"):
        await _send_response(scope, send, 304, headers, b"")
        return
    headers["content-type"] = file.media_type
    body = file.content
    if _accepts_gzip(scope) and len(zipped := await file.gzip_content()) < len(body):
        headers["content-encoding"] = "gzip"
        body = zipped
    await _send_response(scope, send, 200, headers, body)


async def _send_text(scope: HTTPScope, send: Send, text: str) -> None:
    headers = {"content-type": "text/plain; charset=utf-8", "cache-control": CACHE_REVALIDATE}
    await _send_response(scope, send, 503, headers, text.encode())


async def _send_response(
    scope: HTTPScope, send: Send, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    length = {} if status == 304 else {"content-length": str(len(body))}
    sent = [
        (name.encode(), value.encode()) for name, value in {**headers, **length, **SECURITY_HEADERS}.items()
    ]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    said = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": said, "more_body": False})


def _accepts_gzip(scope: HTTPScope) -> bool:
    wanted = dict(item.partition(";")[::2] for item in _header_list(scope, b"accept-encoding"))
    return "gzip" in wanted and not ZERO_QUALITY.fullmatch(wanted["gzip"])


def _header_list(scope: HTTPScope, name: bytes) -> list[str]:
    return [item.strip() for item in _header_value(scope, name).split(",")]


def _header_value(scope: HTTPScope, name: bytes) -> str:
    return b",".join(value for known, value in scope["headers"] if known == name).decode("latin-1")
