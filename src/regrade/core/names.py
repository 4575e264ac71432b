"""Names: misspellings, names that people cannot distinguish, and arguments that are names."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeVar

from regrade.core.errors import InputError, UnknownName

_NEAR = 0.8  # minimum of difflib's ratio: matches stat and state, scores and scoress, but not shape and state
_SHORTEST = 4  # letters; shorter names are similar to too many words
_NOT_SEEN = (
    "Cc",
    "Cf",
    "Zl",
    "Zp",
    "Zs",
)  # Unicode categories: control and format characters, line and paragraph separators, spaces
E = TypeVar("E", bound=Enum)


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


def comparable_name(name: str) -> str:
    """A name normalized for comparison: NFKC, without case, spaces and invisible characters.

    >>> comparable_name("Ada Lovelace") == comparable_name("ADA lovelace" + chr(0x200B))
    True
    >>> comparable_name("Zoe") == comparable_name("Zoë")
    False
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(letter for letter in folded if unicodedata.category(letter) not in _NOT_SEEN)
    return unicodedata.normalize("NFKC", visible)


def check_distinct_names(kind: str, names: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Raise if a new name has no visible character, or cannot be distinguished from another name.

    Names in ``taken`` are stored already, and are accepted.
    """
    stored = {name: comparable_name(name) for name in taken}
    name_of = {comparable: name for name, comparable in stored.items()}
    for name in names:
        if name in stored:
            continue
        comparable = comparable_name(name)
        if not comparable:
            raise InputError(f"the {kind} name {name!a} has no visible character")
        same = name_of.setdefault(comparable, name)
        if same != name:
            raise InputError(
                f"the {kind} names {same!r} and {name!r} differ only in case, spaces or invisible "
                "characters: use the same name, or one that can be distinguished"
            )


def member(kind: type[E], value: E | str) -> E:
    """The enum member for a value, or the member itself; an unknown value raises an error with suggestions."""
    if isinstance(value, kind):
        return value
    for candidate in kind:
        if candidate.value == value:
            return candidate
    raise UnknownName(_in_words(kind.__name__), str(value), [str(candidate.value) for candidate in kind])


def _in_words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def refuse_text(names: Sequence[object], what: str) -> None:
    """Raise if a string is given instead of a list of names: it would be read as a list of letters."""
    if isinstance(names, str):
        raise InputError(f"{what} must be a list of names: [{names!r}]")


def model_pattern(name: str) -> re.Pattern[str]:
    """Matches the models of a name: a pattern in which ``*`` is the seed, or a method with models ``NAME/seed-*``.

    A method is a training (``trained:NAME/seed-*``), or a name that users have given to the models of its seeds.

    >>> model_pattern("plain").fullmatch("trained:plain/seed-3").groups()
    ('3',)
    >>> model_pattern("plain").fullmatch("plain/seed-3").groups()
    ('3',)
    """
    if "*" not in name:
        return re.compile(f"(?:trained:)?{re.escape(name)}/seed-(.*)", re.DOTALL)
    return re.compile("(.*)".join(map(re.escape, name.split("*"))), re.DOTALL)


def methods_of(model: str) -> tuple[str, ...]:
    """The methods that a model may be a seed of: all names without ``*`` whose `model_pattern` matches it.

    >>> methods_of("trained:plain/seed-3")
    ('trained:plain', 'plain')
    """
    before = [model[: seed.start()] for seed in re.finditer("(?=/seed-)", model)]
    return tuple(name for full in before for name in dict.fromkeys((full, full.removeprefix("trained:"))))
