"""Logistic regression with a ridge penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import InputError, UndefinedError

_ITERATIONS = 500
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Weights (d,) and intercept of a linear score, the log odds of the positive class."""

    weights: FloatArray
    intercept: float

    def scores(self, features: FloatArray) -> FloatArray:
        """Shape (n,): the scores of ``features`` (n, d)."""
        return np.asarray(features @ self.weights + self.intercept)


def ridge_logistic(features: ArrayLike, positive: ArrayLike, *, penalty: float = 1.0) -> LogisticFit:
    """Fit a logistic regression of ``positive`` (n,) on ``features`` (n, d) by L-BFGS.

    Minimizes the sum of log losses plus half the ``penalty`` times the squared weights, as scikit-learn does with
    C = 1 / penalty; the intercept is not penalized. Raises if all examples are of one class.

    >>> fit = ridge_logistic([[-1.0], [0.0], [0.0], [1.0]], [False, False, True, True])
    >>> round(float(fit.weights[0]), 3), abs(round(fit.intercept, 3))
    (0.675, 0.0)
    """
    from scipy.optimize import minimize  # slow to import, and rarely needed

    x, y = np.asarray(features, dtype=np.float64), np.asarray(positive, dtype=bool)
    _check(x, y, penalty)
    signs = np.where(y, 1.0, -1.0)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        weights, margins = parameters[:-1], signs * (x @ parameters[:-1] + parameters[-1])
        value = np.logaddexp(0.0, -margins).sum() + penalty / 2 * weights @ weights
        slopes = -signs * scipy.special.expit(-margins)
        return float(value), np.append(x.T @ slopes + penalty * weights, slopes.sum())

    limits = {"maxiter": _ITERATIONS, "ftol": _TOLERANCE, "gtol": 1e-6}
    fitted = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options=limits).x
    return LogisticFit(fitted[:-1], float(fitted[-1]))


def _check(features: FloatArray, positive: BoolArray, penalty: float) -> None:
    if features.ndim != 2 or positive.shape != (len(features),):
        raise InputError(f"features must be (n, d) and classes (n,), got {features.shape} and {positive.shape}")
    if not np.isfinite(features).all():
        raise InputError("a logistic regression needs finite features")
    if not penalty > 0:
        raise InputError(f"the penalty must be above 0, got {penalty:g}")
    if positive.all() or not positive.any():
        raise UndefinedError("a logistic regression needs examples of both classes")
