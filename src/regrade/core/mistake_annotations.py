"""People's review of the mistakes of one model: the category and severity of each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError, MismatchError, UnknownName


class MistakeCategory(Enum):
    """Categories of mistakes (Vasudevan et al. 2022, section 3)."""

    FINE_GRAINED = "fine-grained"
    """The predicted class is similar to a correct one."""
    OUT_OF_VOCABULARY = "fine-grained, out of vocabulary"
    """The predicted class is similar to an object in the image that has no class."""
    SPURIOUS = "spurious correlation"
    """The predicted class is not in the image, but often occurs in such images."""
    NON_PROTOTYPICAL = "non-prototypical"
    """The object is an unusual example of its class."""


class Severity(Enum):
    """The severity of a mistake; borderline mistakes count as minor."""

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
    """The category for a spelling, ignoring case, commas and dashes; raise if it is unknown.

    >>> category_named("Fine-grained error with OOV").name
    'OUT_OF_VOCABULARY'
    """
    try:
        return _SPELLINGS[_plain(spelling)]
    except KeyError:
        raise UnknownName("category of a mistake", spelling, [category.value for category in MistakeCategory]) from None


def severity_named(spelling: str) -> Severity:
    """The severity for a spelling, ignoring case; raise if it is unknown."""
    try:
        return Severity(_plain(spelling))
    except ValueError:
        raise UnknownName("severity of a mistake", spelling, [severity.value for severity in Severity]) from None


def _plain(spelling: str) -> str:
    return " ".join(spelling.casefold().translate(_BLANKS).split())


@dataclass(frozen=True)
class ReusedFrom:
    """The review that an annotation was taken over from: of which model, and its queue (empty if imported)."""

    model: str
    queue: str = ""


@dataclass(frozen=True, eq=False)
class MistakeAnnotations:
    """Reviewed mistakes of one model on one test set, with their categories and severities.

    ``examples``, ``classes`` (the predicted class), ``categories``, ``severities`` and ``spellings`` (the category as
    written) contain one mistake per row; an example has at most one. ``queues`` are the review queues of the ledger
    whose decisions it contains; empty for imported reviews. ``reused`` (r,) says where a row comes from that people
    gave for the same prediction of another model, None for its own rows; empty if all rows are its own.
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
    reused: tuple[ReusedFrom | None, ...] = ()

    def __post_init__(self) -> None:
        parts = (self.examples, self.classes, self.categories, self.severities, self.spellings, self.origins)
        if len({len(part) for part in parts}) != 1:
            raise MismatchError(f"the mistakes of {self.model!r}: the columns differ in length")
        for what, values, size in (("image", self.examples, self.size), ("class", self.classes, self.class_count)):
            if np.any((values < 0) | (values >= size)):
                raise InputError(f"the mistakes of {self.model!r}: a reviewed {what} is outside the range of {size:,}")
        if len(np.unique(self.examples)) < len(self.examples):
            raise InputError(f"the mistakes of {self.model!r}: an image occurs twice, but has only one prediction")

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def origins(self) -> tuple[ReusedFrom | None, ...]:
        """Where each row was taken over from (r,), None for the rows that people gave for this model."""
        return self.reused or (None,) * len(self.examples)

    @property
    def own(self) -> MistakeAnnotations:
        """The rows that people gave for this model."""
        return self.rows(np.array([origin is None for origin in self.origins], dtype=bool))

    @cached_property
    def major(self) -> BoolArray:
        """Shape (r,): the major mistakes."""
        return np.array([severity is Severity.MAJOR for severity in self.severities], dtype=bool)

    def of_category(self, category: MistakeCategory) -> BoolArray:
        """Shape (r,): the mistakes of a category."""
        return np.array([own is category for own in self.categories], dtype=bool)

    def rows(self, chosen: BoolArray) -> MistakeAnnotations:
        """The mistakes of a mask (r,) of the rows."""
        kept = np.flatnonzero(chosen)
        return replace(
            self,
            examples=self.examples[kept],
            classes=self.classes[kept],
            categories=tuple(self.categories[row] for row in kept),
            severities=tuple(self.severities[row] for row in kept),
            spellings=tuple(self.spellings[row] for row in kept),
            reused=tuple(self.reused[row] for row in kept) if self.reused else (),
        )

    def within(self, inside: BoolArray) -> MistakeAnnotations:
        """The mistakes on the examples of a mask (n,)."""
        return self.rows(inside[self.examples])

    @cached_property
    def digest(self) -> str:
        """A hash of all mistakes with category and severity, independent of their order."""
        state = hashlib.sha256(f"{self.class_count} {self.size}\n".encode())
        for row in np.argsort(self.examples, kind="stable"):
            judgment: tuple[str, ...] = (self.categories[row].value, self.severities[row].value, self.spellings[row])
            if (origin := self.origins[row]) is not None:
                judgment += (origin.model, origin.queue)
            state.update(f"{self.examples[row]} {self.classes[row]} {' / '.join(judgment)}\n".encode())
        return state.hexdigest()
