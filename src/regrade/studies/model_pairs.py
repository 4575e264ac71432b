"""All pairs of many models as arrays, from which a pair is made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    benjamini_hochberg,
    holm,
    images_to_tell_apart,
    mcnemar,
    mcnemar_exact,
    paired_difference,
)
from regrade.stats.intervals import method_name
from regrade.studies.pair import McNemarTests, Pair
from regrade.studies.review_differences import ReviewDifferences

_BLOCK = 1 << 12  # pairs that are made at a time


@dataclass(frozen=True, eq=False)
class ModelPairs(Sequence[Pair]):
    """Pairs of models in the order of ``first`` and ``second`` (p,), which index ``models`` and their accuracies.

    A sequence of `Pair`: millions of them take some bytes each, as they are made only while one goes through them.
    """

    models: tuple[str, ...]
    accuracies: tuple[Estimate, ...]
    first: IntArray
    second: IntArray
    only_first: IntArray
    only_second: IntArray
    holm: FloatArray
    benjamini_hochberg: FloatArray
    novel: IntArray
    images: int
    confidence: float
    review: ReviewDifferences | None = None

    def __len__(self) -> int:
        return len(self.first)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        if isinstance(index, slice):
            return tuple(self._made(np.arange(len(self))[index]))
        return next(self._made(np.array([range(len(self))[index]])))

    def __iter__(self) -> Iterator[Pair]:
        for start in range(0, len(self), _BLOCK):
            yield from self._made(np.arange(start, min(start + _BLOCK, len(self))))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(own == pair for own, pair in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((self.models, self.images, self.confidence))

    def __repr__(self) -> str:
        return f"<{len(self):,} pairs of {len(self.models):,} models>"

    def apart(self, level: float) -> int:
        """How many pairs differ at a level, corrected by Holm for all of them."""
        return int((self.holm <= level).sum())

    def are_apart(self, first: Sequence[str], second: Sequence[str], level: float) -> BoolArray:
        """Shape (q,): whether models differ from others, one by one; the pairs must be in ascending order."""
        index = {model: place for place, model in enumerate(self.models)}
        places = np.sort([[index[one], index[other]] for one, other in zip(first, second, strict=True)], axis=1)
        keys = self.first.astype(np.int64) * len(index) + self.second
        rows = np.searchsorted(keys, places[:, 0] * len(index) + places[:, 1])
        return self.holm[rows] <= level

    def _made(self, rows: IntArray) -> Iterator[Pair]:
        """The pairs of some rows."""
        b, c = self.only_first[rows], self.only_second[rows]
        tests = mcnemar(b, c)
        columns = (tests.exact, tests.mid_p, tests.chi_square, tests.corrected)
        for i, j, difference, only_first, only_second, p_values, by_holm, by_rate in zip(
            self.first[rows].tolist(),
            self.second[rows].tolist(),
            self._differences(b, c),
            b.tolist(),
            c.tolist(),
            zip(*(column.tolist() for column in columns), strict=True),
            self.holm[rows].tolist(),
            self.benjamini_hochberg[rows].tolist(),
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
                images_needed=_images_needed(only_first, only_second, self.images),
                lowest=(only_first - only_second - int(self.novel[j])) / self.images,
                highest=(only_first - only_second + int(self.novel[i])) / self.images,
                anytime=None if self.review is None else self.review.difference(i, j, confidence=self.confidence),
            )

    def _differences(self, only_first: IntArray, only_second: IntArray) -> list[Estimate]:
        bounds = paired_difference(only_first, only_second, self.images, confidence=self.confidence)
        values: FloatArray = (only_first - only_second) / self.images
        name = method_name("paired score", self.confidence)
        rows = zip(values.tolist(), bounds.low.tolist(), bounds.high.tolist(), strict=True)
        return [Estimate(value, low, high, self.images, name) for value, low, high in rows]


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
) -> ModelPairs:
    """The pairs of ``first`` with ``second`` (p,), p-values corrected for these, from `discordant_counts` (m, m)."""
    first, second = first.astype(np.int32), second.astype(np.int32)
    only_first, only_second = (counts[rows].astype(np.int32) for rows in ((first, second), (second, first)))
    exact = mcnemar_exact(only_first, only_second)
    return ModelPairs(
        models,
        tuple(accuracies),
        first,
        second,
        only_first,
        only_second,
        holm(exact),
        benjamini_hochberg(exact),
        novel,
        images,
        confidence,
    )


def _images_needed(only_first: int, only_second: int, images: int) -> int | None:
    if only_first == only_second:
        return None
    return images_to_tell_apart((only_first - only_second) / images, (only_first + only_second) / images)
