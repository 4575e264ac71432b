"""Does a pool look like the reference set: dates, sizes, authors, licenses, keywords and classes of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

import numpy as np

from regrade.build.date_window import read_date
from regrade.core import UNLABELED, InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.unknown_values import is_unknown
from regrade.stats import PermutationTest, compare_categories, compare_numbers, holm
from regrade.stats.permutation import PERMUTATIONS

RELEVANT_EFFECT = 0.2
"""If only a larger effect would be significant, there are not enough data to tell."""
MIN_UNITS = 14
"""Authors or images of each set: with fewer, a value that a fifth of the images have may be missing by chance."""

SIZES = ("width", "height", "file bytes")
DATES = ("taken", "uploaded")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MONTHS = 36  # the longest span that is shown by month
_PER_AUTHOR = ((1, 1), (2, 2), (3, 5), (6, 10), (11, None))
_UNKNOWN = "(unknown)"


class Conclusion(StrEnum):
    """What a comparison of a property shows."""

    DIFFERS = "differs"
    NOT_DETECTED = "no difference detected"
    TOO_FEW = "not enough data to tell"
    NOT_COMPARED = "not compared"


class Effect(StrEnum):
    """The size of a difference between two distributions, from 0 to 1."""

    DISTANCE = "Kolmogorov-Smirnov distance"
    ASSOCIATION = "Cramér's V"


@dataclass(frozen=True)
class ComparedValue:
    """A value or quantile of a property: the numbers of both sets, and their shares where these are counts."""

    name: str
    value: str
    pool: float
    pool_share: float | None
    reference: float
    reference_share: float | None


@dataclass(frozen=True)
class ComparedProperty:
    """A property of images: how many have it in both sets, how much it differs, and whether that is significant.

    ``critical_effect`` is the effect above which the difference would be significant, also corrected for the number of
    properties. ``note`` is why it was not compared.
    """

    name: str
    pool_images: int
    reference_images: int
    conclusion: Conclusion
    effect_name: Effect | None = None
    effect: float | None = None
    critical_effect: float | None = None
    p_value: float | None = None
    holm: float | None = None
    note: str = ""


@dataclass(frozen=True, eq=False)
class ImageSizes:
    """Per image: width, height and file size by name, not a number where unknown; and the number of unreadable ones."""

    columns: Mapping[str, FloatArray]
    unreadable: int = 0


@dataclass(frozen=True, eq=False)
class ProfiledSet:
    """One side of the comparison: a test set, and the sizes of its images if they were read."""

    test_set: TestSet
    sizes: ImageSizes | None = None

    def __len__(self) -> int:
        return len(self.test_set)

    def column(self, name: str) -> tuple[str, ...] | None:
        """The values of a group column, empty where they are unknown; None if all are."""
        values = (value.strip() for value in self.test_set.group_columns.get(name, ()))
        stated = tuple("" if is_unknown(value) else value for value in values)
        return stated if any(stated) else None


@dataclass(frozen=True, eq=False)
class _Both:
    """The values of both sets after each other, and how they are permuted."""

    pool: ProfiledSet
    reference: ProfiledSet
    rng: np.random.Generator
    permutations: int

    @property
    def is_pool(self) -> BoolArray:
        return np.arange(len(self.pool) + len(self.reference)) < len(self.pool)

    def texts(self, name: str) -> list[str] | None:
        """The values of a column that both sets have."""
        columns = [side.column(name) for side in (self.pool, self.reference)]
        return None if None in columns else [value for column in columns if column is not None for value in column]

    def sizes(self, name: str) -> FloatArray | None:
        """A size of all images, if it is known for any image of both sets."""
        both = [side.sizes.columns[name] for side in (self.pool, self.reference) if side.sizes is not None]
        if len(both) < 2 or any(np.isnan(column).all() for column in both):
            return None
        return np.concatenate(both)

    @property
    def labels(self) -> IntArray:
        return np.concatenate([side.test_set.labels for side in (self.pool, self.reference)])

    @property
    def clusters(self) -> IntArray | None:
        """The number of each image's author, those without one on their own; None if a set has no authors."""
        authors = self.texts("author")
        if authors is None:
            return None
        names = [author or f"\0{number}" for number, author in enumerate(authors)]
        return np.unique(names, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class _Tested:
    """A property with its test, and its rows of values."""

    prop: ComparedProperty
    rows: tuple[ComparedValue, ...] = ()
    test: PermutationTest | None = field(default=None, repr=False)


@dataclass(frozen=True)
class SetComparison:
    """Every property with its conclusion, and the values of all of them."""

    properties: tuple[ComparedProperty, ...]
    values: tuple[ComparedValue, ...]
    notes: tuple[str, ...]


def compare_sets(
    pool: ProfiledSet,
    reference: ProfiledSet,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    permutations: int = PERMUTATIONS,
) -> SetComparison:
    """Compare the properties of two sets of images, with tests that are corrected for their number (Holm).

    Images of one author are not independent: all tests permute whole authors if both sets have authors.
    """
    same_classes = pool.test_set.class_space.digest == reference.test_set.class_space.digest
    both = _Both(pool, reference, rng, permutations)
    tested = [
        *(_dates(both, name) for name in DATES),
        *(_sizes(both, name) for name in SIZES),
        _authors(both),
        _licenses(both),
        *((_keywords(both), _classes(both)) if same_classes else (_other_classes(both),)),
    ]
    return SetComparison(
        _concluded(tested, confidence),
        tuple(row for part in tested for row in part.rows),
        tuple(_notes(both)),
    )


def _concluded(tested: Sequence[_Tested], confidence: float) -> tuple[ComparedProperty, ...]:
    level = 1 - confidence
    tests = [part.test for part in tested if part.test is not None]
    adjusted = iter(holm([test.p_value for test in tests]).tolist())
    concluded = []
    for part in tested:
        if part.test is None:
            concluded.append(part.prop)
            continue
        critical, corrected = part.test.critical_effect(level / len(tests)), next(adjusted)
        concluded.append(
            replace(
                part.prop,
                conclusion=_conclusion(part.test, corrected, critical, level),
                effect=part.test.effect,
                critical_effect=critical,
                p_value=part.test.p_value,
                holm=corrected,
            )
        )
    return tuple(concluded)


def _conclusion(test: PermutationTest, corrected: float, critical: float | None, level: float) -> Conclusion:
    if corrected <= level:
        return Conclusion.DIFFERS
    too_few = min(test.units) < MIN_UNITS or critical is None or critical > RELEVANT_EFFECT
    return Conclusion.TOO_FEW if too_few else Conclusion.NOT_DETECTED


def _absent(both: _Both, name: str, column: str) -> _Tested:
    """A property that a set does not have."""
    lacking = [side.test_set.name for side in (both.pool, both.reference) if side.column(column) is None]
    return _not_compared(name, f"{' and '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no column {column}")


def _not_compared(name: str, note: str) -> _Tested:
    return _Tested(ComparedProperty(name, 0, 0, Conclusion.NOT_COMPARED, note=note))


def _property(name: str, is_pool: BoolArray, effect: Effect) -> ComparedProperty:
    """A property of images, before its conclusion is known."""
    return ComparedProperty(name, int(is_pool.sum()), int((~is_pool).sum()), Conclusion.NOT_COMPARED, effect)


def _clusters(both: _Both, chosen: BoolArray) -> IntArray | None:
    clusters = both.clusters
    return None if clusters is None else clusters[chosen]


def _of_numbers(
    both: _Both,
    name: str,
    numbers: FloatArray,
    rows: Callable[[str, FloatArray, BoolArray], Sequence[ComparedValue]],
) -> _Tested:
    """Compare numbers of images, not a number where unknown; ``rows`` describes those that are known."""
    stated = ~np.isnan(numbers)
    values, is_pool = numbers[stated], both.is_pool[stated]
    if is_pool.all() or not is_pool.any():
        side = both.reference if is_pool.any() else both.pool
        return _not_compared(name, f"no value of {name} in {side.test_set.name} can be read")
    test = compare_numbers(
        values, is_pool, rng=both.rng, clusters=_clusters(both, stated), permutations=both.permutations
    )
    return _Tested(_property(name, is_pool, Effect.DISTANCE), tuple(rows(name, values, is_pool)), test)


def _of_categories(
    both: _Both,
    name: str,
    texts: Sequence[str],
    chosen: BoolArray,
    *,
    strata: IntArray | None = None,
) -> _Tested:
    """Compare the categories of the ``chosen`` images."""
    categories, is_pool = np.asarray(texts, dtype=object)[chosen].astype(str), both.is_pool[chosen]
    if is_pool.all() or not is_pool.any():
        return _not_compared(name, f"the two sets have no images with a {name} in the same classes")
    test = compare_categories(
        categories,
        is_pool,
        rng=both.rng,
        permutations=both.permutations,
        clusters=_clusters(both, chosen),
        strata=None if strata is None else strata[chosen],
    )
    return _Tested(_property(name, is_pool, Effect.ASSOCIATION), tuple(_counted(name, categories, is_pool)), test)


def _counted(name: str, categories: Sequence[str] | np.ndarray, is_pool: BoolArray) -> list[ComparedValue]:
    """One row per category, the most frequent of the pool first."""
    counts = [Counter(np.asarray(categories)[side].tolist()) for side in (is_pool, ~is_pool)]
    ordered = sorted({*counts[0], *counts[1]}, key=lambda value: (-counts[0][value], -counts[1][value], value))
    return [_count_row(name, value, (counts[0][value], counts[1][value]), _totals(is_pool)) for value in ordered]


def _totals(is_pool: BoolArray) -> tuple[int, int]:
    return int(is_pool.sum()), int((~is_pool).sum())


def _count_row(name: str, value: str, counts: tuple[int, int], totals: tuple[int, int]) -> ComparedValue:
    shares = [count / total if total else None for count, total in zip(counts, totals, strict=True)]
    return ComparedValue(name, value, counts[0], shares[0], counts[1], shares[1])


def _dates(both: _Both, name: str) -> _Tested:
    texts = both.texts(name)
    if texts is None:
        return _absent(both, name, name)
    days = [read_date(text) for text in texts]
    numbers = np.array([np.nan if day is None else day.toordinal() for day in days])
    return _of_numbers(both, name, numbers, _date_rows)


def _date_rows(name: str, numbers: FloatArray, is_pool: BoolArray) -> list[ComparedValue]:
    days = [date.fromordinal(int(number)) for number in numbers]
    first, last = min(days), max(days)
    by_month = 12 * (last.year - first.year) + last.month - first.month < _MONTHS
    periods = [f"{day:%Y-%m}" if by_month else f"{day.year:04}" for day in days]
    return sorted(_counted(name, periods, is_pool), key=lambda row: row.value)


def _sizes(both: _Both, name: str) -> _Tested:
    numbers = both.sizes(name)
    if numbers is not None:
        return _of_numbers(both, name, numbers, _quantile_rows)
    sides = (both.pool, both.reference)
    if unread := [side.test_set.name for side in sides if side.sizes is None]:
        return _not_compared(name, f"the images of {' and '.join(unread)} were not read")
    unknown = [side.test_set.name for side in sides if side.sizes and np.isnan(side.sizes.columns[name]).all()]
    return _not_compared(name, f"{' and '.join(unknown)}: unknown for every image")


def _quantile_rows(name: str, numbers: FloatArray, is_pool: BoolArray) -> list[ComparedValue]:
    pool, reference = (np.quantile(numbers[side], QUANTILES) for side in (is_pool, ~is_pool))
    return [
        ComparedValue(name, f"{100 * share:g}% quantile", float(own), None, float(theirs), None)
        for share, own, theirs in zip(QUANTILES, pool, reference, strict=True)
    ]


def _licenses(both: _Both) -> _Tested:
    texts = both.texts("license")
    if texts is None:
        return _absent(both, "license", "license")
    stated = [text or _UNKNOWN for text in texts]
    return _of_categories(both, "license", stated, np.ones(len(stated), dtype=bool))


def _keywords(both: _Both) -> _Tested:
    """Keywords within classes, so that a different number of images per class does not count here."""
    texts = both.texts("keyword")
    if texts is None:
        return _absent(both, "keyword", "keyword")
    labels, names = both.labels, both.pool.test_set.class_space.ids
    chosen = (labels != UNLABELED) & np.array([bool(text) for text in texts])
    shared = set(labels[chosen & both.is_pool].tolist()) & set(labels[chosen & ~both.is_pool].tolist())
    chosen &= np.isin(labels, list(shared))
    within = [f"{names[label]}: {text}" for label, text in zip(labels.tolist(), texts, strict=True)]
    return _of_categories(both, "keyword", within, chosen, strata=labels)


def _classes(both: _Both) -> _Tested:
    labels, names = both.labels, both.pool.test_set.class_space.ids
    return _of_categories(both, "class", [names[label] for label in labels.tolist()], labels != UNLABELED)


def _other_classes(both: _Both) -> _Tested:
    spaces = [side.test_set.class_space.name for side in (both.pool, both.reference)]
    return _not_compared("class", f"the classes differ: {spaces[0]} and {spaces[1]}")


def _authors(both: _Both) -> _Tested:
    """How many images authors have: a larger set has more of each, so it is thinned to the size of the smaller one."""
    authors = both.texts("author")
    if authors is None:
        return _absent(both, "images per author", "author")
    names, is_pool = np.array(authors), both.is_pool
    chosen = names != ""
    size = min(_totals(is_pool[chosen]))
    thinned = [both.rng.permutation(np.flatnonzero(chosen & side))[:size] for side in (is_pool, ~is_pool)]
    counts = [np.unique(names[positions], return_counts=True)[1] for positions in thinned]
    sides = np.arange(sum(map(len, counts))) < len(counts[0])
    prop = _property("images per author", is_pool[chosen], Effect.DISTANCE)
    test = compare_numbers(np.concatenate(counts), sides, rng=both.rng, permutations=both.permutations)
    return _Tested(prop, tuple(_author_rows(both, names)), test)


def _author_rows(both: _Both, authors: np.ndarray) -> list[ComparedValue]:
    sides = [(authors != "") & side for side in (both.is_pool, ~both.is_pool)]
    counts = [np.unique(authors[side], return_counts=True)[1] for side in sides]
    totals = (len(counts[0]), len(counts[1]))
    name = "images per author"
    largest = [int(own.max()) for own in counts]
    rows = [
        ComparedValue(name, "authors", totals[0], None, totals[1], None),
        _count_row(
            name,
            "images of the most frequent author",
            (largest[0], largest[1]),
            (int(counts[0].sum()), int(counts[1].sum())),
        ),
    ]
    for low, high in _PER_AUTHOR:
        within = [int(((own >= low) & (own <= (high or own.max()))).sum()) for own in counts]
        rows.append(_count_row(name, _range_name(low, high), (within[0], within[1]), totals))
    single, classes = zip(*(_single_author_classes(both.labels[side], authors[side]) for side in sides), strict=True)
    rows.append(_count_row(name, "classes with one author only", single, classes))
    return rows


def _range_name(low: int, high: int | None) -> str:
    if high is None:
        return f"authors with more than {low - 1} images"
    return f"authors with {amount(low, 'image') if low == high else f'{low} to {high} images'}"


def _single_author_classes(labels: IntArray, authors: np.ndarray) -> tuple[int, int]:
    """How many classes with several images have one author only, and how many have several images."""
    by_class: dict[int, list[str]] = {}
    for label, author in zip(labels.tolist(), authors.tolist(), strict=True):
        if label != UNLABELED:
            by_class.setdefault(label, []).append(author)
    several = [own for own in by_class.values() if len(own) > 1]
    return sum(len(set(own)) == 1 for own in several), len(several)


def _notes(both: _Both) -> list[str]:
    notes = []
    for side in (both.pool, both.reference):
        name = side.test_set.name
        if side.sizes is not None and side.sizes.unreadable:
            notes.append(f"{name}: {amount(side.sizes.unreadable, 'image')} cannot be read")
        for column in (*DATES, "author", "keyword"):
            values = side.column(column)
            missing = 0 if values is None else sum(not value for value in values)
            if missing:
                notes.append(f"{name}: {missing:,} of {amount(len(side), 'image')} have no {column}")
    if both.clusters is None:
        notes.append("authors are not known in both sets: images count as independent, and a few authors may differ")
    else:
        notes.append("images of one author are not independent: tests permute whole authors")
    return notes


def in_classes_of(pool: TestSet, reference: TestSet) -> TestSet:
    """The reference images of the classes that the pool has; all of them if the class spaces differ."""
    if pool.class_space.digest != reference.class_space.digest:
        return reference
    inside = np.isin(reference.labels, np.unique(pool.labels[pool.labeled]))
    if not inside.any():
        raise InputError(f"{reference.name} has no image of the classes of {pool.name}")
    if inside.all():
        return reference
    whole = replace(reference, groups=reference.group_columns, slice_sets=())
    return whole.subset(reference.name, np.flatnonzero(inside).tolist())
