"""Names that are almost surely another name, misspelled."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_NEAR = 0.8  # of difflib's ratio: stat and state, scores and scoress, but not shape and state


def near_miss(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a name is nearly, or that it begins with as a word; None if there is none.

    >>> near_miss("Corect", ["correct", "wrong"]), near_miss("start_time", ["start"]), near_miss("width", ["state"])
    ('correct', 'start', None)
    """
    return next((each for each in candidates if _is_near(name.casefold(), each.casefold())), None)


def _is_near(name: str, candidate: str) -> bool:
    rest = name.removeprefix(candidate)
    if rest != name and not rest[:1].isalnum():
        return True
    matcher = difflib.SequenceMatcher(None, _plain(name), _plain(candidate))
    return matcher.real_quick_ratio() >= _NEAR and matcher.ratio() >= _NEAR


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name))
