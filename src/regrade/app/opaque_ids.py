"""Opaque ids for URLs: two numbers behind a keyed permutation that only the server can invert."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import error, pack, unpack

_ROUNDS = 4  # of a Feistel network: without the key it cannot be told from a random permutation
_SIZE = 22  # characters of an opaque id


def encode_opaque_id(key: bytes, kind: int, number: int) -> str:
    """Return the opaque id of two numbers below 2**32; the same numbers and key give the same id."""
    left, right = pack(">II", kind, number), bytes(8)
    for round_number in range(_ROUNDS):
        left, right = right, _mix(left, right, key, round_number)
    return urlsafe_b64encode(left + right).decode().rstrip("=")


def decode_opaque_id(key: bytes, opaque_id: str) -> tuple[int, int] | None:
    """Return the two numbers of an opaque id, or None if it was not made with this key."""
    try:
        both = urlsafe_b64decode(opaque_id.encode() + b"==") if len(opaque_id) == _SIZE else b""
        left, right = both[:8], both[8:]
        for round_number in reversed(range(_ROUNDS)):
            left, right = _mix(right, left, key, round_number), left
        kind, number = unpack(">II", left)
    except (ValueError, error):
        return None
    return (kind, number) if right == bytes(8) else None


def _mix(half: bytes, mask_source: bytes, key: bytes, round_number: int) -> bytes:
    mask = blake2b(mask_source, digest_size=8, key=key, salt=bytes([round_number])).digest()
    return bytes(a ^ b for a, b in zip(half, mask, strict=True))
