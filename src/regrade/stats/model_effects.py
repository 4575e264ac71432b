"""How a measure of models goes with an attribute of them, such as their size: slopes over models and images.

Models are the units, and models of one family are not independent: their residuals may be correlated. Variances are
therefore cluster-robust with the corrections of Bell and McCaffrey (2002), which hold for few models and few families
(Pustejovsky and Tipton 2018). Without clusters they are the HC2 variances of `fit_lines`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name
from regrade.stats.two_way import two_way_half_width

_EPSILON = 1e-9
_FEWEST = 2  # models beyond the number of coefficients


@dataclass(frozen=True, eq=False)
class MeasuredModels:
    """A measure of m models (m,) with its sampling covariance over images (m, m), None if unknown."""

    values: FloatArray
    noise: FloatArray | None = None


def attribute_effect(
    measure: MeasuredModels,
    attribute: ArrayLike,
    *,
    adjusted_for: MeasuredModels | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the least-squares slope of a measure on an ``attribute`` (m,), with a robust t interval.

    ``adjusted_for`` is a second measure in the same regression, for example accuracy on the original test set: its own
    sampling noise, which would attenuate its coefficient, is removed (Fuller 1987). Models with the same number in
    ``clusters`` (m,) are treated as dependent. With the noise of the measure, the interval is over models and images;
    the images of the two measures must be different ones. Raises if the attribute is constant, or determined by the
    other measure, or with fewer than two models beyond the coefficients.

    >>> measure = MeasuredModels(np.array([0.5, 0.6, 0.65, 0.8]))
    >>> print(attribute_effect(measure, [1, 2, 3, 4]))
    9.5 [2.3, 16.7]
    """
    z = np.asarray(attribute, dtype=np.float64)
    columns = [np.ones(len(z)), *([adjusted_for.values] if adjusted_for else []), z - z.mean()]
    design, y = np.stack(columns, axis=1), measure.values
    _check(design, y)
    moments = design.T @ design
    if adjusted_for is not None and adjusted_for.noise is not None:
        moments[1, 1] -= np.trace(_centered(adjusted_for.noise))
        _check_spread(moments)
    weights = np.linalg.solve(moments, design.T)
    coefficients = weights @ y
    residuals = y - design @ coefficients
    numbers = np.arange(len(y)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    variance, freedom = _robust_variance(design, weights[-1], residuals, numbers)
    over_images, in_residuals = _image_variances(measure, adjusted_for, weights[-1], float(coefficients[1]))
    half_width = float(
        two_way_half_width(variance, over_images, in_residuals, freedom, confidence=confidence)
    )  # fmt: skip
    value, units = float(coefficients[-1]), "models and images" if over_images else "models"
    dependent = "" if clusters is None else " and clusters of them"
    return Estimate(
        value,
        value - half_width,
        value + half_width,
        len(y),
        method_name(f"robust t over {units}{dependent}", confidence),
    )


def _check(design: FloatArray, y: FloatArray) -> None:
    models, coefficients = design.shape
    if len(y) != models:
        raise InputError(f"{len(y)} values of the measure, but {models} of the attribute")
    if models < coefficients + _FEWEST:
        raise UndefinedError(f"a slope needs at least {coefficients + _FEWEST} models, got {models}")
    scaled = (design - np.r_[0.0, design[:, 1:].mean(axis=0)]) / np.maximum(np.abs(design).max(axis=0), _EPSILON)
    if np.linalg.matrix_rank(scaled, tol=_EPSILON * models) < coefficients:
        raise UndefinedError("the attribute is the same for all models, or determined by what it is adjusted for")


def _check_spread(moments: FloatArray) -> None:
    """Raise if the adjusting measure hardly varies beyond its noise and the attribute."""
    rest = np.delete(np.arange(3), 1)
    own = moments[1, 1] - moments[1, rest] @ np.linalg.solve(moments[np.ix_(rest, rest)], moments[rest, 1])
    if own <= 0:
        raise UndefinedError("the models' accuracies hardly differ by more than sampling noise: nothing to adjust for")


def _robust_variance(
    design: FloatArray, weights: FloatArray, residuals: FloatArray, clusters: IntArray
) -> tuple[float, float]:
    """The variance of a weighted sum of the measure, and its degrees of freedom, by clusters of models."""
    maker = np.eye(len(design)) - design @ np.linalg.pinv(design)
    variance, spread = 0.0, []
    for number in range(int(clusters.max()) + 1):
        inside = np.flatnonzero(clusters == number)
        adjusted = _inverse_root(maker[np.ix_(inside, inside)]) @ weights[inside]
        variance += float(adjusted @ residuals[inside]) ** 2
        spread.append(maker[:, inside] @ adjusted)
    products = np.stack(spread) @ np.stack(spread).T
    total = float(np.trace(products))
    if total < _EPSILON * float(weights @ weights):
        raise UndefinedError("the models that determine the slope are all of one family")
    return variance, total**2 / float((products**2).sum())


def _inverse_root(block: FloatArray) -> FloatArray:
    """The inverse square root of a symmetric matrix; directions that the fit determines count as 0."""
    values, vectors = np.linalg.eigh(block)
    scale = np.where(values > _EPSILON, 1 / np.sqrt(np.maximum(values, _EPSILON)), 0.0)
    return np.asarray(vectors * scale @ vectors.T)


def _image_variances(
    measure: MeasuredModels, adjusted_for: MeasuredModels | None, weights: FloatArray, slope: float
) -> tuple[float, float]:
    """The variance of the weighted sum over images, and the part of it that the residuals already show."""
    if measure.noise is None:
        return 0.0, 0.0
    noise = measure.noise
    if adjusted_for is not None and adjusted_for.noise is not None:
        noise = noise + slope**2 * adjusted_for.noise
    return max(float(weights @ noise @ weights), 0.0), float(weights**2 @ np.diag(_centered(noise)))


def _centered(noise: FloatArray) -> FloatArray:
    """The covariance of deviations from the mean over models."""
    rows = noise - noise.mean(axis=0)
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))
