"""Who is really ahead of whom: paired tests between models on the same images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, InputError, LabelSet, Table, Tabular, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    benjamini_hochberg,
    discordant_counts,
    holm,
    images_to_tell_apart,
    mcnemar,
    paired_difference,
    proportions,
)
from regrade.stats.intervals import method_name
from regrade.stats.ranks import rank_intervals_from_counts


@dataclass(frozen=True)
class McNemarTests:
    """Two-sided p-values of every variant of McNemar's test for one pair."""

    exact: float
    mid_p: float
    chi_square: float
    chi_square_corrected: float


@dataclass(frozen=True)
class Pair:
    """Two models on the same images; ``difference`` is the first's accuracy less the second's.

    ``holm`` and ``benjamini_hochberg`` correct the exact p-value for all pairs that were compared.
    ``images_needed`` would find the measured difference, if it is the true one, in 80% of cases; none where the
    models do not differ.
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

    def as_dict(self, accuracies: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The pair, ready for JSON, with the accuracies of its models."""
        return {
            **vars(self),
            "first_accuracy": accuracies[self.first],
            "second_accuracy": accuracies[self.second],
            "difference": self.difference.as_dict(),
            "p_values": dict(vars(self.p_values)),
        }

    def in_words(self) -> str:
        """What the difference and its interval say, in one sentence."""
        ahead, behind, sign = (
            (self.first, self.second, 1) if self.difference.value >= 0 else (self.second, self.first, -1)
        )
        low, high = sorted(100 * sign * bound for bound in (self.difference.low, self.difference.high))
        if low > 0:
            return f"{ahead} is ahead of {behind} by {low:.2f} to {high:.2f} points"
        needed = f"; {self.images_needed:,} images would" if self.images_needed else ""
        return (
            f"{self.first} and {self.second} cannot be told apart on {self.difference.n:,} images "
            f"({ahead} is between {-low:.2f} points behind and {high:.2f} ahead){needed}"
        )


@dataclass(frozen=True)
class Rank:
    """One model's accuracy and rank, with bounds that hold for all models together."""

    model: str
    accuracy: Estimate
    rank: int
    low: int
    high: int


@dataclass(frozen=True)
class Comparison(Tabular):
    """All pairs among some models, and their ranks, best first."""

    test_set: str
    labels: str | None
    labels_version: int | None
    images: int
    confidence: float
    pairs: tuple[Pair, ...]
    ranks: tuple[Rank, ...]

    def as_dict(self) -> dict[str, Any]:
        """The comparison, ready for JSON; a model's accuracy is one object, however many pairs it is in."""
        accuracies = {rank.model: rank.accuracy.as_dict() for rank in self.ranks}
        return {
            "test_set": self.test_set,
            "labels": self.labels,
            "labels_version": self.labels_version,
            "images": self.images,
            "confidence": self.confidence,
            "pairs": [pair.as_dict(accuracies) for pair in self.pairs],
            "ranks": [{**vars(rank), "accuracy": accuracies[rank.model]} for rank in self.ranks],
        }

    def table(self) -> Table:
        """The one pair there is, or the ranks of many models."""
        return self.pair_table() if len(self.pairs) == 1 else self.rank_table()

    def rank_table(self) -> Table:
        """One line a model, best first."""
        level = 1 - self.confidence
        apart = sum(pair.holm <= level for pair in self.pairs)
        columns = (Column("rank", "rank"), Column("low", "from"), Column("high", "to"), Column("model", "model"))
        return Table(
            f"ranks on {self.test_set}{self._against}, accuracy in %",
            (*columns, Column("accuracy", "accuracy")),
            tuple((r.rank, r.low, r.high, r.model, r.accuracy) for r in self.ranks),
            (
                f"{apart:,} of {len(self.pairs):,} pairs differ at the {100 * level:g}% level (exact McNemar, Holm)",
                f"the ranges hold for all models together with {100 * self.confidence:g}% confidence",
                *self._method_note(),
            ),
        )

    def pair_table(self) -> Table:
        """One line a pair."""
        columns = (
            Column("first", "first"),
            Column("second", "second"),
            Column("first_accuracy", "accuracy of first"),
            Column("second_accuracy", "accuracy of second"),
            Column("difference", "difference"),
            Column("only_first", "only first right"),
            Column("only_second", "only second right"),
            *(Column(key, f"p, {heading}", percent=False, digits=4) for key, heading in _P_VALUES.items()),
            Column("images_needed", "images for 80% power"),
        )
        rows = tuple(self._pair_row(pair) for pair in self.pairs)
        notes = (
            *(pair.in_words() for pair in self.pairs if len(self.pairs) == 1),
            *self._method_note(),
            f"p-values: McNemar's tests on {self.images:,} images; Holm and Benjamini-Hochberg correct the exact one",
        )
        return Table(f"pairs on {self.test_set}{self._against}, in %", columns, rows, notes)

    def _pair_row(self, pair: Pair) -> tuple[Any, ...]:
        p = pair.p_values
        return (
            pair.first, pair.second, pair.first_accuracy, pair.second_accuracy, pair.difference, pair.only_first,
            pair.only_second, p.exact, p.mid_p, p.chi_square, p.chi_square_corrected, pair.holm,
            pair.benjamini_hochberg, pair.images_needed,
        )  # fmt: skip

    @property
    def _against(self) -> str:
        return f" against {self.labels}@{self.labels_version}" if self.labels else ""

    def _method_note(self) -> tuple[str, ...]:
        methods = {rank.accuracy.method for rank in self.ranks} | {pair.difference.method for pair in self.pairs[:1]}
        return (f"intervals: {', '.join(sorted(methods))}",)


_P_VALUES = {
    "exact": "exact",
    "mid_p": "mid-p",
    "chi_square": "chi-square",
    "chi_square_corrected": "chi-square, corrected",
    "holm": "Holm",
    "benjamini_hochberg": "Benjamini-Hochberg",
}


def compare(
    models: tuple[str, ...],
    correct: BoolArray,
    *,
    test_set: str,
    labels: LabelSet | None = None,
    confidence: float = 0.95,
) -> Comparison:
    """Compare all pairs of two or more models, from ``correct`` (m, n); pairs keep the order of ``models``."""
    if len(models) < 2:
        raise InputError(f"a comparison needs at least two models, got {len(models)}")
    if not correct.shape[1]:
        raise UndefinedError("there is no image to compare the models on")
    counts = discordant_counts(correct)
    accuracies = proportions(correct.sum(axis=1), correct.shape[1], confidence=confidence)
    return Comparison(
        test_set,
        labels.name if labels else None,
        labels.version if labels else None,
        correct.shape[1],
        confidence,
        _pairs(models, accuracies, counts, correct.shape[1], confidence),
        _ranks(models, accuracies, counts, confidence),
    )


def _pairs(
    models: tuple[str, ...], accuracies: list[Estimate], counts: IntArray, images: int, confidence: float
) -> tuple[Pair, ...]:
    first, second = np.triu_indices(len(models), k=1)
    only_first, only_second = counts[first, second], counts[second, first]
    tests = mcnemar(only_first, only_second)
    columns = (tests.exact, tests.mid_p, tests.chi_square, tests.corrected)
    p_values = zip(*(column.tolist() for column in columns), strict=True)
    rows = zip(
        first.tolist(),
        second.tolist(),
        _differences(only_first, only_second, images, confidence),
        only_first.tolist(),
        only_second.tolist(),
        p_values,
        holm(tests.exact).tolist(),
        benjamini_hochberg(tests.exact).tolist(),
        strict=True,
    )
    return tuple(
        Pair(
            first=models[i],
            second=models[j],
            first_accuracy=accuracies[i],
            second_accuracy=accuracies[j],
            difference=difference,
            only_first=b,
            only_second=c,
            p_values=McNemarTests(*p),
            holm=by_holm,
            benjamini_hochberg=by_rate,
            images_needed=_images_needed(b, c, images),
        )
        for i, j, difference, b, c, p, by_holm, by_rate in rows
    )


def _differences(only_first: IntArray, only_second: IntArray, images: int, confidence: float) -> list[Estimate]:
    bounds = paired_difference(only_first, only_second, images, confidence=confidence)
    values: FloatArray = (only_first - only_second) / images
    name = method_name("paired score", confidence)
    rows = zip(values.tolist(), bounds.low.tolist(), bounds.high.tolist(), strict=True)
    return [Estimate(value, low, high, images, name) for value, low, high in rows]


def _images_needed(only_first: int, only_second: int, images: int) -> int | None:
    if only_first == only_second:
        return None
    return images_to_tell_apart((only_first - only_second) / images, (only_first + only_second) / images)


def _ranks(
    models: tuple[str, ...], accuracies: list[Estimate], counts: IntArray, confidence: float
) -> tuple[Rank, ...]:
    found = rank_intervals_from_counts(counts, [a.value for a in accuracies], confidence=confidence)
    rows = [
        Rank(model, accuracy, int(rank), int(low), int(high))
        for model, accuracy, rank, low, high in zip(models, accuracies, found.rank, found.low, found.high, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (row.rank, row.model)))
