"""Addresses that say nothing: numbers behind a keyed permutation, which only the server can undo."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import error, pack, unpack

_ROUNDS = 4  # of a Feistel network: a permutation that no one tells from a random one without the key
_SIZE = 22  # letters of a word


def conceal(key: bytes, kind: int, number: int) -> str:
    """Two numbers below 2**32 as a word, always the same for a key."""
    left, right = pack(">II", kind, number), bytes(8)
    for turn in range(_ROUNDS):
        left, right = right, _mixed(left, right, key, turn)
    return urlsafe_b64encode(left + right).decode().rstrip("=")


def reveal(key: bytes, word: str) -> tuple[int, int] | None:
    """The two numbers of a word, or none where it was not made with this key."""
    try:
        both = urlsafe_b64decode(word.encode() + b"==") if len(word) == _SIZE else b""
        left, right = both[:8], both[8:]
        for turn in reversed(range(_ROUNDS)):
            left, right = _mixed(right, left, key, turn), left
        kind, number = unpack(">II", left)
    except (ValueError, error):
        return None
    return (kind, number) if right == bytes(8) else None


def _mixed(half: bytes, other: bytes, key: bytes, turn: int) -> bytes:
    mask = blake2b(other, digest_size=8, key=key, salt=bytes([turn])).digest()
    return bytes(a ^ b for a, b in zip(half, mask, strict=True))
