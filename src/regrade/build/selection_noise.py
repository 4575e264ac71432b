"""The bias that noisy answers cause: a set matched on observed frequencies to a harder pool is harder than intended.

With few workers, some hard images are selected by all of them. There are more of these in a harder pool, so images with
the same observed frequency are harder there than in the reference set (Engstrom et al. 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.build.eligibility import Candidate
from regrade.core import Estimate, InputError, UndefinedError
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats.intervals import method_name, tail_share

_POINTS = 101  # of the grid of true frequencies
_ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class FrequencyDistribution:
    """The distribution of true selection frequencies of a group of images, on a grid: ``weights`` sum to 1."""

    grid: FloatArray
    weights: FloatArray

    @property
    def mean(self) -> float:
        """The mean true frequency."""
        return float(self.grid @ self.weights)

    def expected(self, selected: IntArray, assignments: IntArray) -> FloatArray:
        """Shape (n,): the expected true frequency of each image, given its answers."""
        distinct = _distinct(selected, assignments)
        joint = _likelihood(distinct.selected, distinct.assignments, self.grid) * self.weights
        return ((joint @ self.grid) / joint.sum(axis=1))[distinct.places]


def fit_distribution(selected: IntArray, assignments: IntArray) -> FrequencyDistribution:
    """The distribution of true frequencies that explains binomial counts best (nonparametric maximum likelihood).

    Expectation maximization on a grid; no shape such as a beta distribution is assumed. Images without answers say
    nothing and are left out.
    """
    answered = assignments > 0
    if not answered.any():
        raise UndefinedError("the distribution of frequencies needs answers")
    distinct = _distinct(selected[answered], assignments[answered])
    counts = np.bincount(distinct.places)
    grid = np.linspace(0.0, 1.0, _POINTS)
    likelihood = _likelihood(distinct.selected, distinct.assignments, grid)
    weights = np.full(_POINTS, 1 / _POINTS)
    for _ in range(_ITERATIONS):
        posterior = likelihood * weights
        posterior /= posterior.sum(axis=1, keepdims=True)
        weights = counts @ posterior / counts.sum()
    return FrequencyDistribution(grid, weights)


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The different pairs of counts, and for each image the ``places`` (n,) of its pair."""

    selected: IntArray
    assignments: IntArray
    places: IntArray


def _distinct(selected: IntArray, assignments: IntArray) -> _Distinct:
    base = int(assignments.max(initial=0)) + 1
    pairs, places = np.unique(selected * base + assignments, return_inverse=True)
    return _Distinct(pairs // base, pairs % base, places)


def _likelihood(selected: IntArray, assignments: IntArray, grid: FloatArray) -> FloatArray:
    """Shape (n, g): binomial likelihoods without their constant, scaled to a maximum of 1 per image."""
    inside = np.clip(grid, 0.5 / 10_000, 1 - 0.5 / 10_000)  # a single slip does not rule out a frequency of 1
    log = selected[:, None] * np.log(inside) + (assignments - selected)[:, None] * np.log1p(-inside)
    return np.exp(log - log.max(axis=1, keepdims=True))


def debiased(candidates: Sequence[Candidate], distribution: FrequencyDistribution | None = None) -> list[Candidate]:
    """The candidates with expected true frequencies in place of observed ones.

    ``distribution`` is that of the group they belong to (default: fitted to them). Reference images and candidates are
    different groups.
    """
    selected, assignments = _counts(candidates)
    distribution = distribution or fit_distribution(selected, assignments)
    expected = distribution.expected(selected, assignments)
    return [replace(c, frequency=float(value)) for c, value in zip(candidates, expected, strict=True)]


def selection_bias(
    drawn: Sequence[Candidate],
    pool: Sequence[Candidate],
    references: Sequence[Candidate],
    *,
    confidence: float = 0.95,
    draws: int = 200,
    seed: int = 0,
) -> Estimate:
    """How much lower or higher the true mean frequency of ``drawn`` images is than that of the reference images.

    The true frequencies of drawn images are estimated from the answers about the whole pool. The interval is a
    percentile bootstrap over the images of the pool, of the draw and of the reference set. Observed frequencies,
    compared naively, would show no difference for a matched set.
    """
    if not drawn or not references:
        raise UndefinedError("the bias of a selection needs drawn images and reference images")
    pool_counts, drawn_counts = np.stack(_counts(pool)), np.stack(_counts(drawn))
    reference = np.array([image.frequency for image in references])
    generator = np.random.default_rng(seed)

    def difference(chosen_pool: IntArray, chosen_drawn: IntArray, chosen_references: IntArray) -> float:
        distribution = fit_distribution(*pool_counts[:, chosen_pool])
        expected = distribution.expected(*drawn_counts[:, chosen_drawn])
        return float(expected.mean() - reference[chosen_references].mean())

    sizes = (len(pool), len(drawn), len(references))
    value = difference(*(np.arange(size) for size in sizes))
    again = [difference(*(generator.integers(0, size, size) for size in sizes)) for _ in range(draws)]
    tail = tail_share(confidence)
    low, high = np.quantile(again, [tail, 1 - tail])
    method = method_name("bootstrap over images", confidence)
    return Estimate(value, min(float(low), value), max(float(high), value), len(drawn), method)


def _counts(images: Sequence[Candidate]) -> tuple[IntArray, IntArray]:
    assignments = np.array([image.assignments for image in images], dtype=np.int64)
    selected = np.rint(np.array([image.frequency for image in images]) * assignments).astype(np.int64)
    if np.any(np.abs(selected - assignments * np.array([image.frequency for image in images])) > 1e-6):
        raise InputError("the frequencies are not shares of the answers: they may have been corrected before")
    return selected, assignments
