"""Aborts a connection from the server side. `moot serve` listens with this module before it imports any library."""

from typing import Any

ABORT_EXTENSION = "moot.abort"


def add_abort_extension(scope: Any, send: Any) -> None:
    """Store the transport's `abort` in the ASGI scope. Does nothing if `send` is not a method of uvicorn."""
    if (transport := getattr(getattr(send, "__self__", None), "transport", None)) is not None:
        scope.setdefault("extensions", {})[ABORT_EXTENSION] = transport.abort


def abort_connection(scope: Any) -> bool:
    """Return False if the scope has no `abort` callback."""
    if abort := scope.get("extensions", {}).get(ABORT_EXTENSION):
        abort()
    return abort is not None
