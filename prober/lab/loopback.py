"""Who is on this machine."""

import ipaddress


def is_loopback(host: str) -> bool:
    """True for loopback addresses and `localhost`; any other name may resolve to anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
