"""The files of the page as they were built, read once: those of a later build are served after the next start."""

import asyncio
import gzip
from hashlib import sha256
from pathlib import Path

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
