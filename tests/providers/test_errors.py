from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.providers.errors import (
    WireError,
    early_end_fault,
    fault_from_error,
    fault_from_response,
    parse_retry_after,
    redact,
)
from moot.types.faults import FaultKind

KEY = "sk-proj-verysecretkey"


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (429, '{"error": {"message": "slow", "code": "insufficient_quota"}}', "rate_limit", False),
        (429, '{"error": {"message": "slow"}}', "rate_limit", True),
        (400, '{"error": {"message": "x", "code": "context_length_exceeded"}}', "context_length", False),
        (400, '{"error": {"type": "invalid_request_error", "message": "prompt is too long"}}', "context_length", False),
        (400, '{"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}}', "context_length", False),
        (400, '{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}', "auth", False),
        (400, '[{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]', "overloaded", True),
        (400, '{"error": {"message": "bad", "code": "content_policy_violation"}}', "content_blocked", False),
        (400, '{"error": "temperature must be a number"}', "api_error", False),
        (422, '{"detail": [{"msg": "field required"}]}', "api_error", False),
        (400, '{"error": {"message": "The input token count exceeds the maximum number of tokens allowed."}}', "context_length", False),
        (400, '{"error": {"type": "invalid_request_error", "message": "exceed context limit: 9 > 8"}}', "context_length", False),
        (400, '{"error": {"message": "Unknown parameter: safety_settings, timeout"}}', "api_error", False),
        (500, '{"error": {"message": "upstream blocked the call"}}', "api_error", True),
        (500, '{"error": {"message": "mod\\u00e8le inconnu"}}', "api_error", True),
        (200, '{"error": {"message": "quota", "type": "rate_limit_error", "details": {"a": 1}}}', "rate_limit", True),
        (200, '{"error": {"type": "server_error", "message": "it broke"}}', "api_error", True),
        (200, '{"error": {"type": "api_error", "message": "Internal server error"}}', "api_error", True),
        (200, '{"error": "rate limit reached"}', "rate_limit", True),
        (404, "model not found, try content_filter", "api_error", False),
        (402, '{"error": {"message": "Insufficient credits"}}', "rate_limit", False),
        (200, '{"error": {"message": "slow down", "status": 429}}', "rate_limit", True),
        (200, '{"error": {"message": "slow down", "code": "429"}}', "rate_limit", True),
        (200, '{"error": {"type": "error", "message": "Rate limit exceeded"}}', "rate_limit", True),
        (200, '{"error": {"message": {"odd": "shape"}, "code": 500}}', "api_error", True),
        (200, '{"error": {"message": "<html><body>no</body></html>", "code": 500}}', "api_error", True),
        (502, "<html>Bad gateway</html>", "api_error", True),
        (504, "", "timeout", True),
        (529, '{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}', "overloaded", True),
    ],
)  # fmt: skip
def test_fault_from_response_classifies_by_status_and_body(
    status: int, body: str, kind: FaultKind, retryable: bool
) -> None:
    fault = fault_from_response("lab", status, {}, body.encode(), KEY)
    assert (fault.kind, fault.retryable) == (kind, retryable)
    assert "<" not in fault.message
    assert "lab" in fault.message


def test_fault_from_error_classifies_error_in_successful_response() -> None:
    assert fault_from_error("lab", WireError(message="x", code=401)).kind == "auth"
    assert fault_from_error("lab", WireError(message="x", type="rate_limit_error")).kind == "rate_limit"


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500, 529])
def test_fault_message_never_has_key(status: int) -> None:
    body = f'{{"error": {{"message": "Incorrect API key provided: {KEY} or sk-proj-****key or Bearer abcdef123456"}}}}'
    message = fault_from_response("lab", status, {}, body.encode(), KEY).message
    for secret in (KEY, "****key", "abcdef123456"):
        assert secret not in message


@given(st.text(max_size=50), st.text(max_size=50))
def test_redact_removes_key_anywhere_in_text(before: str, after: str) -> None:
    assert KEY not in redact(f"{before}{KEY}{after}", KEY)


def test_redact_truncates_long_text() -> None:
    assert len(redact("word " * 1000, None)) <= 301


def test_parse_retry_after_reads_every_header_format() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=30)
    assert parse_retry_after({"retry-after-ms": "1500"}) == 1.5
    assert parse_retry_after({"retry-after": "2"}) == 2
    assert 28 <= (parse_retry_after({"retry-after": format_datetime(soon, usegmt=True)}) or 0) <= 30
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert parse_retry_after({"retry-after": "soon"}) is None
    assert parse_retry_after({}) is None


def test_fault_from_response_reads_retry_delay_of_google() -> None:
    body = b'{"error": {"code": 429, "message": "x", "details": [{"@type": "x"}, {"retryDelay": "17s"}]}}'
    assert fault_from_response("google", 429, {}, body, None).retry_after == 17
    assert fault_from_response("google", 429, {}, body.replace(b"17s", b"1.2.3s"), None).retry_after is None


def test_fault_from_response_tolerates_invalid_encoding() -> None:
    fault = fault_from_response("lab", 500, {}, '{"error": {"message": "modèle inconnu"}}'.encode("latin-1"), None)
    assert "inconnu" in fault.message
    assert fault_from_response("lab", 500, {}, b'{"detail": "\xff"}', None).kind == "api_error"
    assert fault_from_response("lab", 500, {}, b"[" * 100_000, None).kind == "api_error"


def test_redact_keeps_ordinary_words() -> None:
    for words in ("Unsupported key temperature in request", "skipping a skeleton", "pkgconfig"):
        assert redact(words, None) == words


def test_fault_message_has_no_partial_key_when_truncated() -> None:
    plain = "7f3a9c21d4e86b05"
    body = ("x" * 290 + " " + plain + " " + "y" * 300).encode()
    assert "7f3a" not in fault_from_response("lab", 500, {}, body, plain).message


def test_fault_message_never_quotes_html() -> None:
    fault = fault_from_response("lab", 200, {}, b"  <html><script>x</script></html>", None)
    assert fault.message == "lab failed: the response is a web page, not a model response. Check base_url."


def test_early_end_fault_is_retryable() -> None:
    assert early_end_fault("lab").retryable
