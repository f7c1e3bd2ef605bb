import pytest

from moot.model.hosts import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.2", "::1"])
def test_this_machine_has_several_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "example", ""])
def test_others_are_not_this_machine(host: str) -> None:
    assert not is_loopback(host)
