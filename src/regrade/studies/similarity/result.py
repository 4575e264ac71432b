"""The result of a similarity study: the similarity of each pair of models, and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, Table
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.studies.image_basis import Basis
from regrade.studies.study_result import StudyResult

_FEW_IMAGES = 50  # below this, intervals of kappa and of the difference cover less than their nominal level


@dataclass(frozen=True, eq=False)
class PairMatrix:
    """One quantity of all pairs, symmetric (m, m), with its bounds and their method; NaN if undefined."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    method: str

    def estimates(self, rows: IntArray, columns: IntArray, n: int) -> list[Estimate | None]:
        """The quantity for the given pairs; None where it is undefined."""
        parts = (part[rows, columns].tolist() for part in (self.value, self.low, self.high))
        return [
            None if isnan(value) else Estimate(value, low, high, n, self.method)
            for value, low, high in zip(*parts, strict=True)
        ]


@dataclass(frozen=True)
class SimilarPair:
    """Two models, the more accurate first; undefined values are None.

    ``kappa`` is error consistency beyond chance; ``agreement`` is how often they predict the same class. ``dominance``
    is the share of images on which only the second is right, ``independent`` that share for independent errors, and
    ``excess`` is dominance minus independent.
    """

    first: str
    second: str
    kappa: Estimate | None
    agreement: Estimate | None
    dominance: Estimate
    independent: float
    excess: Estimate


@dataclass(frozen=True, repr=False, eq=False)
class Similarity(StudyResult):
    """The similarity of all pairs of the studied models.

    ``models`` (m,) are in the order of the clustering, as are ``accuracies``, ``clusters`` (numbered from 1) and all
    matrices (m, m); clusters are merged while the mean kappa between their models is at least ``alike``.
    """

    basis: Basis
    models: tuple[str, ...]
    accuracies: tuple[Estimate, ...]
    clusters: tuple[int, ...]
    alike: float
    kappa: PairMatrix
    agreement: PairMatrix
    dominance: PairMatrix
    independent: FloatArray
    excess: PairMatrix

    @cached_property
    def pairs(self) -> tuple[SimilarPair, ...]:
        """All pairs, the most similar first: by kappa, then by agreement; pairs without a kappa come last."""
        first, second = self._by_accuracy()
        kappa, agreement = self.kappa.value[first, second], self.agreement.value[first, second]
        order = np.lexsort((second, first, -np.nan_to_num(agreement), -kappa))  # NaN sorts last
        first, second = first[order], second[order]
        columns = (
            *([self.models[i] for i in places] for places in (first, second)),
            *(
                matrix.estimates(first, second, self.basis.images)
                for matrix in (self.kappa, self.agreement, self.dominance)
            ),
            self.independent[first, second].tolist(),
            self.excess.estimates(first, second, self.basis.images),
        )
        return tuple(SimilarPair(*row) for row in zip(*columns, strict=True))

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The models of each cluster."""
        count = max(self.clusters)
        members = zip(self.models, self.clusters, strict=True)
        groups: list[list[str]] = [[] for _ in range(count)]
        for model, number in members:
            groups[number - 1].append(model)
        return tuple(tuple(names) for names in groups)

    def json_fields(self) -> dict[str, Any]:
        """The models, the matrices in their order, and the pairs."""
        rows = zip(self.models, self.accuracies, self.clusters, strict=True)
        return {
            **vars(self.basis),
            "alike": self.alike,
            "models": [{"model": name, "accuracy": accuracy, "cluster": number} for name, accuracy, number in rows],
            "matrices": {
                "kappa": self.kappa.value,
                "agreement": self.agreement.value,
                "dominance": self.dominance.value,
                "independent": self.independent,
                "excess": self.excess.value,
            },
            "pairs": self.pairs,
        }

    def table(self) -> Table:
        """One row per pair, the most similar first."""
        columns = (
            Column("first", "first"),
            Column("second", "second"),
            Column("kappa", "error consistency", percent=False, digits=2),
            Column("agreement", "same class"),
            Column("dominance", "only second right", detail=True),
            Column("independent", "if independent", detail=True),
            Column("excess", "difference to independent"),
        )
        rows = tuple(tuple(getattr(pair, column.key) for column in columns) for pair in self.pairs)
        title = f"similarity of {len(self.models)} models on {self.basis.title}, in % (error consistency: kappa)"
        return Table(title, columns, rows, (*self._findings(), *self._methods(), *self.basis.notes))

    def _by_accuracy(self) -> tuple[IntArray, IntArray]:
        """All pairs by position, the more accurate first."""
        first, second = np.triu_indices(len(self.models), k=1)
        accuracy = np.array([estimate.value for estimate in self.accuracies])
        swap = accuracy[second] > accuracy[first]
        return np.where(swap, second, first), np.where(swap, first, second)

    def _findings(self) -> tuple[str, ...]:
        first, second = np.triu_indices(len(self.models), k=1)
        below, above = self.excess.high[first, second] < 0, self.excess.low[first, second] > 0
        few = f"only {amount(self.basis.images, 'image')}: with fewer than {_FEW_IMAGES}, clusters are unreliable, and "
        few += "intervals of error consistency and of the difference cover less than their nominal level"
        clusters = "; ".join(f"{number}: {_few(names)}" for number, names in enumerate(self.groups, start=1))
        return (
            *((few,) if self.basis.images < _FEW_IMAGES else ()),
            f"pairs that err on the same images more often than independent models: {below.sum():,} of {len(first):,}; "
            f"less often: {above.sum():,} (simultaneous {100 * self.basis.confidence:g}% intervals for all pairs)",
            f"clusters of models with a mean kappa of at least {self.alike:g}: {clusters}",
        )

    def _methods(self) -> tuple[str, ...]:
        undefined = "error consistency is undefined if both models are always right, or both always wrong"
        return (
            *((undefined,) if np.isnan(self.kappa.value[np.triu_indices(len(self.models), k=1)]).any() else ()),
            f"on {amount(self.basis.images, 'image')}; first: the more accurate; intervals: kappa "
            f"{self.kappa.method}, difference {self.excess.method}, others {self.dominance.method}",
        )


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
