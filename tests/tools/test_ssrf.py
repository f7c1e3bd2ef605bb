import asyncio

import pytest

from moot.tools.ssrf import is_public, public_address
from moot.types.errors import Forbidden

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "no address",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_is_public_rejects_private_addresses(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:4700::1111", "64:ff9b::5db8:d822"])
def test_is_public_accepts_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "2130706433", "0x7f.1"])
async def test_public_address_rejects_host_with_private_address(host: str) -> None:
    with pytest.raises(Forbidden, match=r"private network|cannot be found"):
        await public_address(host, 80)


async def test_public_address_returns_public_address_unchanged() -> None:
    assert await public_address("93.184.216.34", 443) == "93.184.216.34"


async def test_public_address_rejects_host_with_public_and_private_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def both(*_: object, **__: object) -> list[object]:
        return [(2, 1, 6, "", (address, 80)) for address in ("93.184.216.34", "127.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", both)
    with pytest.raises(Forbidden, match="private network"):
        await public_address("tools.example", 80)
