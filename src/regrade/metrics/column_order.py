"""Whether the columns of top-k predictions may be reversed: the last column is then the most accurate one."""

from __future__ import annotations

import numpy as np
import scipy

from regrade.core.arrays import IntArray

_FEWEST_COLUMNS = 3  # with two, the second is the better one of a model that chose the images by failing on them
FALSE_ALARMS = 1e-6
"""The largest probability of a false alarm of `looks_reversed`, per model and test set."""


def last_column_p_value(classes: IntArray, labels: IntArray) -> float:
    """The p-value of: some earlier column of ``classes`` (n, k) contains the label (n,) at least as often as the last.

    Of the images with the label in either of two columns, the last column has it in at most half on average: an exact
    binomial test. The p-value is the largest over the earlier columns (intersection-union test), so it needs no
    correction. 1 with one column, or if no column contains a label.

    >>> import numpy as np
    >>> classes = np.tile([3, 2, 1], (20, 1))
    >>> last_column_p_value(classes, np.ones(20, dtype=int)), last_column_p_value(classes, np.full(20, 3))
    (9.5367431640625e-07, 1.0)
    """
    hits = _hits(classes, labels)
    earlier, last = hits[:-1], int(hits[-1])
    if not earlier.size or not last:
        return 1.0
    return float(scipy.special.bdtrc(last - 1, earlier + last, 0.5).max())


def looks_reversed(classes: IntArray, labels: IntArray) -> bool:
    """Whether the last of at least three columns (n, k) is significantly more accurate than each of the others.

    A model with an earlier column that is at least as accurate is called reversed with a probability of at most
    `FALSE_ALARMS`, if images are independent. Labels (n,) must be known.
    """
    if classes.shape[1] < _FEWEST_COLUMNS:
        return False
    *earlier, last = _hits(classes, labels)
    return last > max(earlier) and last_column_p_value(classes, labels) <= FALSE_ALARMS


def _hits(classes: IntArray, labels: IntArray) -> IntArray:
    """How often each column (k,) has the label."""
    return np.count_nonzero(classes == labels[:, None], axis=0)
