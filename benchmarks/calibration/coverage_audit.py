"""Coverage of the share of wrong labels among those that all models agree with, from an audit of some of them."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.stats import clopper_pearson, finite_share


def audited_labels(rng: np.random.Generator, runs: int, *, n: int, population: int, wrong: int) -> Drawn:
    counts = rng.hypergeometric(wrong, population - wrong, n, runs)
    shares = [finite_share(int(count), n, population) for count in counts]
    baseline = clopper_pearson(counts, n)
    low, high = np.transpose([(share.low, share.high) for share in shares])
    return Drawn(low, high, wrong / population, (baseline.low, baseline.high), "Clopper-Pearson")


def partly_decided_labels(rng: np.random.Generator, runs: int, *, n: int, population: int, wrong: int) -> Drawn:
    """Two of three wrong labels are disputed and stay undecided: leaving them out would hide most errors."""
    counts = rng.hypergeometric(wrong, population - wrong, n, runs)
    disputed = rng.binomial(counts, 2 / 3)
    pairs = zip((counts - disputed).tolist(), disputed.tolist(), strict=True)
    shares = [finite_share(decided, n, population, unknown=open_labels) for decided, open_labels in pairs]
    low, high = np.transpose([(share.low, share.high) for share in shares])
    return Drawn(low, high, wrong / population)


for size, population, wrong in ((20, 60, 6), (200, 1_000, 20), (200, 30_000, 300)):
    coverage_check(
        "share of wrong labels in an audit",
        maker="stats.finite_population.finite_share",
        case=f"{wrong:,} of {population:,} wrong",
        n=size,
        draw=partial(audited_labels, n=size, population=population, wrong=wrong),
    )
coverage_check(
    "share of wrong labels in an audit",
    maker="stats.finite_population.finite_share",
    case="50 of 1,000 wrong, two of three undecided",
    n=200,
    draw=partial(partly_decided_labels, n=200, population=1_000, wrong=50),
)
