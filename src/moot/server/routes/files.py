"""Routes for file uploads and downloads."""

import asyncio
import hashlib
import re
from contextlib import aclosing
from tempfile import SpooledTemporaryFile
from typing import Any
from urllib.parse import quote

from litestar import Controller, Request, delete, get, post
from litestar.di import NamedDependency as Given
from litestar.exceptions import ClientException
from litestar.params import FromPath
from litestar.response import Stream
from litestar.status_codes import HTTP_415_UNSUPPORTED_MEDIA_TYPE
from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser

from moot.prompts.attachments import MAX_FILE_BYTES, validate_media_type
from moot.server.requests import limit_body_time
from moot.store.discussions.files import Files
from moot.types.accounts import Caller
from moot.types.errors import UsageError
from moot.types.files import StoredFile, sanitize_file_name

FILE_FIELD = "file"
FORM_MEDIA_TYPE = "multipart/form-data"
MAX_BODY = MAX_FILE_BYTES + 16 * 1024  # the file plus the form's boundaries and headers
SPOOL_MEMORY_BYTES = 256 * 1024
UPLOAD_SECONDS = 120.0
MAX_CONCURRENT_STORES = 2  # limits memory: each store holds one file in memory

Spool = SpooledTemporaryFile[bytes]


class Uploads:
    def __init__(self, files: Files) -> None:
        self._files = files
        self._store_slots = asyncio.Semaphore(MAX_CONCURRENT_STORES)

    async def store_upload(self, request: Request[Any, Any, Any], caller: Caller) -> StoredFile:
        """Read a multipart form with one file and store the file. Raises `UsageError` for an invalid form."""
        boundary = _form_boundary(request)
        with SpooledTemporaryFile(SPOOL_MEMORY_BYTES) as spool:
            async with limit_body_time(UPLOAD_SECONDS):
                name = await _read_form(request, boundary, spool)
            async with self._store_slots:
                data, media_type, sha256 = await asyncio.to_thread(_check_content, spool)
                return await self._files.store_file(caller.tenant, caller.account, name, media_type, sha256, data)


def _form_boundary(request: Request[Any, Any, Any]) -> bytes:
    kind, options = request.content_type
    if kind != FORM_MEDIA_TYPE or not options.get("boundary"):
        raise ClientException(
            f"Send a form with one field, `{FILE_FIELD}`, as Content-Type: {FORM_MEDIA_TYPE}; boundary=….",
            status_code=HTTP_415_UNSUPPORTED_MEDIA_TYPE,
        )
    return options["boundary"].encode("utf-8", "surrogateescape")


async def _read_form(request: Request[Any, Any, Any], boundary: bytes, spool: Spool) -> str:
    """Write the content of the form's only field to the spool. Return the file name."""
    name: str | None = None
    try:
        with PushMultipartParser(boundary, max_segment_count=1) as parser:
            async with aclosing(request.stream()) as stream:
                async for chunk in stream:
                    for found in parser.parse(chunk) if not parser.closed else ():
                        if isinstance(found, MultipartSegment):
                            name = _upload_name(found)
                        elif found:
                            await asyncio.to_thread(spool.write, found)
    except ParserLimitReached as error:
        raise UsageError(
            f"body: the form has more than one field, or its headers are too long: {_FORM_HINT}"
        ) from error
    except MultipartError as error:
        raise UsageError(f"body: it is not a valid form: {_FORM_HINT}") from error
    if name is None:
        raise UsageError(f"{FILE_FIELD}: It is missing.")
    return name


def _upload_name(segment: MultipartSegment) -> str:
    if segment.name != FILE_FIELD:
        raise UsageError(f"body: the form has an unknown field: {_FORM_HINT}")
    return sanitize_file_name(segment.filename or "")


def _check_content(spool: Spool) -> tuple[bytes, str, str]:
    spool.seek(0)
    data = spool.read()
    return data, validate_media_type(data, f"{FILE_FIELD}: it"), hashlib.sha256(data).hexdigest()


_FORM_HINT = f"send one file, as the field `{FILE_FIELD}`."


# Prevent XSS: a browser must not execute an uploaded file or guess another media type.
SAFE_FILE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "private",
}


class FileRoutes(Controller):
    path = "/api/files"
    tags = ("files",)

    @post(request_max_body_size=MAX_BODY, summary="Upload a file, to attach it to messages")
    async def upload_file(
        self, request: Request[Any, Any, Any], caller: Given[Caller], uploads: Given[Uploads]
    ) -> StoredFile:
        """Accepts UTF-8 text, PNG, JPEG, GIF and WebP images, and PDF. The content decides the type."""
        return await uploads.store_upload(request, caller)

    @get("/{id:str}", summary="Get the metadata of a file")
    async def get_file(self, id: FromPath[str], caller: Given[Caller], file_store: Given[Files]) -> StoredFile:
        return await file_store.get_file(caller.tenant, id)

    @get("/{id:str}/content", summary="Download a file")
    async def get_file_content(self, id: FromPath[str], caller: Given[Caller], file_store: Given[Files]) -> Stream:
        """The response is always an attachment, so browsers save it and never render it."""
        file = await file_store.get_file(caller.tenant, id)
        headers = {
            **SAFE_FILE_HEADERS,
            "Content-Disposition": content_disposition(file.name),
            "Content-Length": str(file.size),
        }
        return Stream(file_store.stream_content(caller.tenant, id), media_type=file.media_type, headers=headers)

    @delete("/{id:str}", summary="Delete a file that is attached to no message")
    async def delete_file(self, id: FromPath[str], caller: Given[Caller], file_store: Given[Files]) -> None:
        await file_store.delete_file(caller.tenant, id)


def content_disposition(name: str) -> str:
    """Header value by RFC 6266: an ASCII name for old clients, and the full name in UTF-8."""
    ascii_name = re.sub(r"[^A-Za-z0-9._ -]", "_", name)
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"
