"""Robustness to shifts (Taori et al. 2020) and to corruptions (Hendrycks and Dietterich 2019)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError, UndefinedError

ALEXNET_ERRORS: Mapping[str, float] = MappingProxyType(
    {
        "gaussian_noise": 0.886428,
        "shot_noise": 0.894468,
        "impulse_noise": 0.922640,
        "defocus_blur": 0.819880,
        "glass_blur": 0.826268,
        "motion_blur": 0.785948,
        "zoom_blur": 0.798360,
        "snow": 0.866816,
        "frost": 0.826572,
        "fog": 0.819324,
        "brightness": 0.564592,
        "contrast": 0.853204,
        "elastic_transform": 0.646056,
        "pixelate": 0.717840,
        "jpeg_compression": 0.606500,
    }
)
"""AlexNet's mean error over the five severities of each corruption, as published with ImageNet-C."""

ALEXNET_CLEAN_ERROR = 0.435
"""AlexNet's error on the clean images, as published with ImageNet-C."""


def effective_robustness(
    original: ArrayLike, shifted: ArrayLike, *, expected: Callable[[ArrayLike], FloatArray]
) -> FloatArray:
    """Shape (m,): accuracy under the shift minus that expected from accuracy on the original set.

    ``expected`` maps original accuracies to expected ones: the ``predict`` of a line fitted to standard models only, on
    the logit scale in Taori et al. 2020.
    """
    return np.asarray(shifted, dtype=np.float64) - expected(original)


def relative_robustness(with_intervention: ArrayLike, without: ArrayLike) -> FloatArray:
    """Shape (m,): accuracy under the shift with an intervention minus that of the same model without it."""
    return np.asarray(with_intervention, dtype=np.float64) - np.asarray(without, dtype=np.float64)


def corruption_errors(errors: FloatArray, reference: FloatArray) -> FloatArray:
    """Shape (m, q): the error under each corruption divided by that of the reference model.

    ``errors`` is (m, q, s) for m models, q corruptions and s severities; ``reference`` is (q, s), or (q,) for means
    over severities.
    """
    means, baseline = _means(errors, reference)
    return means / baseline


def mean_corruption_error(errors: FloatArray, reference: FloatArray) -> FloatArray:
    """Shape (m,): mCE, the mean of `corruption_errors` over corruptions; 1 for the reference model."""
    return corruption_errors(errors, reference).mean(axis=1)


def relative_mean_corruption_error(
    errors: FloatArray, reference: FloatArray, *, clean: FloatArray, reference_clean: float
) -> FloatArray:
    """Shape (m,): relative mCE, computed from the errors in excess of the ``clean`` errors (m,).

    Raises if the reference does not get worse under some corruption: relative mCE is then undefined.
    """
    means, baseline = _means(errors, reference)
    excess = baseline - reference_clean
    if (excess < 1e-12).any():  # 0 up to rounding
        raise UndefinedError("the reference does not get worse under some corruption: relative mCE is undefined")
    return ((means - clean[:, None]) / excess).mean(axis=1)


def _means(errors: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    if errors.ndim != 3:
        raise InputError(f"errors must have shape (models, corruptions, severities), got {errors.shape}")
    if not errors.shape[1] or not errors.shape[2]:
        raise UndefinedError(f"mCE needs at least one corruption and one severity, got errors {errors.shape}")
    if reference.shape not in (errors.shape[1:], errors.shape[1:2]):
        raise InputError(f"the reference {reference.shape} does not fit errors {errors.shape}")
    means = reference.mean(axis=1) if reference.ndim == 2 else reference
    if (means <= 0).any():
        raise UndefinedError("the reference makes no error under some corruption: mCE is undefined")
    return errors.mean(axis=2), np.asarray(means, dtype=np.float64)
