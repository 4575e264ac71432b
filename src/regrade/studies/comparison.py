"""What a comparison of models says: every pair, every rank, and on what it rests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regrade.core import Column, Estimate, Table, Tabular
from regrade.core.amounts import amount
from regrade.studies.pair import Pair


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
