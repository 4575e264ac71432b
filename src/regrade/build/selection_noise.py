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

_POINTS = 101
_GRID = np.linspace(0.0, 1.0, _POINTS)  # of true frequencies
_ITERATIONS = 200
_CLASS_ITERATIONS = 30
CLASS_PRIOR = 20.0
"""The number of images for which all classes count in the distribution of one."""


@dataclass(frozen=True, eq=False)
class FrequencyDistribution:
    """The distribution of true selection frequencies of a group of images, on a grid: ``weights`` sum to 1."""

    grid: FloatArray
    weights: FloatArray

    @property
    def mean(self) -> float:
        """The mean true frequency."""
        return float(self.grid @ self.weights)


def fit_distribution(selected: IntArray, assignments: IntArray) -> FrequencyDistribution:
    """The distribution of true frequencies that explains binomial counts best (nonparametric maximum likelihood).

    Expectation maximization on a grid; no shape such as a beta distribution is assumed. Images without answers say
    nothing and are left out.
    """
    answered = assignments > 0
    if not answered.any():
        raise UndefinedError("the distribution of frequencies needs answers")
    distinct = _distinct(selected[answered], assignments[answered])
    likelihood = _likelihood(distinct.selected, distinct.assignments, _GRID)
    [weights] = _fitted_weights(np.bincount(distinct.places)[None], likelihood)
    return FrequencyDistribution(_GRID, weights)


def _fitted_weights(counts: IntArray, likelihood: FloatArray) -> FloatArray:
    """Shape (f, g): the weights of f distributions, from the counts (f, n) of images per pair of counts."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    weights = np.full((len(counts), _POINTS), 1 / _POINTS)
    for _ in range(_ITERATIONS):
        weights *= (shares / (weights @ likelihood.T)) @ likelihood
    return weights


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


def debiased(images: Sequence[Candidate]) -> list[Candidate]:
    """The images with expected true frequencies in place of observed ones.

    They are a group: candidates and reference images are corrected separately. The expected frequency of an image
    follows from its answers and from the distribution in its class, which is estimated from the answers about the class
    and, as if they were `CLASS_PRIOR` more images of it, those about all classes (empirical Bayes).
    """
    selected, assignments = _counts(images)
    pooled = fit_distribution(selected, assignments).weights
    distinct = _distinct(selected, assignments)
    class_ids, class_of = np.unique([image.class_id for image in images], return_inverse=True)
    shape = len(class_ids), len(distinct.selected)
    counts = np.bincount(class_of * shape[1] + distinct.places, minlength=shape[0] * shape[1]).reshape(shape)
    likelihood = _likelihood(distinct.selected, distinct.assignments, _GRID)
    weights = _class_weights(counts * (distinct.assignments > 0), likelihood, pooled)
    expected = _expected(weights, likelihood)[class_of, distinct.places]
    return [replace(image, frequency=float(value)) for image, value in zip(images, expected, strict=True)]


def _class_weights(counts: IntArray, likelihood: FloatArray, pooled: FloatArray) -> FloatArray:
    """Shape (classes, g): the weights of each class, from the counts (classes, n) of its images, and all classes."""
    weights = np.tile(pooled, (len(counts), 1))
    sizes = counts.sum(axis=1, keepdims=True)
    for _ in range(_CLASS_ITERATIONS):
        posterior = weights * ((counts / (weights @ likelihood.T)) @ likelihood)
        weights = (CLASS_PRIOR * pooled + posterior) / (CLASS_PRIOR + sizes)
    return weights


def _expected(weights: FloatArray, likelihood: FloatArray) -> FloatArray:
    """Shape (f, n): the expected true frequency for n pairs of counts, under each of f distributions."""
    expected: FloatArray = (weights @ (likelihood * _GRID).T) / (weights @ likelihood.T)
    return expected


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
    distinct = _distinct(*(np.concatenate(counts) for counts in zip(_counts(pool), _counts(drawn), strict=True)))
    of_pool, of_drawn = distinct.places[: len(pool)], distinct.places[len(pool) :]
    answered = distinct.assignments > 0
    if not answered[of_pool].any():
        raise UndefinedError("the distribution of frequencies needs answers")
    frequencies = np.array([image.frequency for image in references])
    resamples = _Resamples.of(of_pool, of_drawn, frequencies, draws, np.random.default_rng(seed))
    likelihood = _likelihood(distinct.selected, distinct.assignments, _GRID)
    weights = _fitted_weights(resamples.pool * answered, likelihood)
    expected = _expected(weights, likelihood)
    value, *again = ((resamples.drawn * expected).sum(axis=1) / len(drawn) - resamples.reference_means).tolist()
    tail = tail_share(confidence)
    low, high = np.quantile(again, [tail, 1 - tail])
    method = method_name("bootstrap over images", confidence)
    return Estimate(value, min(float(low), value), max(float(high), value), len(drawn), method)


@dataclass(frozen=True, eq=False)
class _Resamples:
    """The data and their bootstrap resamples, r in all.

    ``pool`` and ``drawn`` (r, n) count the images per pair of counts, ``reference_means`` (r,) are mean frequencies.
    """

    pool: IntArray
    drawn: IntArray
    reference_means: FloatArray

    @classmethod
    def of(
        cls, pool: IntArray, drawn: IntArray, references: FloatArray, draws: int, generator: np.random.Generator
    ) -> _Resamples:
        """The data first, then the resamples of the places of images, and of frequencies of references."""
        data = (pool, drawn, references)
        size = max(int(pool.max()), int(drawn.max())) + 1
        counts, means = [], []
        for number in range(draws + 1):
            parts = data if not number else [part[generator.integers(0, len(part), len(part))] for part in data]
            counts.append([np.bincount(places, minlength=size) for places in parts[:2]])
            means.append(parts[2].mean())
        pool_counts, drawn_counts = np.swapaxes(np.array(counts), 0, 1)
        return cls(pool_counts, drawn_counts, np.array(means))


def _counts(images: Sequence[Candidate]) -> tuple[IntArray, IntArray]:
    assignments = np.array([image.assignments for image in images], dtype=np.int64)
    selected = np.rint(np.array([image.frequency for image in images]) * assignments).astype(np.int64)
    if np.any(np.abs(selected - assignments * np.array([image.frequency for image in images])) > 1e-6):
        raise InputError("the frequencies are not shares of the answers: they may have been corrected before")
    return selected, assignments
