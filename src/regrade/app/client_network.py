"""Which sign-in attempts are counted together: those from one network address."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

from fastapi import Request

_SUBSCRIBER = 64  # bits that a provider gives to one subscriber in IPv6; the rest is theirs to choose


def client_network(request: Request) -> str:
    """The network address that a request comes from."""
    return network_of(request.client.host if request.client else "unknown")


def network_of(address: str) -> str:
    """An IPv4 address as it is, an IPv6 address as its /64 network.

    >>> network_of("192.0.2.7"), network_of("::ffff:192.0.2.7"), network_of("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '192.0.2.7', '2001:db8:1:2::/64')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, _SUBSCRIBER), strict=False))
