"""Whether conformal prediction sets cover fewer labels than exchangeable images would let them."""

from __future__ import annotations

import numpy as np
import scipy

from regrade.core.errors import InputError


def undercoverage_p_value(covered: int, images: int, *, rank: int, calibration_images: int) -> float:
    """The probability that so few of ``images`` labels are covered if they are exchangeable with the calibration.

    ``rank`` is that of the threshold among the scores of ``calibration_images`` labels (`conformal_rank`). The number
    of covered labels is then beta-binomial (Vovk 2012): the threshold is itself random, and a coverage somewhat below
    the nominal one is no evidence of a shift. With equal scores the p-value is conservative.

    >>> round(undercoverage_p_value(0, 1, rank=9, calibration_images=9), 6)  # one minus 9 of 10
    0.1
    """
    if not 0 <= covered <= images:
        raise InputError(f"covered must lie between 0 and {images}, got {covered}")
    if rank > calibration_images:
        return 1.0
    a, b = rank, calibration_images + 1 - rank
    counts = np.arange(covered + 1)
    gammaln, betaln = scipy.special.gammaln, scipy.special.betaln
    terms = (
        gammaln(images + 1) - gammaln(counts + 1) - gammaln(images - counts + 1)
        + betaln(counts + a, images - counts + b) - betaln(a, b)
    )  # fmt: skip
    return float(min(np.exp(scipy.special.logsumexp(terms)), 1.0))


def least_expected_coverage(images: int, *, level: float, rank: int, calibration_images: int) -> int:
    """The smallest number of covered labels that is not surprisingly small at ``level``; see `undercoverage_p_value`.

    >>> least_expected_coverage(200, level=0.05, rank=90, calibration_images=99)
    167
    """
    surprising, expected = -1, images
    while expected - surprising > 1:
        middle = (surprising + expected) // 2
        p_value = undercoverage_p_value(middle, images, rank=rank, calibration_images=calibration_images)
        surprising, expected = (middle, expected) if p_value <= level else (surprising, middle)
    return expected
