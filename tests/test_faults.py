"""What can go wrong in a provider's stream, over a real socket, in every wire format.

The numbers are those of the catalogue in docs/faults.md.
"""

from typing import Any, NamedTuple

import pytest

from moot.providers.catalog import Api
from moot.providers.scripted.scripts import LOOK_UP_TOOL, SAMPLE_ANSWER, SCRIPT_FAULTS
from moot.streaming.turn_stream import Limits
from moot.types.chunks import Usage
from moot.types.events import TextDelta
from tests.support.provider_turns import API_KEY, GENEROUS_LIMITS, ProviderServerSetup, run_provider_turn

APIS: tuple[Api, ...] = ("openai", "anthropic", "google")
ANY_TEXT = "any"


class FaultCase(NamedTuple):
    number: int
    script: str
    status: str
    text: str = ""  # the whole text; "partial" is: some of the sample, not all of it
    kind: str | None = None
    message_part: str = ""  # that the message must hold
    retryable: bool | None = None


FAULT_CASES = [
    FaultCase(1, "comments", "completed", SAMPLE_ANSWER),
    FaultCase(2, "cr", "completed", SAMPLE_ANSWER),
    FaultCase(2, "crlf", "completed", SAMPLE_ANSWER),
    FaultCase(2, "bom", "completed", SAMPLE_ANSWER),
    FaultCase(2, "multiline", "completed", SAMPLE_ANSWER),
    FaultCase(3, "bytewise", "completed", SAMPLE_ANSWER),
    FaultCase(4, "separators", "completed", "one\u2028two\u2029three\u0085four"),
    FaultCase(5, "no_finish", "error", SAMPLE_ANSWER, "network", "may be incomplete"),
    FaultCase(6, "no_done", "completed", SAMPLE_ANSWER),
    FaultCase(7, "error_event", "error", "partial", "overloaded", "overloaded"),
    FaultCase(8, "error_frame", "error", "", "overloaded", "overloaded"),
    FaultCase(8, "error_body", "error", "", "rate_limit", "Too many requests"),
    FaultCase(8, "html", "error", "", "bad_response", "web page", retryable=False),
    FaultCase(9, "empty", "empty_response", "", "bad_response", "empty", retryable=True),
    FaultCase(10, "empty_choices", "completed", SAMPLE_ANSWER),
    FaultCase(11, "no_usage", "completed", SAMPLE_ANSWER),
    FaultCase(11, "zero_usage", "completed", SAMPLE_ANSWER),
    FaultCase(12, "loose_tool", "tool_call", SAMPLE_ANSWER),
    FaultCase(12, "cut_tool", "error", SAMPLE_ANSWER, "bad_response", "tool"),
    FaultCase(13, "stop_with_tools", "tool_call", SAMPLE_ANSWER),
    FaultCase(14, "snapshots", "completed", SAMPLE_ANSWER),
    FaultCase(14, "repeated_end", "completed", SAMPLE_ANSWER),
    FaultCase(15, "broken_json", "error", "partial", "bad_response", "cannot be parsed"),
    FaultCase(16, "nul", "completed", "nothing is \ufffd lost"),
    FaultCase(17, "silence", "timeout", "", "timeout", "No content", retryable=True),
    FaultCase(18, "keepalive", "timeout", "", "timeout", "No content", retryable=True),
    FaultCase(19, "reset", "error", "partial", "network", "broke", retryable=True),
    FaultCase(19, "short_read", "error", "partial", "network", "broke"),
    FaultCase(19, "bad_gzip", "error", "partial", "network", "broke"),
    FaultCase(20, "retry_seconds", "error", "", "rate_limit", "limiting", retryable=True),
    FaultCase(20, "retry_ms", "error", "", "rate_limit", "limiting", retryable=True),
    FaultCase(20, "retry_date", "error", "", "rate_limit", "limiting", retryable=True),
    FaultCase(21, "server_error", "error", "", "api_error", "HTTP 500", retryable=True),
    FaultCase(21, "overloaded", "error", "", "overloaded", "HTTP 529", retryable=True),
    FaultCase(22, "unauthorized", "error", "", "auth", "Key rejected", retryable=False),
    FaultCase(22, "forbidden", "error", "", "auth", "Key rejected", retryable=False),
    FaultCase(23, "content_filter", "error", SAMPLE_ANSWER, "content_blocked", "content filter", retryable=False),
    FaultCase(23, "length", "completed", SAMPLE_ANSWER),
    FaultCase(24, "huge_line", "error", "", "bad_response", "524,288 bytes", retryable=False),
    FaultCase(24, "endless", "error", ANY_TEXT, "bad_response", "characters", retryable=False),
    FaultCase(24, "gzip_bomb", "error", "", "bad_response", "bytes", retryable=False),
]


def cases_for_each_api(case: FaultCase) -> list[Any]:
    """Try a row in every wire format; a bomb takes long, and what stops it is the same in all of them."""
    slow = [[], *[[pytest.mark.slow]] * 2] if case.script == "gzip_bomb" else [[]] * len(APIS)
    return [
        pytest.param(case, api, marks=marks, id=f"{case.number}-{case.script}-{api}")
        for api, marks in zip(APIS, slow, strict=True)
    ]


@pytest.mark.parametrize(("row", "api"), [case for row in FAULT_CASES for case in cases_for_each_api(row)])
async def test_stream_fault_gives_expected_status_text_and_fault_kind(
    provider_server: ProviderServerSetup, api: Api, row: FaultCase
) -> None:
    idle = 0.25 if row.status == "timeout" else GENEROUS_LIMITS.idle
    limits = Limits(idle, total=GENEROUS_LIMITS.total, characters=100_000)
    taken = await run_provider_turn(provider_server.create_provider(api), row.script, limits=limits)
    result = taken.result
    assert result.status == row.status
    assert (result.fault.kind if result.fault else None) == row.kind
    if row.text == "partial":
        assert SAMPLE_ANSWER.startswith(result.text)
        assert 0 < len(result.text) < len(SAMPLE_ANSWER)
    elif row.text != ANY_TEXT:
        assert result.text == row.text
    assert "".join(e.text for e in taken.events if isinstance(e, TextDelta)) == result.text
    message = result.fault.message if result.fault else ""
    assert row.message_part in message
    assert API_KEY not in message
    assert "<" not in message
    if row.retryable is not None:
        assert result.fault is not None
        assert result.fault.retryable is row.retryable


def test_every_scripted_fault_has_a_case() -> None:
    assert {row.script for row in FAULT_CASES} == set(SCRIPT_FAULTS)
    assert {row.number for row in FAULT_CASES} == set(range(1, 25))


@pytest.mark.parametrize("api", APIS)
async def test_fault_11_missing_usage_is_none_and_zero_stays_zero(
    provider_server: ProviderServerSetup, api: Api
) -> None:
    assert (await run_provider_turn(provider_server.create_provider(api), "no_usage")).result.usage is None
    assert (await run_provider_turn(provider_server.create_provider(api), "zero_usage")).result.usage == Usage()


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("script", ["loose_tool", "stop_with_tools"])
async def test_faults_12_and_13_give_complete_tool_calls(
    provider_server: ProviderServerSetup, api: Api, script: str
) -> None:
    (call,) = (await run_provider_turn(provider_server.create_provider(api), script)).result.tool_calls
    assert call.name == LOOK_UP_TOOL.name
    assert call.arguments.replace(" ", "") == LOOK_UP_TOOL.arguments.replace(" ", "")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("script", "least", "most"), [("retry_seconds", 1, 1), ("retry_ms", 0.25, 0.25), ("retry_date", 0, 2)]
)
async def test_fault_20_retry_after_is_parsed_in_every_format(
    provider_server: ProviderServerSetup, api: Api, script: str, least: float, most: float
) -> None:
    fault = (await run_provider_turn(provider_server.create_provider(api), script)).result.fault
    assert fault is not None
    assert fault.retry_after is not None
    assert least <= fault.retry_after <= most


@pytest.mark.parametrize("api", APIS)
async def test_fault_23_length_limit_sets_finish_reason(provider_server: ProviderServerSetup, api: Api) -> None:
    assert (await run_provider_turn(provider_server.create_provider(api), "length")).result.finish == "length"
