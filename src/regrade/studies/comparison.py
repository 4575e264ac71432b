"""What a comparison of models says: every pair, every rank, and on what it rests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regrade.core import Column, Estimate, Table, Tabular
from regrade.core.amounts import amount


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
    models do not differ. ``lowest`` and ``highest`` are what the difference could become if people judged the novel
    predictions, which here count as wrong; without any they are the difference itself.
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
    lowest: float
    highest: float

    def as_dict(self, accuracies: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The pair, ready for JSON, with the accuracies of its models."""
        return {
            **vars(self),
            "first_accuracy": accuracies[self.first],
            "second_accuracy": accuracies[self.second],
            "difference": self.difference.as_dict(),
            "p_values": dict(vars(self.p_values)),
        }

    def in_words(self, level: float) -> str:
        """What the difference, its interval and the exact test at a level say, in one sentence."""
        ahead, behind, sign = (
            (self.first, self.second, 1) if self.difference.value >= 0 else (self.second, self.first, -1)
        )
        low, high = sorted(100 * sign * bound for bound in (self.difference.low, self.difference.high))
        if low > 0 and self.holm <= level:
            return f"{ahead} is ahead of {behind} by {low:.2f} to {high:.2f} points{self._if_novel(sign)}"
        needed = f"; {amount(self.images_needed, 'image')} would in 4 of 5 cases" if self.images_needed else ""
        return (
            f"{self.first} and {self.second} cannot be told apart on {amount(self.difference.n, 'image')} "
            f"({ahead} is between {_points(-low, 'behind')} and {high:.2f} ahead){needed}"
        )

    def _if_novel(self, sign: int) -> str:
        """Whether the novel predictions could turn the finding round."""
        if self.lowest == self.highest:
            return ""
        worst = min(sign * self.lowest, sign * self.highest)
        return ", whatever the novel predictions are" if worst > 0 else ", but novel ones could turn it round"


@dataclass(frozen=True)
class Rank:
    """One model's accuracy and rank, with bounds that hold for all models together.

    ``novel`` counts its predictions that no one has judged: they count as wrong.
    """

    model: str
    accuracy: Estimate
    rank: int
    low: int
    high: int
    novel: int


@dataclass(frozen=True)
class Basis:
    """What a comparison rests on: images of a test set, or of a slice of it, and what right means there."""

    test_set: str
    images: int
    confidence: float = 0.95
    labels: str | None = None
    labels_version: int | None = None
    rule: str | None = None
    slice: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Where the models were compared, for headings."""
        part = f", slice {self.slice}" if self.slice else ""
        against = f" against {self.labels}@{self.labels_version}" if self.labels else ""
        return f"{self.test_set}{part}{against}"


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """All pairs among some models, and their ranks, best first."""

    basis: Basis
    pairs: tuple[Pair, ...]
    ranks: tuple[Rank, ...]

    def as_dict(self) -> dict[str, Any]:
        """The comparison, ready for JSON; a model's accuracy is one object, however many pairs it is in."""
        accuracies = {rank.model: rank.accuracy.as_dict() for rank in self.ranks}
        return {
            **vars(self.basis),
            "pairs": [pair.as_dict(accuracies) for pair in self.pairs],
            "ranks": [{**vars(rank), "accuracy": accuracies[rank.model]} for rank in self.ranks],
        }

    def table(self) -> Table:
        """The one pair there is, or the ranks of many models."""
        return self.pair_table() if len(self.pairs) == 1 else self.rank_table()

    def rank_table(self) -> Table:
        """One line a model, best first."""
        apart = sum(pair.holm <= self._level for pair in self.pairs)
        keys = {"rank": "rank", "low": "from", "high": "to", "model": "model", "accuracy": "accuracy"}
        if any(rank.novel for rank in self.ranks):
            keys["novel"] = "novel"
        notes = (
            f"{apart:,} of {len(self.pairs):,} pairs differ at the {100 * self._level:g}% level (exact McNemar, Holm)",
            f"the ranges hold for all models together with {100 * self.basis.confidence:g}% confidence",
            *self._methods(),
            *self.basis.notes,
        )
        return Table(
            f"ranks on {self.basis.title}, accuracy in %",
            tuple(Column(key, heading) for key, heading in keys.items()),
            tuple(tuple(getattr(rank, key) for key in keys) for rank in self.ranks),
            notes,
        )

    def pair_table(self) -> Table:
        """One line a pair."""
        novel = any(pair.lowest != pair.highest for pair in self.pairs)
        columns = (
            Column("first", "first"),
            Column("second", "second"),
            Column("first_accuracy", "accuracy of first"),
            Column("second_accuracy", "accuracy of second"),
            Column("difference", "difference"),
            *((Column("lowest", "at the lowest"), Column("highest", "at the highest")) if novel else ()),
            Column("only_first", "only first right"),
            Column("only_second", "only second right"),
            *(Column(key, f"p, {name}", percent=False, digits=4, floor=1e-300) for key, name in _P_VALUES.items()),
            Column("images_needed", "images for 80% power"),
        )
        notes = (
            *(pair.in_words(self._level) for pair in self.pairs if len(self.pairs) == 1),
            *self._methods(),
            f"p-values: McNemar's tests on {amount(self.basis.images, 'image')}; the last two correct the exact one",
            *self.basis.notes,
        )
        rows = tuple(tuple(_cell(pair, column.key) for column in columns) for pair in self.pairs)
        return Table(f"pairs on {self.basis.title}, in %", columns, rows, notes)

    @property
    def _level(self) -> float:
        return 1 - self.basis.confidence

    def _methods(self) -> tuple[str, ...]:
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


def _cell(pair: Pair, key: str) -> Any:
    return getattr(pair.p_values if hasattr(pair.p_values, key) else pair, key)


def _points(value: float, direction: str) -> str:
    """So many points in a direction; a negative number of points behind is ahead."""
    return f"{value:.2f} points {direction}" if value >= 0 else f"{-value:.2f} points ahead"
