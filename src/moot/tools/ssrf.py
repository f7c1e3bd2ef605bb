"""SSRF protection: rejects hosts that resolve to loopback, private, link-local or reserved addresses.

Users can enter the URL of a tool server. Requests to it must not reach the internal network.
"""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from moot.types.errors import Forbidden

NAT64_NETWORK = IPv6Network("64:ff9b::/96")  # a gateway forwards to the IPv4 address in the last 32 bits


async def public_address(host: str, port: int) -> str:
    """Resolve a host and return one IP address; the caller must connect to exactly this address.

    Raises Forbidden if the host is unknown, or if any of its addresses is not public.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Forbidden(f"The host {host} cannot be found.") from None
    addresses = [str(where[0]) for *_, where in found]
    if not addresses or not all(map(is_public, addresses)):
        raise Forbidden(
            f"The host {host} is in a private network. The operator can allow it: private_tool_servers = true."
        )
    return addresses[0]


def is_public(address: str) -> bool:
    try:
        return _is_public_ip(ip_address(address))
    except ValueError:  # for example a link-local address with a zone id
        return False


def _is_public_ip(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and (inner := _embedded_ipv4(address)) is not None:
        return _is_public_ip(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """Extract the IPv4 address from a NAT64, IPv4-mapped, 6to4 or Teredo address."""
    if address in NAT64_NETWORK:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
