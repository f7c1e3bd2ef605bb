"""Serves the built web page from memory, with caching and security headers."""

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
ASSETS_DIR = "assets"  # file names in it contain a content hash

CACHE_IMMUTABLE = "public, max-age=31536000, immutable"
CACHE_REVALIDATE = "no-cache"

# Python's `mimetypes` reads the system's table, which may map .js to text/plain; browsers reject such scripts.
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
GZIP_LEVEL = 6  # higher levels take twice as long and save almost no bytes


class StaticFile:
    def __init__(self, name: str, content: bytes) -> None:
        self.content = content
        self.media_type = FILE_MEDIA_TYPES.get(Path(name).suffix, DEFAULT_MEDIA_TYPE)
        self.etag = f'W/"{sha256(content).hexdigest()[:32]}"'
        self.cache_control = CACHE_IMMUTABLE if name.startswith(f"{ASSETS_DIR}/") else CACHE_REVALIDATE
        self._gzip_bytes: bytes | None = None

    async def gzip_content(self) -> bytes:
        """Compress in a thread at the first request, then cache the result."""
        if self._gzip_bytes is None:
            self._gzip_bytes = await asyncio.to_thread(gzip.compress, self.content, GZIP_LEVEL, mtime=0)
        return self._gzip_bytes


def read_static_files(folder: Path) -> dict[str, StaticFile]:
    """Return all files by URL path, relative to the folder. Empty if the folder does not exist."""
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
    "The API works without it: see /api/openapi.json.\n"
)
ZERO_QUALITY = re.compile(r"\s*q=0(\.0*)?")


class StaticFilesApp:
    """ASGI middleware that serves the page without authentication, and passes all other requests on."""

    def __init__(self, app: Litestar, files: Mapping[str, StaticFile]) -> None:
        self._app = app
        self._files = files
        self._excluded_prefixes = {_first_segment(route.path) for route in app.routes} | {ASSETS_DIR}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or (name := self._match_file_name(scope)) is None:
            await self._app(scope, receive, send)
        elif (file := self._files.get(name)) is None:
            headers = {"content-type": "text/plain; charset=utf-8", "cache-control": CACHE_REVALIDATE}
            await _send_response(scope, send, 503, headers, NOT_BUILT_MESSAGE.encode())
        else:
            await _send_file(scope, send, file)

    def _match_file_name(self, scope: HTTPScope) -> str | None:
        """Return None if the request is not for the page. Client-side routes map to `index.html`."""
        name = scope["path"].removeprefix("/")
        if scope["method"] not in {"GET", "HEAD"}:
            return None
        if not name or name in self._files:
            return name or INDEX_FILE
        return (
            INDEX_FILE if _first_segment(scope["path"]) not in self._excluded_prefixes and _is_document(scope) else None
        )


def _first_segment(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]


def _is_document(scope: HTTPScope) -> bool:
    """True if a browser opens the URL as a page. Old browsers send no `Sec-Fetch-Dest`, but accept HTML."""
    destination = _header_value(scope, b"sec-fetch-dest")
    return destination == "document" if destination else "text/html" in _header_value(scope, b"accept")


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


async def _send_response(scope: HTTPScope, send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    length = {} if status == 304 else {"content-length": str(len(body))}
    encoded_headers = [
        (name.encode(), value.encode()) for name, value in {**headers, **length, **SECURITY_HEADERS}.items()
    ]
    await send({"type": "http.response.start", "status": status, "headers": encoded_headers})
    sent_body = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": sent_body, "more_body": False})


def _accepts_gzip(scope: HTTPScope) -> bool:
    encodings = dict(item.partition(";")[::2] for item in _header_list(scope, b"accept-encoding"))
    return "gzip" in encodings and not ZERO_QUALITY.fullmatch(encodings["gzip"])


def _header_list(scope: HTTPScope, name: bytes) -> list[str]:
    return [item.strip() for item in _header_value(scope, name).split(",")]


def _header_value(scope: HTTPScope, name: bytes) -> str:
    return b",".join(value for known, value in scope["headers"] if known == name).decode("latin-1")
