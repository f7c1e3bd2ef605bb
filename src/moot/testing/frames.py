"""From a performance to the frames of its answer, and to bytes, with the faults that live in them."""

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from moot.providers.scripted.scripts import Performance
from moot.testing.wire_formats.dialect import Counts, Dialect, encoded

COMMENTS = b": keep-alive\n\n:\n\ndata:\n\nevent: ping\n\nretry: 10\n\n"


def frames(dialect: Dialect, performance: Performance) -> Iterator[Any]:
    """Yield the values of an answer's events, in order."""
    trouble, script = performance.fault, performance.script
    counts = _counts(performance)
    if trouble == "error_frame":
        yield dialect.error(529, "The model is overloaded")
        return
    said = _said(dialect, performance, counts)
    if trouble in {"error_event", "broken_json"}:
        yield from (frame for frame, _ in zip(said, range(script.fault_after + 2), strict=False))
        yield "{broken" if trouble == "broken_json" else dialect.error(529, "The model is overloaded")
        return
    yield from said
    if trouble in {"no_finish", "cut_tool", "endless"}:
        return
    calls = performance.tool is not None and trouble != "stop_with_tools"
    yield from dialect.finish("tool_calls" if calls else performance.finish, counts)
    if trouble == "empty_choices":
        yield from dialect.empty()
    if trouble != "no_done":
        yield from dialect.closing()


def _said(dialect: Dialect, performance: Performance, counts: Counts | None) -> Iterator[Any]:
    trouble, script = performance.fault, performance.script
    if trouble == "empty_choices":
        yield from dialect.empty()
    yield from dialect.opening(counts)
    if script.thoughts:
        yield from dialect.thought(script.thoughts)
    pieces: Iterable[str] = performance.pieces()
    for piece in accumulate(pieces) if trouble == "snapshots" else pieces:
        yield from dialect.text(piece)
    if trouble == "repeated_end":
        yield from dialect.repeated_end(performance.answer)
    if performance.tool and trouble == "cut_tool":
        yield from dialect.cut_tool(performance.tool)
    elif performance.tool:
        yield from dialect.tool(performance.tool, loose=trouble == "loose_tool")


def _counts(performance: Performance) -> Counts | None:
    match performance.fault:
        case "no_usage":
            return None
        case "zero_usage":
            return Counts(0, 0)
    return Counts(performance.input_tokens, performance.output_tokens)


def event(frame: Any, trouble: str) -> bytes:
    """Write a frame as one server-sent event, in the odd ways that are allowed."""
    data = encoded(frame)
    name = f"event: {frame['type']}\n".encode() if isinstance(frame, dict) and "type" in frame else b""
    if trouble == "multiline" and isinstance(frame, dict):
        lines = json.dumps(frame, indent=1).encode().split(b"\n")
        return name + b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"
    written = name + b"data: " + data + b"\n\n"
    match trouble:
        case "comments":
            return COMMENTS + written
        case "cr":
            return written.replace(b"\n", b"\r")
        case "crlf":
            return written.replace(b"\n", b"\r\n")
    return written
