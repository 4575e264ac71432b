"""An independent computation of a clustered proportion: cluster-robust least squares and the beta distribution."""

import numpy as np
from scipy import stats


def korn_graubard(scores, clusters, confidence=0.95):
    """The mean of ``scores`` (n,) over clusters, and both bounds (Korn and Graubard 1998)."""
    import statsmodels.api as sm

    y, groups = np.asarray(scores, dtype=float), np.unique(clusters, return_inverse=True)[1]
    share, n, count = float(y.mean()), len(y), int(groups.max()) + 1
    fit = sm.OLS(y, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    variance, upper = float(fit.cov_params()[0, 0]), (1 + confidence) / 2
    size = share * (1 - share) / variance if variance > 1e-15 else count
    size *= (stats.t.ppf(upper, n - 1) / stats.t.ppf(upper, count - 1)) ** 2
    right = share * size
    low = stats.beta.ppf(1 - upper, right, size - right + 1) if right > 0 else 0.0
    high = stats.beta.ppf(upper, right + 1, size - right) if right < size else 1.0
    return share, float(low), float(high)
