"""A pseudorandom order of items per person that is computed on demand instead of stored."""

from __future__ import annotations

import hashlib

_ROUNDS = 4


def own_place(turn: int, *, size: int, key: str) -> int:
    """The position of the item at a turn, in a permutation of ``size`` items that is determined by a key.

    A Feistel network over the next power of four, iterated until the position is in range: a permutation of all items.

    >>> sorted(own_place(turn, size=5, key="Ada") for turn in range(5))
    [0, 1, 2, 3, 4]
    """
    half = max(1, (size - 1).bit_length() + 1 >> 1)
    place = turn
    while True:
        place = _mixed(place, half, key)
        if place < size:
            return place


def _mixed(place: int, half: int, key: str) -> int:
    mask = (1 << half) - 1
    left, right = place >> half, place & mask
    for number in range(_ROUNDS):
        digest = hashlib.blake2b(f"{number} {right} {key}".encode(), digest_size=8).digest()
        left, right = right, left ^ (int.from_bytes(digest, "big") & mask)
    return left << half | right
