from typing import get_args

import msgspec
import pytest

from moot.types.faults import Fault, FaultKind, make_fault

RETRYABLE_BY_KIND: dict[FaultKind, bool] = {
    "rate_limit": True,
    "overloaded": True,
    "timeout": True,
    "network": True,
    "bad_response": True,
    "auth": False,
    "content_blocked": False,
    "context_length": False,
    "api_error": False,
}


def test_every_fault_kind_has_expected_retryable_value() -> None:
    assert set(RETRYABLE_BY_KIND) == set(get_args(FaultKind))


@pytest.mark.parametrize(("kind", "retryable"), RETRYABLE_BY_KIND.items())
def test_fault_is_retryable_by_kind_by_default(kind: FaultKind, retryable: bool) -> None:
    assert make_fault(kind, "It broke.").retryable is retryable


@pytest.mark.parametrize("kind", RETRYABLE_BY_KIND)
@pytest.mark.parametrize("retryable", [True, False])
def test_retryable_argument_overrides_default_of_kind(kind: FaultKind, retryable: bool) -> None:
    assert make_fault(kind, "It broke.", retryable=retryable).retryable is retryable


def test_zero_retry_after_differs_from_none() -> None:
    assert make_fault("rate_limit", "Slow down.").retry_after is None
    assert make_fault("rate_limit", "Slow down.", retry_after=0).retry_after == 0


def test_fault_survives_json_round_trip() -> None:
    fault = make_fault("rate_limit", "Slow down.", retry_after=1.5)
    assert msgspec.json.decode(msgspec.json.encode(fault), type=Fault) == fault
