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

STATIC = Path(package).parent / "static"
INDEX = "index.html"
ASSETS = "assets"  # the folder of files whose names tell what is in them

FOR_A_YEAR = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"

# Not the machine's own table: some of them call a script plain text, and then no browser runs it.
MEDIA_TYPES = {
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
ANYTHING = "application/octet-stream"
LEVEL = 6  # more of it takes twice as long and saves next to nothing


class PageFile:
    def __init__(self, name: str, content: bytes) -> None:
        self.content = content
        self.media_type = MEDIA_TYPES.get(Path(name).suffix, ANYTHING)
        self.etag = f'W/"{sha256(content).hexdigest()[:32]}"'
        self.cache_control = FOR_A_YEAR if name.startswith(f"{ASSETS}/") else ASK_AGAIN
        self._zipped: bytes | None = None

    async def zipped(self) -> bytes:
        """Return the content as gzip. It is made when it is first asked for, aside, since that takes a moment."""
        if self._zipped is None:
            self._zipped = await asyncio.to_thread(gzip.compress, self.content, LEVEL, mtime=0)
        return self._zipped


def read(folder: Path) -> dict[str, PageFile]:
    """Return all files of a folder by the paths under which they are asked for; none where there is no folder."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: PageFile(name, path.read_bytes()) for name, path in paths.items()}


STRICT = {
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
NOT_BUILT = (
    "The page was not built. Run `uv run python web/build.py ci` and `uv run python web/build.py run build`, then start `moot serve` again. "
    "The API is there: /api/openapi.json describes it.\n"
)
NOT_WANTED = re.compile(r"\s*q=0(\.0*)?")


class Page:
    """An ASGI app around another, which has all that is not of the page. Nobody needs to log in for the page itself."""

    def __init__(self, app: Litestar, files: Mapping[str, PageFile]) -> None:
        self._app = app
        self._files = files
        self._not_ours = {_first(route.path) for route in app.routes} | {ASSETS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or (name := self._wanted(scope)) is None:
            await self._app(scope, receive, send)
        elif (file := self._files.get(name)) is None:
            await _say(scope, send, NOT_BUILT)
        else:
            await _give(scope, send, file)

    def _wanted(self, scope: HTTPScope) -> str | None:
        """Tell which file is meant; None is none of ours."""
        name = scope["path"].removeprefix("/")
        if scope["method"] not in {"GET", "HEAD"}:
            return None
        if not name or name in self._files:
            return name or INDEX
        return INDEX if _first(scope["path"]) not in self._not_ours and _is_document(scope) else None


def _first(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]


def _is_document(scope: HTTPScope) -> bool:
    """Tell whether somebody opens it in a browser. Those that do not say so ask for HTML, and programs do not."""
    opens = _header(scope, b"sec-fetch-dest")
    return opens == "document" if opens else "text/html" in _header(scope, b"accept")


async def _give(scope: HTTPScope, send: Send, file: PageFile) -> None:
    headers = {"etag": file.etag, "cache-control": file.cache_control, "vary": "accept-encoding"}
    if file.etag in _listed(scope, b"if-none-match"):
        await _send(scope, send, 304, headers, b"")
        return
    headers["content-type"] = file.media_type
    body = file.content
    if _takes_gzip(scope) and len(zipped := await file.zipped()) < len(body):
        headers["content-encoding"] = "gzip"
        body = zipped
    await _send(scope, send, 200, headers, body)


async def _say(scope: HTTPScope, send: Send, words: str) -> None:
    headers = {"content-type": "text/plain; charset=utf-8", "cache-control": ASK_AGAIN}
    await _send(scope, send, 503, headers, words.encode())


async def _send(scope: HTTPScope, send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    length = {} if status == 304 else {"content-length": str(len(body))}
    sent = [(name.encode(), value.encode()) for name, value in {**headers, **length, **STRICT}.items()]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    said = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": said, "more_body": False})


def _takes_gzip(scope: HTTPScope) -> bool:
    wanted = dict(item.partition(";")[::2] for item in _listed(scope, b"accept-encoding"))
    return "gzip" in wanted and not NOT_WANTED.fullmatch(wanted["gzip"])


def _listed(scope: HTTPScope, name: bytes) -> list[str]:
    return [item.strip() for item in _header(scope, name).split(",")]


def _header(scope: HTTPScope, name: bytes) -> str:
    return b",".join(value for known, value in scope["headers"] if known == name).decode("latin-1")
