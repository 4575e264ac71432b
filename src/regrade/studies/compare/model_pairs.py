"""All pairs of many models, stored as arrays; a `Pair` is built when it is accessed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import overload

import numpy as np

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats import (
    align_with_test,
    benjamini_hochberg,
    bonferroni_confidence,
    holm,
    mcnemar,
    mcnemar_exact,
    paired_difference,
    paired_equivalence,
)
from regrade.stats.intervals import Intervals, method_name
from regrade.stats.paired import equivalence_p_values, mcnemar_tests, score_bounds
from regrade.stats.power import detectable_difference, needed_images
from regrade.studies.review_differences import ReviewDifferences

_BLOCK = 1 << 12  # pairs that are built at a time
_POWER = 0.8  # for the number of images needed and the smallest detectable difference


@dataclass(frozen=True)
class McNemarTests:
    """Two-sided p-values of every variant of McNemar's test for one pair."""

    exact: float
    mid_p: float
    chi_square: float
    chi_square_corrected: float


class PairResult(StrEnum):
    """The conclusion of the tests of one pair; "no difference detected" does not mean that the models are equal."""

    DIFFERENT = "different"
    NOT_DETECTED = "no difference detected"
    EQUIVALENT = "equivalent within the margin"
    SLIGHTLY_DIFFERENT = "different, but within the margin"

    @classmethod
    def of(cls, difference: float, equivalence: float | None, level: float) -> PairResult:
        """The conclusion from the corrected p-values of the tests of difference and, if done, of equivalence."""
        within = equivalence is not None and equivalence <= level
        if difference <= level:
            return cls.SLIGHTLY_DIFFERENT if within else cls.DIFFERENT
        return cls.EQUIVALENT if within else cls.NOT_DETECTED


@dataclass(frozen=True)
class Pair:
    """Two models on the same images; ``difference`` is the first's accuracy minus the second's.

    ``holm`` and ``benjamini_hochberg`` correct the exact p-value for all pairs that were compared.
    ``images_needed`` is the number of images with which the exact test, corrected by Holm, has 80% power if the
    measured difference is the true one; None if it is 0. ``smallest_difference`` is the smallest true difference that
    the available images detect with the same power; None if they are too few. ``equivalence`` is the p-value of
    equivalence within a margin, corrected by Holm for all pairs, and ``result`` the conclusion of both tests.
    ``lowest`` and ``highest`` bound the difference over all possible judgments of novel predictions, which count as
    wrong here; without novel predictions they equal the difference. ``anytime`` is the difference on these images that
    a complete review would give, with an interval that is valid at any stopping point.
    """

    first: str
    second: str
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate
    only_first: int
    only_second: int
    p_values: McNemarTests
    holm: float
    benjamini_hochberg: float
    images_needed: int | None
    smallest_difference: float | None
    equivalence: float | None
    result: PairResult
    lowest: float
    highest: float
    anytime: Estimate | None = None

    def in_words(self, level: float, *, margin: float | None = None) -> str:
        """The conclusion at a significance level, with the interval of the difference, in one sentence."""
        ahead, behind, sign = (
            (self.first, self.second, 1) if self.difference.value >= 0 else (self.second, self.first, -1)
        )
        low, high = sorted(100 * sign * bound for bound in (self.difference.low, self.difference.high))
        if self.holm <= level:
            within = f", within ±{100 * margin:g} points" if margin and self._within(level) else ""
            return f"{ahead} is ahead of {behind} by {low:.2f} to {high:.2f} points{within}{self._if_novel(sign)}"
        between = f"({ahead} is between {_points(-low, 'behind')} and {high:.2f} ahead)"
        images = amount(self.difference.n, "image")
        if margin and self._within(level):
            return (
                f"{self.first} and {self.second} are equivalent within ±{100 * margin:g} points on {images} {between}"
            )
        needed = f"; about {amount(self.images_needed, 'image')} for 80% power" if self.images_needed else ""
        return f"no difference detected between {self.first} and {self.second} on {images} {between}{needed}"

    def reversed(self) -> Pair:
        """The same comparison with the models in the other order: differences change their sign."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            first_accuracy=self.second_accuracy,
            second_accuracy=self.first_accuracy,
            difference=_negative(self.difference),
            only_first=self.only_second,
            only_second=self.only_first,
            lowest=0.0 - self.highest,
            highest=0.0 - self.lowest,
            anytime=_negative(self.anytime) if self.anytime else None,
        )

    def _within(self, level: float) -> bool:
        return self.equivalence is not None and self.equivalence <= level

    def _if_novel(self, sign: int) -> str:
        """Whether judgments of novel predictions could reverse the conclusion."""
        if self.lowest == self.highest:
            return ""
        worst = min(sign * self.lowest, sign * self.highest)
        if worst > 0:
            return ", however the novel predictions are judged"
        return ", but judging the novel predictions could reverse it"


def _negative(difference: Estimate) -> Estimate:
    """The difference in the other direction; 0 stays 0, without a sign."""
    own = difference
    return replace(own, value=0.0 - own.value, low=0.0 - own.high, high=0.0 - own.low)


def _points(value: float, direction: str) -> str:
    """A number of points with a direction; a negative number of points behind is ahead."""
    return f"{value:z.2f} points {direction}" if value >= 0 else f"{-value:.2f} points ahead"


@dataclass(frozen=True, eq=False)
class ModelPairs(Sequence[Pair]):
    """Pairs of models in the order of ``first`` and ``second`` (p,), which index ``models`` and their accuracies.

    A lazy sequence of `Pair`: millions of pairs take a few bytes each and are built during iteration.
    ``equivalence`` (p,) are Holm-corrected p-values of equivalence within a margin, if one was given. ``effects`` (p,)
    are the design effects of clustered images: tests and intervals use the counts divided by them.
    """

    models: tuple[str, ...]
    accuracies: tuple[Estimate, ...]
    first: IntArray
    second: IntArray
    only_first: IntArray
    only_second: IntArray
    holm: FloatArray
    benjamini_hochberg: FloatArray
    equivalence: FloatArray | None
    novel: IntArray
    images: int
    confidence: float
    review: ReviewDifferences | None = None
    effects: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.first)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        if isinstance(index, slice):
            return tuple(self._build(np.arange(len(self))[index]))
        return next(self._build(np.array([range(len(self))[index]])))

    def __iter__(self) -> Iterator[Pair]:
        for start in range(0, len(self), _BLOCK):
            yield from self._build(np.arange(start, min(start + _BLOCK, len(self))))

    def __eq__(self, pairs: object) -> bool:
        if not isinstance(pairs, Sequence):
            return NotImplemented
        return len(self) == len(pairs) and all(own == pair for own, pair in zip(self, pairs, strict=True))

    def __hash__(self) -> int:
        return hash((self.models, self.images, self.confidence))

    def __repr__(self) -> str:
        return f"<{len(self):,} pairs of {len(self.models):,} models>"

    @property
    def level(self) -> float:
        """The significance level of the tests, 1 - confidence."""
        return 1 - self.confidence

    @cached_property
    def pair_levels(self) -> FloatArray:
        """Shape (p,): the level divided by the number of pairs not declared different, the pair itself included.

        A pair not declared different would be declared so with an exact p-value of at most this, all else equal.
        """
        different = self.holm <= self.level
        return self.level / (np.count_nonzero(~different) + different)

    def equivalent(self) -> int | None:
        """How many pairs are equivalent within the margin at the level; None if no margin was given."""
        return None if self.equivalence is None else int((self.equivalence <= self.level).sum())

    def different(self, level: float) -> int:
        """How many pairs differ at a level, corrected by Holm for all of them."""
        return int((self.holm <= level).sum())

    def rows_of(self, first: Sequence[str], second: Sequence[str]) -> IntArray:
        """Shape (q,): the row of each pair of models; needs pairs in ascending order."""
        index = {model: place for place, model in enumerate(self.models)}
        places = np.sort([[index[model] for model in pair] for pair in zip(first, second, strict=True)], axis=1)
        keys = self.first.astype(np.int64) * len(index) + self.second
        return np.searchsorted(keys, places[:, 0] * len(index) + places[:, 1])

    def _build(self, rows: IntArray) -> Iterator[Pair]:
        """The pairs of the given rows."""
        b, c = self.only_first[rows], self.only_second[rows]
        tests = mcnemar(b, c) if self.effects is None else mcnemar_tests(b / self.effects[rows], c / self.effects[rows])
        columns = (tests.exact, tests.mid_p, tests.chi_square, tests.corrected)
        equivalence = self.equivalence[rows].tolist() if self.equivalence is not None else [None] * len(rows)
        for i, j, difference, only_first, only_second, p_values, by_holm, by_rate, needed, smallest, within in zip(
            self.first[rows].tolist(),
            self.second[rows].tolist(),
            self._differences(rows),
            b.tolist(),
            c.tolist(),
            zip(*(column.tolist() for column in columns), strict=True),
            self.holm[rows].tolist(),
            self.benjamini_hochberg[rows].tolist(),
            self.images_needed(rows).tolist(),
            self.smallest_differences(rows).tolist(),
            equivalence,
            strict=True,
        ):
            yield Pair(
                first=self.models[i],
                second=self.models[j],
                first_accuracy=self.accuracies[i],
                second_accuracy=self.accuracies[j],
                difference=difference,
                only_first=only_first,
                only_second=only_second,
                p_values=McNemarTests(*p_values),
                holm=by_holm,
                benjamini_hochberg=by_rate,
                images_needed=None if math.isnan(needed) else int(needed),
                smallest_difference=None if math.isnan(smallest) else smallest,
                equivalence=within,
                result=PairResult.of(by_holm, within, self.level),
                lowest=(only_first - only_second - int(self.novel[j])) / self.images,
                highest=(only_first - only_second + int(self.novel[i])) / self.images,
                anytime=None if self.review is None else self.review.difference(i, j, confidence=self.confidence),
            )

    def images_needed(self, rows: IntArray, *, power: float = _POWER) -> FloatArray:
        """Shape (r,): images needed to declare a pair different, if its measured difference is the true one."""
        difference = (self.only_first[rows] - self.only_second[rows]) / self.images
        needed = needed_images(difference, self.disagreement(rows), power=power, alpha=self.pair_levels[rows])
        return needed if self.effects is None else np.ceil(needed * self.effects[rows])

    def smallest_differences(self, rows: IntArray, *, power: float = _POWER) -> FloatArray:
        """Shape (r,): the smallest true difference that can be detected on as many images; NaN if there is none."""
        images = self.images if self.effects is None else self.images / self.effects[rows]
        return detectable_difference(images, self.disagreement(rows), power=power, alpha=self.pair_levels[rows])

    def disagreement(self, rows: IntArray) -> FloatArray:
        """Shape (r,): the share of images on which exactly one model of a pair is correct."""
        return (self.only_first[rows] + self.only_second[rows]) / self.images

    def difference_methods(self) -> set[str]:
        """The interval methods of the differences, for pairs that differ and for the rest."""
        differs = self.holm <= 1 - self.confidence
        rows = [int(np.flatnonzero(group)[0]) for group in (differs, ~differs) if group.any()]
        return {estimate.method for estimate in self._differences(np.array(rows, dtype=np.int64))}

    @cached_property
    def _levels(self) -> _IntervalLevels:
        return _IntervalLevels(len(self), self.different(1 - self.confidence), self.confidence)

    def _differences(self, rows: IntArray) -> list[Estimate]:
        """The differences of the given pairs; an interval excludes 0 exactly if the pair differs."""
        b, c = self.only_first[rows], self.only_second[rows]
        differs = self.holm[rows] <= 1 - self.confidence
        values: FloatArray = (b - c) / self.images
        levels, estimates = self._levels, np.empty(len(rows), dtype=object)
        for group, confidence, words in (
            (differs, levels.of_differing, f", {levels.differing:,} of {levels.pairs:,} selected"),
            (~differs, levels.of_rest, f", {levels.pairs - levels.differing:,} together"),
        ):
            bounds = self._bounds(rows[group], confidence)
            bounds = align_with_test(bounds, values[group], differs[group])
            kind = "paired score" if self.effects is None else "clustered paired score"
            method = method_name(f"{kind}{words if levels.pairs > 1 else ''}", self.confidence)
            parts = zip(values[group].tolist(), bounds.low.tolist(), bounds.high.tolist(), strict=True)
            estimates[group] = [Estimate(*part, self.images, method) for part in parts]
        return list(estimates)

    def _bounds(self, rows: IntArray, confidence: float) -> Intervals:
        b, c = self.only_first[rows], self.only_second[rows]
        if self.effects is None:
            return paired_difference(b, c, self.images, confidence=confidence)
        effects = self.effects[rows]
        return score_bounds(b / effects, c / effects, self.images / effects, confidence=confidence)


@dataclass(frozen=True)
class _IntervalLevels:
    """The confidence of each interval among ``pairs``, ``differing`` of which Holm's correction calls different.

    Pairs that differ were selected by the data: a share ``confidence`` of their intervals holds on average (false
    coverage rate; Benjamini and Yekutieli 2005). The intervals of the rest are simultaneous. Both agree with the tests:
    the first level is at least Holm's last passed threshold, the second is Holm's first threshold that failed.
    """

    pairs: int
    differing: int
    confidence: float

    @property
    def of_differing(self) -> float:
        return 1 - (1 - self.confidence) * max(self.differing, 1) / self.pairs

    @property
    def of_rest(self) -> float:
        return bonferroni_confidence(self.pairs - self.differing, self.confidence)


def model_pairs(
    models: tuple[str, ...],
    accuracies: Sequence[Estimate],
    counts: IntArray,
    novel: IntArray,
    *,
    first: IntArray,
    second: IntArray,
    images: int,
    confidence: float,
    margin: float | None = None,
    effects: FloatArray | None = None,
) -> ModelPairs:
    """The pairs of ``first`` with ``second`` (p,), with p-values corrected for them, from `discordant_counts` (m, m).

    With a ``margin``, all pairs are also tested for equivalence. ``effects`` (m, m) are design effects of clusters.
    """
    first, second = first.astype(np.int32), second.astype(np.int32)
    only_first, only_second = (counts[rows].astype(np.int32) for rows in ((first, second), (second, first)))
    own = None if effects is None else effects[first, second]
    exact = mcnemar_exact(*((only_first, only_second) if own is None else (only_first / own, only_second / own)))
    equivalence = None if margin is None else _equivalence(only_first, only_second, images, margin, own)
    return ModelPairs(
        models,
        tuple(accuracies),
        first,
        second,
        only_first,
        only_second,
        holm(exact),
        benjamini_hochberg(exact),
        equivalence,
        novel,
        images,
        confidence,
        effects=own,
    )


def _equivalence(
    only_first: IntArray, only_second: IntArray, images: int, margin: float, effects: FloatArray | None
) -> FloatArray:
    """Shape (p,): p-values of equivalence, corrected by Holm for all pairs."""
    if effects is not None:
        b, c, n = only_first / effects, only_second / effects, images / effects
        return holm(equivalence_p_values(b, c, n, margin=margin))
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(only_first), _BLOCK)]
    tested = [paired_equivalence(only_first[rows], only_second[rows], images, margin=margin) for rows in blocks]
    return holm(np.concatenate([np.empty(0), *tested]))
