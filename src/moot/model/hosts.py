"""Names and addresses of machines."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Tell whether an address, or a name, means this machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
