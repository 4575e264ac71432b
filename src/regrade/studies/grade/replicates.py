"""Models of one method, trained with several seeds: their mean accuracy, with an interval over seeds and images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import Estimate, InputError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import accuracy_covariance, two_way_mean
from regrade.studies.seeded_methods import SeededMethod


@dataclass(frozen=True, eq=False)
class SeedRun:
    """One model of a method: whether top-1 and top-5 are right, which images count, and which have no class, each (n,).

    Top-5 is a probability where ties are broken at random.
    ``unanswered`` images have no prediction; of ``undetermined`` ones the best scored class was not stored.
    """

    top1: BoolArray
    top5: BoolArray | FloatArray | None
    counted: BoolArray
    unanswered: BoolArray
    undetermined: BoolArray


@dataclass(frozen=True)
class SeedMeans:
    """Mean accuracies over the seeds of a method on the images of a slice.

    ``deviation`` is the standard deviation of top-1 over seeds; ``unanswered`` and ``undetermined`` are counts over
    all seeds.
    """

    top1: Estimate | None
    top5: Estimate | None
    seeds: int
    deviation: float | None
    unanswered: int
    undetermined: int


@dataclass
class ReplicateRuns:
    """The methods whose models are graded as one row each, and their models' correctness as far as it was read."""

    methods: Sequence[SeededMethod]
    runs: dict[str, list[SeedRun]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.method_of: Mapping[str, str] = _method_of(self.methods)

    def add(self, model: str, run: SeedRun) -> None:
        """Add a model of one of the methods."""
        self.runs.setdefault(self.method_of[model], []).append(run)


def _method_of(methods: Sequence[SeededMethod]) -> dict[str, str]:
    """The method of each model; a method with one model, and a model of two methods, raise."""
    owners: dict[str, str] = {}
    for method in methods:
        if len(method.models) < 2:
            raise InputError(f"replicates {method.name!r} are a single model: name two or more seeds, such as 'NAME-*'")
        for model in method.models.values():
            if owners.setdefault(model, method.name) != method.name:
                raise InputError(f"{model} belongs to two replicates, {owners[model]!r} and {method.name!r}")
    return owners


def seed_means(
    runs: Sequence[SeedRun], mask: BoolArray, clusters: IntArray | None = None, *, confidence: float
) -> SeedMeans:
    """Mean accuracies of the seeds on the images of ``mask`` (n,), with t intervals over seeds and images.

    Images of one of the ``clusters`` (n,) are dependent. The means are undefined, None, with fewer than two images or
    clusters; top-5 also if one of the models has only its best class.
    """
    counted = np.stack([run.counted & mask for run in runs])
    missing = [
        sum(int((absent & mask).sum()) for absent in column)
        for column in zip(*((run.unanswered, run.undetermined & run.counted) for run in runs), strict=True)
    ]
    units = counted.sum(axis=1).min() if clusters is None else len(np.unique(clusters[counted.all(axis=0)]))
    if units < 2:
        return SeedMeans(None, None, len(runs), None, *missing)
    top1 = np.stack([run.top1 for run in runs])
    fifth = [np.asarray(run.top5, dtype=np.float64) for run in runs if run.top5 is not None]
    top5 = mean_share(np.stack(fifth), counted, clusters, confidence=confidence) if len(fifth) == len(runs) else None
    deviation = float(_accuracies(top1, counted).std(ddof=1))
    return SeedMeans(mean_share(top1, counted, clusters, confidence=confidence), top5, len(runs), deviation, *missing)


def _accuracies(right: BoolArray | FloatArray, counted: BoolArray) -> FloatArray:
    shares: FloatArray = np.where(counted, right, 0).sum(axis=1) / counted.sum(axis=1)
    return shares


def mean_share(
    right: BoolArray | FloatArray, counted: BoolArray, clusters: IntArray | None = None, *, confidence: float
) -> Estimate:
    """Return the mean share of models, from (m, n), with its interval within [0, 1]; its n is the number of images.

    Images of one of the ``clusters`` (n,) are treated as dependent.
    """
    covariance = accuracy_covariance(right, counted, clusters)
    mean = two_way_mean(_accuracies(right, counted), covariance, confidence=confidence)
    images = int(counted.any(axis=0).sum())
    method = mean.method if clusters is None else mean.method.replace("images", "clusters")
    return replace(mean, low=max(mean.low, 0.0), high=min(mean.high, 1.0), n=images, method=method)
