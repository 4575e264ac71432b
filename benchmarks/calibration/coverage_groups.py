"""Coverage of intervals of shares by group: differences, ranges, the smallest share, and ratios of ranges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import coverage_check, repeated
from regrade.core import Estimate
from regrade.stats import GroupShares, Ratio, group_shares, range_ratio, share_difference, share_range, smallest_share
from regrade.studies.geography.analysis import group_accuracies
from regrade.studies.people.accuracy import CorrectnessTable, Subset

TRUE_SHARES = np.array([0.8, 0.75, 0.7, 0.6])
_WEAKER = np.array([0.7, 0.68, 0.64, 0.6])


def shares_of_groups(rng: np.random.Generator, *, n: int, household: int = 1) -> GroupShares:
    """Accuracies of four groups with ``n`` images each, in households with correlated predictions."""
    groups = np.repeat(np.arange(4), n)
    common = np.repeat(rng.standard_normal(4 * n // household), household)
    right = np.sqrt(0.3) * common + np.sqrt(0.7) * rng.standard_normal(4 * n) < special.ndtri(TRUE_SHARES)[groups]
    return group_shares(right, groups, np.arange(4 * n) // household if household > 1 else None)


def ratio_of_ranges(rng: np.random.Generator, *, n: int) -> Ratio:
    """The ratio of the disparities of two models on the same images."""
    groups = np.repeat(np.arange(4), n)
    common = rng.standard_normal(4 * n)
    both = [
        group_shares(
            np.sqrt(0.5) * common + np.sqrt(0.5) * rng.standard_normal(4 * n) < special.ndtri(truth)[groups], groups
        )
        for truth in (TRUE_SHARES, _WEAKER)
    ]
    return range_ratio(*both)


def change_inside(rng: np.random.Generator, *, n: int) -> Estimate:
    """A person's accuracy on a quarter of the images, 0.8, minus that on all images, 0.65."""
    inside = np.arange(n) < n // 4
    correct = (rng.random(n) < np.where(inside, 0.8, 0.6))[None]
    people = CorrectnessTable(("person",), np.ones(1, dtype=bool), correct, np.zeros(n, dtype=np.int64), 1, 0.95)
    change = next(people.rows(Subset("inside", inside), rng)).change
    assert change is not None
    return change


def _difference(shares: GroupShares) -> Estimate:
    return share_difference(shares, 0, 3)


def _first_accuracy(shares: GroupShares) -> Estimate:
    return group_accuracies(shares, 0.95)[0]


_NUMBERS: tuple[tuple[str, str, Callable[[GroupShares], Estimate], float], ...] = (
    ("difference of two groups", "stats.shares_of_groups.share_difference", _difference, 0.2),
    ("disparity", "stats.shares_of_groups.share_range", share_range, 0.2),
    ("worst group", "stats.shares_of_groups.smallest_share", smallest_share, 0.6),
    ("accuracy in a group", "studies.geography.analysis.group_accuracies", _first_accuracy, 0.8),
)
for number, maker, measure, truth in _NUMBERS:
    for size, household in ((20, 1), (200, 1), (40, 4), (400, 4)):

        def draw(
            rng: np.random.Generator,
            *,
            size: int = size,
            household: int = household,
            measure: Callable[[GroupShares], Estimate] = measure,
        ) -> Estimate:
            return measure(shares_of_groups(rng, n=size, household=household))

        case = "4 groups" if household == 1 else f"4 groups, households of {household}"
        coverage_check(number, maker=maker, case=case, n=size, draw=repeated(draw, truth))
for size in (40, 400):
    draw_all = repeated(partial(change_inside, n=size), 0.8 - 0.65)
    maker, case = "studies.people.accuracy._change", "a quarter of the images"
    coverage_check("change on a subset", maker=maker, case=case, n=size, draw=draw_all)
for size in (50, 500):
    coverage_check(
        "ratio of disparities",
        maker="stats.shares_of_groups.range_ratio",
        case="0.2 to 0.1, 4 groups",
        n=size,
        draw=repeated(partial(ratio_of_ranges, n=size), 2.0),
    )
