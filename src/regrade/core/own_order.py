"""An order of many things for each person, shuffled, yet known place by place without being written down."""

from __future__ import annotations

import hashlib

_ROUNDS = 4


def own_place(turn: int, *, size: int, key: str) -> int:
    """The place from 0 of what comes at a turn from 0, in the order of ``size`` things that a key shuffles.

    A Feistel network over the next power of four, walked until it falls inside: every place comes at exactly one turn.

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
