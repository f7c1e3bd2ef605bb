"""Files over HTTP: upload one, read what is known of it or what is in it, delete it."""

import re
from typing import Any
from urllib.parse import quote

from litestar import Controller, Request, delete, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath
from litestar.response import Stream

from moot.model.accounts import Caller
from moot.model.files import StoredFile
from moot.server.uploads import MAX_BODY, Uploads
from moot.store.files import Files

# Whatever is in a file, no browser is to run it here, or to take it for something else.
HARMLESS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "private",
}


class FileRoutes(Controller):
    path = "/api/files"
    tags = ("files",)

    @post(request_max_body_size=MAX_BODY, summary="Upload a file, to attach it to messages")
    async def upload(
        self, request: Request[Any, Any, Any], caller: Given[Caller], uploads: Given[Uploads]
    ) -> StoredFile:
        """Take text in UTF-8, a PNG, JPEG, GIF or WebP image, or a PDF; the content tells which it is."""
        return await uploads.take_in(request, caller)

    @get("/{id:str}", summary="What is known of a file")
    async def read(self, id: FromPath[str], caller: Given[Caller], file_store: Given[Files]) -> StoredFile:
        return await file_store.get(caller.tenant, id)

    @get("/{id:str}/content", summary="What is in a file")
    async def content(self, id: FromPath[str], caller: Given[Caller], file_store: Given[Files]) -> Stream:
        """Give it as something to save, never to show."""
        found = await file_store.get(caller.tenant, id)
        headers = {
            **HARMLESS,
            "Content-Disposition": disposition(found.name),
            "Content-Length": str(found.size),
        }
        return Stream(file_store.pieces(caller.tenant, id), media_type=found.media_type, headers=headers)

    @delete("/{id:str}", summary="Delete a file that is attached to no message")
    async def delete(self, id: FromPath[str], caller: Given[Caller], file_store: Given[Files]) -> None:
        await file_store.delete(caller.tenant, id)


def disposition(name: str) -> str:
    """Name an attachment as RFC 6266 has it: plainly for the oldest readers, and as it is for all others."""
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
