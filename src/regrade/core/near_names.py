"""Recognize misspelled names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_NEAR = 0.8  # minimum of difflib's ratio: matches stat and state, scores and scoress, but not shape and state
_SHORTEST = 4  # letters; shorter names are similar to too many words


def near_miss(name: str, candidates: Iterable[str]) -> str | None:
    """The first candidate that is similar to a name, or that the name begins with as a word; None if there is none.

    >>> near_miss("Corect", ["correct", "wrong"]), near_miss("start_time", ["start"]), near_miss("width", ["state"])
    ('correct', 'start', None)
    """
    return next((item for item in candidates if _is_near(name.casefold(), item.casefold())), None)


def misspelling(name: str, candidates: Iterable[str]) -> str | None:
    """The first candidate of at least 4 letters that is similar to a name, unless the name begins with one as a word.

    >>> misspelling("predicton", ["prediction"]), misspelling("prediction_of_vit", ["prediction"])
    ('prediction', None)
    """
    folded, plain = [candidate.casefold() for candidate in candidates], name.casefold()
    first_word = re.split(r"[\W_]", plain, maxsplit=1)[0]
    if first_word in folded and first_word != plain:
        return None
    return next((word for word in folded if len(word) >= _SHORTEST and _is_similar(plain, word)), None)


def _is_near(name: str, candidate: str) -> bool:
    rest = name.removeprefix(candidate)
    return (rest != name and not rest[:1].isalnum()) or _is_similar(name, candidate)


def _is_similar(name: str, candidate: str) -> bool:
    matcher = difflib.SequenceMatcher(None, _plain(name), _plain(candidate))
    return matcher.real_quick_ratio() >= _NEAR and matcher.ratio() >= _NEAR


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name))
