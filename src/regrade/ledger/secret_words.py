"""Words that let someone in: random, told once, and kept only as digests."""

from __future__ import annotations

import secrets
from hashlib import sha256


def new_word() -> str:
    """A random word of 192 bits, fit for a link or a cookie."""
    return secrets.token_urlsafe(24)


def digest_of(word: str) -> str:
    """What the database keeps of a word; words are long and random, so a plain hash is enough."""
    return sha256(word.encode()).hexdigest()
