"""Closing a connection at once, whoever is at the other end. ASGI has no word for it, so the scope is given one."""

from typing import Any

EXTENSION = "moot.hang_up"


def offer(scope: Any, send: Any) -> None:
    """Put the word into a scope that comes straight from uvicorn."""
    if (transport := getattr(getattr(send, "__self__", None), "transport", None)) is not None:
        scope.setdefault("extensions", {})[EXTENSION] = transport.abort


def hang_up(scope: Any) -> bool:
    """Close the connection, and tell whether that could be done."""
    if abort := scope.get("extensions", {}).get(EXTENSION):
        abort()
    return abort is not None
