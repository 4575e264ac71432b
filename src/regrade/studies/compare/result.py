"""The result of a comparison of models: pairs, ranks, and the images and labels they are based on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from regrade.core import Column, Estimate, InputError, MappedRows, Table
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import INLINE, NOT_IN_JSON, json_key
from regrade.stats import best_share
from regrade.studies.compare.method_differences import MethodDifference, method_table
from regrade.studies.compare.model_pairs import ModelPairs, Pair
from regrade.studies.image_basis import Basis
from regrade.studies.review_differences import MOST_PAIRS
from regrade.studies.study_result import StudyResult


class ComparisonPart(Enum):
    """The tables of a comparison."""

    RANKS = "ranks"
    PAIRS = "pairs"
    METHODS = "methods"


@dataclass(frozen=True)
class Rank:
    """One model's accuracy and rank, with simultaneous bounds of the rank for all models.

    ``novel`` counts its predictions that no one has judged; they count as wrong.
    """

    model: str
    accuracy: Estimate
    rank: int
    low: int
    high: int
    novel: int


@dataclass(frozen=True, repr=False)
class Comparison(StudyResult, records="ranks"):
    """All pairs of the compared models, and their ranks, best first; ``methods`` are the pairs of replicates."""

    basis: Basis = field(metadata=INLINE)
    pairs: ModelPairs
    ranks: tuple[Rank, ...]
    methods: tuple[MethodDifference, ...] | None = field(default=None, metadata=json_key("methods", only_if_set=True))
    clustered_best: Estimate | None = field(default=None, metadata=NOT_IN_JSON)

    def __getitem__(self, key: int | slice | str | tuple[str, ...]) -> Any:
        """The rank of a model by position or name, or the `Pair` of two models: ``comparison["a", "b"]``.

        Its difference is that of the first named model minus the second.
        """
        if not isinstance(key, tuple):
            return super().__getitem__(key)
        if len(key) != 2 or key[0] == key[1]:
            raise InputError(f"a pair is two different models, got {', '.join(key)}")
        first, second = (self[model].model for model in key)
        pair = self.pairs[int(self.pairs.rows_of([first], [second])[0])]
        return pair if pair.first == first else pair.reversed()

    @property
    def different_pairs(self) -> int:
        """How many pairs differ by the exact test at the significance level, corrected by Holm."""
        return self.pairs.different(self.basis.level)

    def steps(self) -> BoolArray:
        """Shape (m - 1,): whether each model in the ranking differs from the next one."""
        return self.pairs.holm[self.step_rows()] <= self.basis.level

    def step_rows(self) -> IntArray:
        """Shape (m - 1,): the row in ``pairs`` of each model in the ranking and the next one."""
        ranked = [rank.model for rank in self.ranks]
        return self.pairs.rows_of(ranked[:-1], ranked[1:])

    def table(self) -> Table:
        """The pairs of replicates, or else the pair of two models, or the ranks of more."""
        if self.methods:
            return method_table(self.basis, self.methods)
        return self.pair_table() if len(self.pairs) == 1 else self.rank_table()

    def rank_table(self) -> Table:
        """One row per model, best first."""
        keys = {"rank": "rank", "low": "from", "high": "to", "model": "model", "accuracy": "accuracy"}
        if any(rank.novel for rank in self.ranks):
            keys["novel"] = "novel"
        notes = (
            f"{self.different_pairs:,} of {len(self.pairs):,} pairs differ at the {100 * self.basis.level:g}% level "
            "(exact McNemar, Holm)",
            *self._equivalence_notes(),
            f"rank ranges are simultaneous for all models, with {100 * self.basis.confidence:g}% confidence",
            "detectable difference to next: the smallest true difference that the same tests detect on these images "
            "with 80% power",
            *self._best_note(),
            _methods({rank.accuracy.method for rank in self.ranks}),
            *self.basis.notes,
        )
        smallest = [None if math.isnan(d) else d for d in self.pairs.smallest_differences(self.step_rows()).tolist()]
        detectable = Column("smallest_difference", "detectable difference to next, points", digits=2, detail=True)
        return Table(
            f"ranks on {self.basis.title}, accuracy in %",
            (*(Column(key, heading) for key, heading in keys.items()), detectable),
            tuple(
                (*(getattr(rank, key) for key in keys), difference)
                for rank, difference in zip(self.ranks, [*smallest, None], strict=True)
            ),
            notes,
        )

    def best(self) -> Estimate:
        """The accuracy of the model ranked first, with an interval corrected for selecting the best."""
        if self.clustered_best is not None:
            return self.clustered_best
        right = [round(rank.accuracy.value * rank.accuracy.n) for rank in self.ranks]
        return best_share(right, self.basis.images, confidence=self.basis.confidence)

    def _best_note(self) -> tuple[str, ...]:
        if len(self.ranks) < 2:
            return ()
        best = self.best()
        name, models = self.ranks[0].model, len(self.ranks)
        return (f"accuracy of {name}, corrected for selecting the best of {models:,} models: {best}",)

    @property
    def parts(self) -> tuple[ComparisonPart, ...]:
        """The tables."""
        own = (ComparisonPart.RANKS, ComparisonPart.PAIRS)
        return (ComparisonPart.METHODS, *own) if self.methods else own

    def part(self, part: ComparisonPart) -> Table:
        """Return one of the tables."""
        if part is ComparisonPart.METHODS:
            if not self.methods:
                raise InputError("there are no methods to show: name them with --replicates")
            return method_table(self.basis, self.methods)
        return self.rank_table() if part is ComparisonPart.RANKS else self.pair_table()

    def pair_table(self) -> Table:
        """One row per pair, made while the table is read."""
        methods = {rank.accuracy.method for rank in self.ranks} | self.pairs.difference_methods()
        basis = replace(self.basis, notes=(*self._equivalence_notes(), *self.basis.notes))
        return pair_table(basis, self.pairs, novel=bool(self.pairs.novel.any()), methods=methods)

    def _equivalence_notes(self) -> tuple[str, ...]:
        """How many pairs are equivalent, and by which test; empty without a margin."""
        count, margin = self.pairs.equivalent(), self.basis.equivalence
        if count is None or margin is None:
            return ()
        return (
            f"{count:,} of {amount(len(self.pairs), 'pair')} {'is' if count == 1 else 'are'} equivalent within "
            f"±{100 * margin:g} points at the {100 * self.basis.level:g}% level (two one-sided paired score tests, "
            "corrected by Holm for all pairs)",
        )


def pair_table(basis: Basis, pairs: Sequence[Pair], *, novel: bool, methods: Iterable[str]) -> Table:
    """One row per pair, with how far ``novel`` predictions could change it; ``methods`` are the interval methods."""
    margin = basis.equivalence
    anytime = len(pairs) <= MOST_PAIRS and any(pair.anytime for pair in pairs)
    columns = (
        Column("first", "first"),
        Column("second", "second"),
        Column("first_accuracy", "accuracy of first", detail=True),
        Column("second_accuracy", "accuracy of second", detail=True),
        Column("difference", "difference"),
        *(
            (Column("lowest", "lowest possible", detail=True), Column("highest", "highest possible", detail=True))
            if novel
            else ()
        ),
        *((Column("anytime", "difference on these images, valid at any stopping point"),) if anytime else ()),
        Column("only_first", "only first right", detail=True),
        Column("only_second", "only second right", detail=True),
        *(
            Column(key, f"p, {name}", percent=False, digits=4, floor=1e-300, detail=key != "holm")
            for key, name in _P_VALUES.items()
        ),
        *((Column("equivalence", "p, equivalence", percent=False, digits=4, floor=1e-300),) if margin else ()),
        Column("result", "result"),
        Column("images_needed", "images for 80% power", detail=True),
        Column("smallest_difference", "smallest detectable difference", digits=2, detail=True),
    )
    notes = (
        *(pair.in_words(basis.level, margin=margin) for pair in pairs[:1] if len(pairs) == 1),
        _methods(methods),
        *(_INTERVAL_NOTES if len(pairs) > 1 else (_INTERVAL_NOTE,)),
        f"p-values: McNemar's tests on {amount(basis.images, 'image')}; Holm and Benjamini-Hochberg correct the exact "
        "p-value for all pairs",
        f"result: exact test at the {100 * basis.level:g}% level, corrected by Holm for {amount(len(pairs), 'pair')}; "
        "images and smallest detectable difference: for 80% power of the same test",
        *((_ANYTIME_NOTE,) if anytime else ()),
        *basis.notes,
    )
    rows = MappedRows(pairs, lambda pair: tuple(_cell(pair, column.key) for column in columns))
    return Table(f"pairs on {basis.title}, in %", columns, rows, notes)


_INTERVAL_NOTE = "the interval of the difference excludes 0 exactly if the exact test calls the pair different"
_INTERVAL_NOTES = (
    "the interval of a difference excludes 0 exactly where Holm's correction calls the pair different; 'selected': "
    "for pairs called different, coverage holds on average (false coverage rate); 'together': for the remaining pairs, "
    "intervals are simultaneous",
)

_ANYTIME_NOTE = (
    "valid at any stopping point: the difference on these images that a complete review would give, with a confidence "
    "sequence that stays valid however often you look and whenever you stop; for each pair alone, not corrected for "
    "the number of pairs"
)

_P_VALUES = {
    "exact": "exact",
    "mid_p": "mid-p",
    "chi_square": "chi-square",
    "chi_square_corrected": "chi-square, corrected",
    "holm": "Holm",
    "benjamini_hochberg": "Benjamini-Hochberg",
}


def _methods(names: Iterable[str]) -> str:
    return f"intervals: {', '.join(sorted(names))}"


def _cell(pair: Pair, key: str) -> Any:
    return getattr(pair.p_values if hasattr(pair.p_values, key) else pair, key)
