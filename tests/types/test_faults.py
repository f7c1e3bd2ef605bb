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


def test_every_kind_is_decided_upon() -> None:
    assert set(RETRYABLE_BY_KIND) == set(get_args(FaultKind))


@pytest.mark.parametrize(("kind", "retryable"), RETRYABLE_BY_KIND.items())
def test_a_fault_is_retryable_as_its_kind_usually_is(kind: FaultKind, retryable: bool) -> None:
    assert make_fault(kind, "It broke.").retryable is retryable


@pytest.mark.parametrize("kind", RETRYABLE_BY_KIND)
@pytest.mark.parametrize("retryable", [True, False])
def test_who_knows_better_decides(kind: FaultKind, retryable: bool) -> None:
    assert make_fault(kind, "It broke.", retryable=retryable).retryable is retryable


def test_a_wait_of_no_time_is_not_the_same_as_none_being_named() -> None:
    assert make_fault("rate_limit", "Slow down.").retry_after is None
    assert make_fault("rate_limit", "Slow down.", retry_after=0).retry_after == 0


def test_a_fault_survives_json() -> None:
    trouble = make_fault("rate_limit", "Slow down.", retry_after=1.5)
    assert msgspec.json.decode(msgspec.json.encode(trouble), type=Fault) == trouble
