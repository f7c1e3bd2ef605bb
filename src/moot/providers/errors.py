"""From what a provider says went wrong (a status, headers, an error body) to a typed fault in plain words.

A provider's own sentence is quoted, shortened and with anything like a key taken out of it; when a key was
refused it is not quoted at all, because some providers echo the key.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct

from moot.types.faults import Fault, Kind, fault

QUOTE = 300
REASON = 60
KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|gsk|xai)[-_]|AIza|Bearer )[A-Za-z0-9*._-]{6,}")

# What providers call their errors in `type`, `code` or `status`.
CODES: tuple[tuple[Kind, str], ...] = (
    ("context_length", r"context_length|context_size|context_window"),
    ("auth", r"authentication|invalid_api_key|api_key_invalid|permission|unauthenticated"),
    ("content_blocked", r"content_filter|content_policy|safety|prohibited_content"),
    ("overloaded", r"overloaded|unavailable"),
    ("rate_limit", r"rate_limit|resource_exhausted|insufficient_quota"),
    ("timeout", r"timeout|deadline_exceeded"),
    ("api_error", r"server_error|api_error|internal"),
)
# What they only say in words.
WORDS: tuple[tuple[Kind, str], ...] = (
    (
        "context_length",
        r"context.?(length|size|window|limit)|prompt is too long|too many tokens|maximum number of tokens",
    ),
    ("auth", r"api key not valid|invalid api key|incorrect api key"),
)
PLAIN_WORDS: tuple[tuple[Kind, str], ...] = (
    *WORDS,
    ("rate_limit", r"rate limit|too many requests"),
    ("overloaded", r"overloaded|at capacity"),
)


class WireError(Struct):
    """The error object of the three wire formats, and of the servers that imitate them."""

    message: Any = None  # words, nearly always
    type: str | None = None
    code: str | int | None = None
    status: str | int | None = None
    details: Raw = Raw(b"")  # a list in Google's errors, anything in others'


class ErrorBody(Struct):
    error: WireError | str | None = None
    message: str | None = None
    detail: Raw = Raw(b"")


_decode_body = msgspec.json.Decoder(ErrorBody).decode
_decode_bodies = msgspec.json.Decoder(list[ErrorBody]).decode


def from_response(who: str, status: int, headers: Mapping[str, str], body: bytes, key: str | None) -> Fault:
    """Classify an answer that is no stream."""
    if body.lstrip()[:1] == b"<":
        said = WireError(message="it answered with a web page, not a model's answer; check its base_url")
    else:
        said = _parse(body) or WireError(message=body[: 4 * QUOTE].decode("utf-8", "replace"))
    return from_error(who, said, status=status, key=key, retry_after=retry_after(headers))


def from_error(
    who: str,
    said: WireError | str,
    *,
    status: int = 200,
    key: str | None = None,
    retry_after: float | None = None,
) -> Fault:
    """Classify an error object, wherever it was found."""
    said = WireError(message=said) if isinstance(said, str) else said
    for number in (said.code, said.status):
        if str(number).isdecimal() and 400 <= int(str(number)) < 600:
            status = int(str(number))
    kind = _kind(said, status)
    quote = redact(str(said.message or ""), key)
    if "<html" in quote.lower() or "<body" in quote.lower():
        quote = "it sent a web page"
    return fault(
        kind,
        _sentence(kind, who, status, quote),
        retryable=_retryable(kind, said, status),
        retry_after=retry_after if retry_after is not None else _delay(said),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After in milliseconds, seconds or as a date."""
    try:
        if ms := headers.get("retry-after-ms"):
            return max(0.0, float(ms) / 1000)
        if not (value := headers.get("retry-after")):
            return None
        try:
            return max(0.0, float(value))
        except ValueError:
            return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def redact(text: str, key: str | None) -> str:
    """Shorten a provider's words and take keys and control characters out of them."""
    text = concealed(text, key)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= QUOTE else text[:QUOTE] + "…"


def concealed(text: str, key: str | None) -> str:
    """Take a key, and what looks like one, out of a text."""
    return KEY_LIKE.sub("[key]", text.replace(key, "[key]") if key else text)


def _parse(body: bytes) -> WireError | None:
    text = body.decode("utf-8", "replace")
    try:
        found = _decode_bodies(text)[0] if text.lstrip()[:1] == "[" else _decode_body(text)
    except (msgspec.DecodeError, IndexError, RecursionError):
        return None
    if isinstance(found.error, str):
        return WireError(message=found.error)
    return found.error or WireError(message=found.message or bytes(found.detail).decode())


def _kind(said: WireError, status: int) -> Kind:
    match status:
        case 401 | 403:
            return "auth"
        case 402 | 429:
            return "rate_limit"
        case 503 | 529:
            return "overloaded"
        case 408 | 504:
            return "timeout"
        case 404:
            return "api_error"
    codes = " ".join(str(word) for word in (said.type, said.code, said.status) if word).lower()
    words = str(said.message or "").lower()
    found = _first(CODES, codes)
    if found in {None, "api_error"}:
        found = _first(WORDS if found else PLAIN_WORDS, words) or found
    return found or ("bad_response" if status == 200 else "api_error")


def _first(table: tuple[tuple[Kind, str], ...], words: str) -> Kind | None:
    return next((kind for kind, pattern in table if re.search(pattern, words)), None)


def _retryable(kind: Kind, said: WireError, status: int) -> bool | None:
    """Decide where the kind alone does not: a server that broke may mend, a used-up quota does not."""
    if status == 402 or "insufficient_quota" in {said.code, said.type}:
        return False
    if kind in {"api_error", "bad_response"}:
        return status >= 500 or (kind == "api_error" and status == 200)  # a 500 inside a good status
    return None


def _sentence(kind: Kind, who: str, status: int, quote: str) -> str:
    http = f" (HTTP {status})" if status != 200 else ""
    said = f": {quote}" + ("" if quote.endswith((".", "!", "?", "…")) else ".") if quote else "."
    match kind:
        case "auth":
            return f"Key rejected for {who}{http}. Check the key and what it may be used for."
        case "rate_limit":
            return f"{who} is limiting requests{http}{said}"
        case "overloaded":
            return f"{who} is overloaded{http}{said}"
        case "context_length":
            return f"This is too long for the model of {who}{said} Send less, or choose one that reads more."
        case "content_blocked":
            return f"{who} blocked the answer by its content rules{http}{said}"
        case "timeout":
            return f"{who} took too long{http}{said}"
        case _ if status == 404:
            return (
                f"{who} knows no such model or address{http}{said} Check the model's name and the base_url."
            )
        case _:
            return f"{who} failed{http}{said}"


def _delay(said: WireError) -> float | None:
    match = re.search(rb'"retryDelay":\s*"(\d+(?:\.\d+)?)s"', bytes(said.details))
    return float(match[1]) if match else None


def ended_early(who: str, reason: str | None = None, key: str | None = None) -> Fault:
    """Make the fault of a stream that stopped before the answer was complete."""
    word = redact(reason or "", key)[:REASON]
    why = f" ({word})" if re.fullmatch(r"[\w.: \[\]-]+…?", word) else ""
    return fault("network", f"{who} ended the stream early{why}; the answer may be incomplete.")


def cut_call(tool: str) -> Fault:
    """Make the fault of a tool call that did not arrive whole, and so is never made."""
    return fault("bad_response", f"The call of the tool {redact(tool, None)[:REASON]} was cut off.")
