"""Draw a test set with a chosen mean difficulty: random draws, tilted towards it as little as possible."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.build.eligibility import Candidate
from regrade.build.samplers import (
    MIN_REFERENCE_IMAGES,
    ClassSample,
    DrawOptions,
    Sample,
    Strategy,
    by_class,
    collect,
    missing,
)
from regrade.core import InputError
from regrade.core.arrays import FloatArray, IntArray

_STEPS = 80  # halvings of the interval that contains the tilt
_LARGEST_TILT = 200.0  # in units of the values' standard deviation; the most extreme images are taken before


@dataclass(frozen=True)
class _ClassValues:
    """The eligible images of a class with their values, both sorted by value."""

    class_id: str
    images: tuple[str, ...]
    values: FloatArray


def target_mean(
    candidates: Iterable[Candidate],
    target: float,
    options: DrawOptions,
    *,
    scores: Mapping[str, float] | None = None,
) -> Sample:
    """Draw images with a mean selection frequency of ``target``, the same number for every class.

    ``scores`` are used instead of frequencies if given, such as confusion scores by image; images without one are not
    eligible. Within a class, an image is drawn with a probability proportional to exp(tilt x value), with one tilt for
    all classes, so that the set differs from a random one as little as its mean allows (the maximum-entropy choice).
    Raises if no draw can have that mean. Images of an earlier revision are not preferred.
    """
    generator = random.Random(options.seed)
    classes, complete = [], []
    for class_id, members in by_class(candidates):
        eligible, excluded = options.eligibility.divide(members)
        values = _values(class_id, eligible, scores)
        problems = missing(options.per_class - len(values.images), "that are eligible")
        classes.append((values, ClassSample(class_id, values.images if problems else (), excluded, problems=problems)))
        if not problems:
            complete.append(values)
    tilt = _tilt([values.values for values in complete], target, options.per_class) if complete else 0.0
    drawn = []
    for values, sample in classes:
        if sample.problems:
            drawn.append(sample)
            continue
        chosen = _draw(_inclusion(values.values, tilt, options.per_class), generator)
        drawn.append(ClassSample(sample.class_id, tuple(values.images[i] for i in chosen), sample.excluded))
    strategy = Strategy.TARGET_FREQUENCY if scores is None else Strategy.TARGET_CONFUSION
    return collect(strategy, drawn, options, generator)


def matched_mean(
    candidates: Iterable[Candidate],
    references: Iterable[Candidate],
    options: DrawOptions,
    *,
    min_references: int = MIN_REFERENCE_IMAGES,
) -> Sample:
    """Draw images of each class whose mean frequency is that of its reference images.

    For frequencies that were corrected for the noise of answers (`debiased`): they take different values for candidates
    and references, so that their histograms cannot be matched bin by bin. The mean of the references needs no
    correction.
    """
    generator = random.Random(options.seed)
    means = _reference_means(references, options.eligibility.min_assignments, min_references)
    drawn = []
    for class_id, members in by_class(candidates, means):
        eligible, excluded = options.eligibility.divide(members)
        values = _values(class_id, eligible, None)
        problems = missing(options.per_class - len(values.images), "that are eligible")
        if class_id not in means:
            problems = (*problems, f"fewer than {min_references} annotated reference images")
        if problems:
            drawn.append(ClassSample(class_id, (), excluded, problems=problems))
            continue
        reachable = (values.values[: options.per_class].mean(), values.values[-options.per_class :].mean())
        target = float(np.clip(means[class_id], *reachable))
        if target != means[class_id]:
            problems = (
                f"the mean frequency {means[class_id]:.3f} of the reference images cannot be reached: as far as the "
                f"answers tell, drawn images have {reachable[0]:.3f} to {reachable[1]:.3f}; more answers tell more",
            )
        chosen = _draw(
            _inclusion(values.values, _tilt([values.values], target, options.per_class), options.per_class), generator
        )
        drawn.append(ClassSample(class_id, tuple(values.images[i] for i in chosen), excluded, problems=problems))
    return collect(Strategy.MATCHED_FREQUENCY, drawn, options, generator)


def _reference_means(references: Iterable[Candidate], min_assignments: int, min_references: int) -> dict[str, float]:
    """The mean frequency of the annotated reference images of each class that has enough of them."""
    frequencies: dict[str, list[float]] = {}
    for reference in references:
        if reference.assignments >= max(min_assignments, 1):
            frequencies.setdefault(reference.class_id, []).append(reference.frequency)
    return {
        class_id: float(np.mean(values)) for class_id, values in frequencies.items() if len(values) >= min_references
    }


def _values(class_id: str, eligible: Sequence[Candidate], scores: Mapping[str, float] | None) -> _ClassValues:
    pairs = sorted(
        (candidate.frequency if scores is None else scores[candidate.image], candidate.image)
        for candidate in eligible
        if scores is None or candidate.image in scores
    )
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"class {class_id} has a score that is not a finite number")
    return _ClassValues(class_id, tuple(image for _, image in pairs), values)


def _tilt(values: Sequence[FloatArray], target: float, count: int) -> float:
    """The tilt with which the expected mean over all classes is the target, by bisection."""
    lowest = float(np.mean([part[:count].mean() for part in values]))
    highest = float(np.mean([part[-count:].mean() for part in values]))
    if not lowest <= target <= highest:
        raise InputError(
            f"a mean of {target:g} is not possible with {count} images per class of these candidates: "
            f"it can be from {lowest:.3f} to {highest:.3f}"
        )
    scale = float(np.std(np.concatenate(values))) or 1.0
    low, high = -_LARGEST_TILT / scale, _LARGEST_TILT / scale
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        mean = np.mean([_inclusion(part, middle, count) @ part / count for part in values])
        low, high = (middle, high) if mean < target else (low, middle)
    return (low + high) / 2


def _inclusion(values: FloatArray, tilt: float, count: int) -> FloatArray:
    """Shape (n,): the probability of each image to be drawn, with sum ``count``; none exceeds 1."""
    exponents = tilt * values
    weights = np.exp(exponents - exponents.max())
    probabilities = np.zeros(len(values))
    certain = np.zeros(len(values), dtype=bool)
    while True:
        free = ~certain
        remaining = count - certain.sum()
        total = weights[free].sum()
        if remaining == 0 or total == 0.0:
            probabilities[free] = remaining / max(free.sum(), 1)
            break
        probabilities[free] = remaining * weights[free] / total
        above = free & (probabilities >= 1.0)
        if not above.any():
            break
        certain |= above
    probabilities[certain] = 1.0
    return probabilities


def _draw(probabilities: FloatArray, generator: random.Random) -> IntArray:
    """Positions that are drawn, by systematic sampling along the sorted values, which keeps their mean close."""
    count = round(float(probabilities.sum()))
    bounds = np.cumsum(probabilities) * (count / probabilities.sum())
    bounds[-1] = count
    points = generator.random() + np.arange(count)
    return np.searchsorted(bounds, points, side="right")
