"""Mapping of provider errors (status, headers, error body) to a typed `Fault`.

The fault message quotes the provider's error, shortened and with keys redacted. An `auth` fault quotes nothing,
because some providers echo the rejected key.
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

# Matched against the fields `type`, `code` and `status` of an error.
CODE_PATTERNS: tuple[tuple[FaultKind, str], ...] = (
    ("context_length", r"context_length|context_size|context_window"),
    ("auth", r"authentication|invalid_api_key|api_key_invalid|permission|unauthenticated"),
    ("content_blocked", r"content_filter|content_policy|safety|prohibited_content"),
    ("overloaded", r"overloaded|unavailable"),
    ("rate_limit", r"rate_limit|resource_exhausted|insufficient_quota"),
    ("timeout", r"timeout|deadline_exceeded"),
    ("api_error", r"server_error|api_error|internal"),
)
# Matched against the error message. These kinds often have no code of their own.
MESSAGE_PATTERNS: tuple[tuple[FaultKind, str], ...] = (
    (
        "context_length",
        r"context.?(length|size|window|limit)|prompt is too long|too many tokens|maximum number of tokens",
    ),
    ("auth", r"api key not valid|invalid api key|incorrect api key"),
)
# Only for errors without a known code.
UNCODED_MESSAGE_PATTERNS: tuple[tuple[FaultKind, str], ...] = (
    *MESSAGE_PATTERNS,
    ("rate_limit", r"rate limit|too many requests"),
    ("overloaded", r"overloaded|at capacity"),
)


class WireError(Struct):
    """The error object of all three wire formats. All fields are optional, since compatible servers differ."""

    message: Any = None  # nearly always a string
    type: str | None = None
    code: str | int | None = None
    status: str | int | None = None
    details: Raw = Raw(b"")  # a list in Google errors, any JSON value in others


class ErrorBody(Struct):
    error: WireError | str | None = None
    message: str | None = None
    detail: Raw = Raw(b"")


_decode_body = msgspec.json.Decoder(ErrorBody).decode
_decode_bodies = msgspec.json.Decoder(list[ErrorBody]).decode


def fault_from_response(
    provider_name: str, status: int, headers: Mapping[str, str], body: bytes, key: str | None
) -> Fault:
    """Build the fault for a response that is not an event stream, also one with status 200."""
    if body.lstrip()[:1] == b"<":
        error = WireError(message="the response is a web page, not a model response. Check base_url")
    else:
        error = _parse_error_body(body) or WireError(message=body[: 4 * MAX_QUOTE_CHARS].decode("utf-8", "replace"))
    return fault_from_error(provider_name, error, status=status, key=key, retry_after=parse_retry_after(headers))


def fault_from_error(
    provider_name: str,
    error: WireError | str,
    *,
    status: int = 200,
    key: str | None = None,
    retry_after: float | None = None,
) -> Fault:
    """Build the fault for an error object from a response body or a stream event."""
    error = WireError(message=error) if isinstance(error, str) else error
    # Some servers send status 200 and put the HTTP status into the error object.
    for number in (error.code, error.status):
        if str(number).isdecimal() and 400 <= int(str(number)) < 600:
            status = int(str(number))
    kind = _classify_error(error, status)
    quote = redact(str(error.message or ""), key)
    if "<html" in quote.lower() or "<body" in quote.lower():
        quote = "the response is a web page"
    return make_fault(
        kind,
        _fault_message(kind, provider_name, status, quote),
        retryable=_is_retryable(kind, error, status),
        retry_after=retry_after if retry_after is not None else _retry_delay_seconds(error),
    )


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the delay in seconds. Header values are milliseconds, seconds or an HTTP date; None if invalid."""
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
    """Make a provider's text safe to show: remove keys and control characters, then truncate.

    Keys go first: truncation could leave part of a key that no longer matches.
    """
    text = redact_keys(text, key)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_QUOTE_CHARS else text[:MAX_QUOTE_CHARS] + "…"


def redact_keys(text: str, key: str | None) -> str:
    """Replace the given key, and any string that looks like a key."""
    return KEY_PATTERN.sub("[key]", text.replace(key, "[key]") if key else text)


def _parse_error_body(body: bytes) -> WireError | None:
    text = body.decode("utf-8", "replace")
    try:
        decoded = _decode_bodies(text)[0] if text.lstrip()[:1] == "[" else _decode_body(text)
    except (msgspec.DecodeError, IndexError, RecursionError):
        return None
    if isinstance(decoded.error, str):
        return WireError(message=decoded.error)
    return decoded.error or WireError(message=decoded.message or bytes(decoded.detail).decode())


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
    message = str(error.message or "").lower()
    kind = _first_match(CODE_PATTERNS, codes)
    if kind in {None, "api_error"}:
        kind = _first_match(MESSAGE_PATTERNS if kind else UNCODED_MESSAGE_PATTERNS, message) or kind
    return kind or ("bad_response" if status == 200 else "api_error")


def _first_match(patterns: tuple[tuple[FaultKind, str], ...], text: str) -> FaultKind | None:
    return next((kind for kind, pattern in patterns if re.search(pattern, text)), None)


def _is_retryable(kind: FaultKind, error: WireError, status: int) -> bool | None:
    """Override the default of the fault kind; None keeps it. An exhausted quota is never retryable."""
    if status == 402 or "insufficient_quota" in {error.code, error.type}:
        return False
    if kind in {"api_error", "bad_response"}:
        # Status 200 with an error object is a server error too.
        return status >= 500 or (kind == "api_error" and status == 200)
    return None


def _fault_message(kind: FaultKind, provider_name: str, status: int, quote: str) -> str:
    http = f" (HTTP {status})" if status != 200 else ""
    quoted = f": {quote}" + ("" if quote.endswith((".", "!", "?", "…")) else ".") if quote else "."
    match kind:
        case "auth":
            return f"Key rejected for {provider_name}{http}. Check the key and its permissions."
        case "rate_limit":
            return f"{provider_name} is limiting requests{http}{quoted}"
        case "overloaded":
            return f"{provider_name} is overloaded{http}{quoted}"
        case "context_length":
            return f"The request is too long for the model of {provider_name}{quoted} Send less, or choose a model with a larger context window."
        case "content_blocked":
            return f"{provider_name} blocked the answer with its content filter{http}{quoted}"
        case "timeout":
            return f"{provider_name} timed out{http}{quoted}"
        case _ if status == 404:
            return f"{provider_name} did not find the model or the URL{http}{quoted} Check the model name and base_url."
        case _:
            return f"{provider_name} failed{http}{quoted}"


def _retry_delay_seconds(error: WireError) -> float | None:
    match = re.search(rb'"retryDelay":\s*"(\d+(?:\.\d+)?)s"', bytes(error.details))
    return float(match[1]) if match else None


def early_end_fault(provider_name: str, reason: str | None = None, key: str | None = None) -> Fault:
    """Build the fault for a stream that ended before the answer was complete.

    `reason` is the unknown finish reason of the provider. It is quoted only if it looks like a plain word.
    """
    quote = redact(reason or "", key)[:MAX_REASON_CHARS]
    suffix = f" ({quote})" if re.fullmatch(r"[\w.: \[\]-]+…?", quote) else ""
    return make_fault("network", f"{provider_name} ended the stream early{suffix}; the answer may be incomplete.")


def partial_call_fault(tool: str) -> Fault:
    """Build the fault for an incomplete tool call. Such a call is never executed."""
    return make_fault("bad_response", f"The call of tool {redact(tool, None)[:MAX_REASON_CHARS]} was cut off.")
