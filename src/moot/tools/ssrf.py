"""Addresses that anybody may be sent to: nothing of this machine, of its network, or of whoever runs it."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from moot.types.errors import Forbidden

NAT64_NETWORK = IPv6Network(
    "64:ff9b::/96"
)  # IPv6 addresses that are sent on to the IPv4 address in their last bits


async def public_address(host: str, port: int) -> str:
    """Return an address of a host, for the connection that follows; refuse it if any of them is not public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Forbidden(f"The host {host} cannot be found.") from None
    addresses = [str(where[0]) for *_, where in found]
    if not addresses or not all(map(is_public, addresses)):
        raise Forbidden(f"The host {host} is in a private network, which only whoever runs Moot may allow.")
    return addresses[0]


def is_public(address: str) -> bool:
    try:
        return _is_public_ip(ip_address(address))
    except ValueError:  # such as one with a zone, which is only known here
        return False


def _is_public_ip(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and (inner := _embedded_ipv4(address)) is not None:
        return _is_public_ip(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """Find the IPv4 address that an IPv6 address leads to."""
    if address in NAT64_NETWORK:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
