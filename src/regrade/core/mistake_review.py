"""What people said of one model's mistakes: the kind of each, and how grave it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError, MismatchError, UnknownName


class MistakeCategory(Enum):
    """The kinds of mistakes (Vasudevan et al. 2022, section 3)."""

    FINE_GRAINED = "fine-grained"
    """A class that is close to a right one."""
    OUT_OF_VOCABULARY = "fine-grained, out of vocabulary"
    """A class that is close to something in the image for which there is no class."""
    SPURIOUS = "spurious correlation"
    """A class that is not there, but often is in such images."""
    NON_PROTOTYPICAL = "non-prototypical"
    """The object is of an unusual kind."""


class Severity(Enum):
    """How grave a mistake is; borderline ones count as minor."""

    MAJOR = "major"
    MINOR = "minor"
    BORDERLINE = "borderline"


_BLANKS = str.maketrans("-_,", "   ")
_SPELLINGS = {
    "fine grained": MistakeCategory.FINE_GRAINED,
    "fine grained error": MistakeCategory.FINE_GRAINED,
    "fine grained with multilabel options": MistakeCategory.FINE_GRAINED,
    "fine grained error with oov": MistakeCategory.OUT_OF_VOCABULARY,
    "fine grained with oov": MistakeCategory.OUT_OF_VOCABULARY,
    "fine grained oov": MistakeCategory.OUT_OF_VOCABULARY,
    "fine grained out of vocabulary": MistakeCategory.OUT_OF_VOCABULARY,
    "out of vocabulary": MistakeCategory.OUT_OF_VOCABULARY,
    "oov": MistakeCategory.OUT_OF_VOCABULARY,
    "spurious correlation": MistakeCategory.SPURIOUS,
    "spurious": MistakeCategory.SPURIOUS,
    "non prototypical": MistakeCategory.NON_PROTOTYPICAL,
    "nonprototypical": MistakeCategory.NON_PROTOTYPICAL,
}


def category_named(spelling: str) -> MistakeCategory:
    """The category that a spelling means, whatever its case, commas and dashes; an unknown one raises.

    >>> category_named("Fine-grained error with OOV").name
    'OUT_OF_VOCABULARY'
    """
    try:
        return _SPELLINGS[_plain(spelling)]
    except KeyError:
        raise UnknownName("category of a mistake", spelling, [one.value for one in MistakeCategory]) from None


def severity_named(spelling: str) -> Severity:
    """The severity that a spelling means, whatever its case; an unknown one raises."""
    try:
        return Severity(_plain(spelling))
    except ValueError:
        raise UnknownName("severity of a mistake", spelling, [one.value for one in Severity]) from None


def _plain(spelling: str) -> str:
    return " ".join(spelling.casefold().translate(_BLANKS).split())


@dataclass(frozen=True, eq=False)
class MistakeReview:
    """Some mistakes of one model on one test set, with the category and severity that people gave each.

    ``examples``, ``classes`` (the predicted class), ``categories``, ``severities`` and ``spellings`` (the category as
    it was written) hold one mistake a row; an example has at most one. ``queues`` are those of the ledger whose
    decisions it holds; none for what came from a file.
    """

    model: str
    test_set: str
    size: int
    class_count: int
    examples: IntArray
    classes: IntArray
    categories: tuple[MistakeCategory, ...]
    severities: tuple[Severity, ...]
    spellings: tuple[str, ...]
    origin: str = ""
    queues: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = (self.examples, self.classes, self.categories, self.severities, self.spellings)
        if len({len(part) for part in parts}) != 1:
            raise MismatchError(f"the mistakes of {self.model!r}: the columns differ in length")
        for what, values, size in (("image", self.examples, self.size), ("class", self.classes, self.class_count)):
            if np.any((values < 0) | (values >= size)):
                raise InputError(f"the mistakes of {self.model!r}: one {what} is not among the {size:,}")
        if len(np.unique(self.examples)) < len(self.examples):
            raise InputError(f"the mistakes of {self.model!r}: an image stands twice, and has one prediction only")

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def major(self) -> BoolArray:
        """Shape (r,): the grave ones."""
        return np.array([severity is Severity.MAJOR for severity in self.severities], dtype=bool)

    def of_category(self, category: MistakeCategory) -> BoolArray:
        """Shape (r,): those of a category."""
        return np.array([own is category for own in self.categories], dtype=bool)

    @cached_property
    def digest(self) -> str:
        """A hash of all mistakes and what was said of them, whatever order they came in."""
        state = hashlib.sha256(f"{self.class_count} {self.size}\n".encode())
        for row in np.argsort(self.examples, kind="stable"):
            said = (self.categories[row].value, self.severities[row].value, self.spellings[row])
            state.update(f"{self.examples[row]} {self.classes[row]} {' / '.join(said)}\n".encode())
        return state.hexdigest()
