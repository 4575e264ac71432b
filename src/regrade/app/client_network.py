"""The network address of a client, by which sign-in attempts are counted together."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

from fastapi import Request

_SUBSCRIBER_PREFIX = 64  # bits: a provider assigns one subscriber a whole IPv6 network of this size


def client_network(request: Request) -> str:
    """Return the network address that a request comes from."""
    return network_of(request.client.host if request.client else "unknown")


def network_of(address: str) -> str:
    """Return an IPv4 address unchanged, and the /64 network of an IPv6 address.

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
    return str(ip_network((parsed, _SUBSCRIBER_PREFIX), strict=False))
