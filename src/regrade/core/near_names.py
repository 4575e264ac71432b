"""Names that are almost surely another name, misspelled."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_NEAR = 0.8  # of difflib's ratio: stat and state, scores and scoress, but not shape and state
_SHORTEST = 4  # letters; too many other words are near a shorter one


def near_miss(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a name is nearly, or that it begins with as a word; None if there is none.

    >>> near_miss("Corect", ["correct", "wrong"]), near_miss("start_time", ["start"]), near_miss("width", ["state"])
    ('correct', 'start', None)
    """
    return next((each for each in candidates if _is_near(name.casefold(), each.casefold())), None)


def misspelling(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate of at least 4 letters that a name is nearly; unlike `near_miss` it may begin with one as a word.

    >>> misspelling("predicton", ["prediction"]), misspelling("prediction_of_vit", ["prediction"])
    ('prediction', None)
    """
    usual, plain = [each.casefold() for each in candidates], name.casefold()
    first_word = re.split(r"[\W_]", plain, maxsplit=1)[0]
    if first_word in usual and first_word != plain:
        return None
    return next((each for each in usual if len(each) >= _SHORTEST and _is_similar(plain, each)), None)


def _is_near(name: str, candidate: str) -> bool:
    rest = name.removeprefix(candidate)
    return (rest != name and not rest[:1].isalnum()) or _is_similar(name, candidate)


def _is_similar(name: str, candidate: str) -> bool:
    matcher = difflib.SequenceMatcher(None, _plain(name), _plain(candidate))
    return matcher.real_quick_ratio() >= _NEAR and matcher.ratio() >= _NEAR


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name))
