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

from moot.types.faults import Fault, FaultKind, make_fault

MAX_QUOTE_CHARS = 300
MAX_REASON_CHARS = 60
KEY_PATTERN = re.compile(r"\b(?:(?:sk|pk|gsk|xai)[-_]|AIza|Bearer )[A-Za-z0-9*._-]{6,}")

# What providers call their errors in `type`, `code` or `status`.
CODE_PATTERNS: tuple[tuple[FaultKind, str], ...] = (
    ("context_length", r"context_length|context_size|context_window"),
    ("auth", r"authentication|invalid_api_key|api_key_invalid|permission|unauthenticated"),
    ("content_blocked", r"content_filter|content_policy|safety|prohibited_content"),
    ("overloaded", r"overloaded|unavailable"),
    ("rate_limit", r"rate_limit|resource_exhausted|insufficient_quota"),
    ("timeout", r"timeout|deadline_exceeded"),
    ("api_error", r"server_error|api_error|internal"),
)
# What they only say in words.
MESSAGE_PATTERNS: tuple[tuple[FaultKind, str], ...] = (
    (
        "context_length",
        r"context.?(length|size|window|limit)|prompt is too long|too many tokens|maximum number of tokens",
    ),
    ("auth", r"api key not valid|invalid api key|incorrect api key"),
)
UNCODED_MESSAGE_PATTERNS: tuple[tuple[FaultKind, str], ...] = (
    *MESSAGE_PATTERNS,
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


def fault_from_response(
    provider_name: str, status: int, headers: Mapping[str, str], body: bytes, key: str | None
) -> Fault:
    """Classify an answer that is no stream."""
    if body.lstrip()[:1] == b"<":
        said = WireError(message="it answered with a web page, not a model's answer; check its base_url")
    else:
        said = _parse_error_body(body) or WireError(
            message=body[: 4 * MAX_QUOTE_CHARS].decode("utf-8", "replace")
        )
    return fault_from_error(
        provider_name, said, status=status, key=key, retry_after=parse_retry_after(headers)
    )


def fault_from_error(
    provider_name: str,
    error: WireError | str,
    *,
    status: int = 200,
    key: str | None = None,
    retry_after: float | None = None,
) -> Fault:
    """Classify an error object, wherever it was found."""
    error = WireError(message=error) if isinstance(error, str) else error
    for number in (error.code, error.status):
        if str(number).isdecimal() and 400 <= int(str(number)) < 600:
            status = int(str(number))
    kind = _classify_error(error, status)
    quote = redact(str(error.message or ""), key)
    if "<html" in quote.lower() or "<body" in quote.lower():
        quote = "it sent a web page"
    return make_fault(
        kind,
        _fault_message(kind, provider_name, status, quote),
        retryable=_is_retryable(kind, error, status),
        retry_after=retry_after if retry_after is not None else _retry_delay_seconds(error),
    )


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
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
    text = redact_keys(text, key)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_QUOTE_CHARS else text[:MAX_QUOTE_CHARS] + "…"


def redact_keys(text: str, key: str | None) -> str:
    """Take a key, and what looks like one, out of a text."""
    return KEY_PATTERN.sub("[key]", text.replace(key, "[key]") if key else text)


def _parse_error_body(body: bytes) -> WireError | None:
    text = body.decode("utf-8", "replace")
    try:
        found = _decode_bodies(text)[0] if text.lstrip()[:1] == "[" else _decode_body(text)
    except (msgspec.DecodeError, IndexError, RecursionError):
        return None
    if isinstance(found.error, str):
        return WireError(message=found.error)
    return found.error or WireError(message=found.message or bytes(found.detail).decode())


def _classify_error(error: WireError, status: int) -> FaultKind:
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
    codes = " ".join(str(word) for word in (error.type, error.code, error.status) if word).lower()
    words = str(error.message or "").lower()
    found = _first_match(CODE_PATTERNS, codes)
    if found in {None, "api_error"}:
        found = _first_match(MESSAGE_PATTERNS if found else UNCODED_MESSAGE_PATTERNS, words) or found
    return found or ("bad_response" if status == 200 else "api_error")


def _first_match(patterns: tuple[tuple[FaultKind, str], ...], text: str) -> FaultKind | None:
    return next((kind for kind, pattern in patterns if re.search(pattern, text)), None)


def _is_retryable(kind: FaultKind, error: WireError, status: int) -> bool | None:
    """Decide where the kind alone does not: a server that broke may mend, a used-up quota does not."""
    if status == 402 or "insufficient_quota" in {error.code, error.type}:
        return False
    if kind in {"api_error", "bad_response"}:
        return status >= 500 or (kind == "api_error" and status == 200)  # a 500 inside a good status
    return None


def _fault_message(kind: FaultKind, provider_name: str, status: int, quote: str) -> str:
    http = f" (HTTP {status})" if status != 200 else ""
    said = f": {quote}" + ("" if quote.endswith((".", "!", "?", "…")) else ".") if quote else "."
    match kind:
        case "auth":
            return f"Key rejected for {provider_name}{http}. Check the key and what it may be used for."
        case "rate_limit":
            return f"{provider_name} is limiting requests{http}{said}"
        case "overloaded":
            return f"{provider_name} is overloaded{http}{said}"
        case "context_length":
            return f"This is too long for the model of {provider_name}{said} Send less, or choose one that reads more."
        case "content_blocked":
            return f"{provider_name} blocked the answer by its content rules{http}{said}"
        case "timeout":
            return f"{provider_name} took too long{http}{said}"
        case _ if status == 404:
            return f"{provider_name} knows no such model or address{http}{said} Check the model's name and the base_url."
        case _:
            return f"{provider_name} failed{http}{said}"


def _retry_delay_seconds(error: WireError) -> float | None:
    match = re.search(rb'"retryDelay":\s*"(\d+(?:\.\d+)?)s"', bytes(error.details))
    return float(match[1]) if match else None


def early_end_fault(provider_name: str, reason: str | None = None, key: str | None = None) -> Fault:
    """Make the fault of a stream that stopped before the answer was complete."""
    word = redact(reason or "", key)[:MAX_REASON_CHARS]
    why = f" ({word})" if re.fullmatch(r"[\w.: \[\]-]+…?", word) else ""
    return make_fault(
        "network", f"{provider_name} ended the stream early{why}; the answer may be incomplete."
    )


def partial_call_fault(tool: str) -> Fault:
    """Make the fault of a tool call that did not arrive whole, and so is never made."""
    return make_fault(
        "bad_response", f"The call of the tool {redact(tool, None)[:MAX_REASON_CHARS]} was cut off."
    )
