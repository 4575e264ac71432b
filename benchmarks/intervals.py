"""100,000 Clopper-Pearson intervals, compared with statsmodels: a loop of calls, and one call on arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from statsmodels.stats.proportion import proportion_confint

from benchmarks.measure import seconds
from benchmarks.result import Result, verify
from regrade.stats import clopper_pearson

_COUNT = 100_000
_SAMPLE = 500
_AIM = 100


def run() -> Iterator[Result]:
    print("  Counts that repeat are computed once. Bounds of large counts are more precise than those of statsmodels,")
    print("  which are scipy's betaincinv, with errors of up to 1e-7.")
    for case, successes, trials in workloads(np.random.default_rng(0)):
        yield from compared(case, successes, trials)


def workloads(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Three workloads of 100,000 counts: models by slices, counts of one test set, and distinct counts."""
    skill = rng.beta(6, 2, size=(1000, 1))
    yield "1,000 models x 100 slices of 500", rng.binomial(500, skill, size=(1000, 100)).ravel(), _all(500)
    yield "random counts of 50,000", rng.integers(0, 50_001, _COUNT), _all(50_000)
    trials = rng.choice(10_000_000, _COUNT, replace=False) + 1_000
    yield "distinct counts of 1,000 to 10 million", rng.integers(0, trials + 1), trials


def compared(case: str, successes: np.ndarray, trials: np.ndarray) -> Iterator[Result]:
    low, high = proportion_confint(successes, trials, method="beta")
    bounds = clopper_pearson(successes, trials)
    same = np.allclose(bounds.low, low, rtol=1e-7, atol=0) and np.allclose(bounds.high, high, rtol=1e-7, atol=0)
    verify(same, f"equal bounds to 1e-7 on {case}")

    sample = [(int(k), int(n)) for k, n in zip(successes[:_SAMPLE], trials[:_SAMPLE], strict=True)]
    ours, loop, call = seconds(
        lambda: clopper_pearson(successes, trials),
        lambda: [proportion_confint(k, n, method="beta") for k, n in sample],
        lambda: proportion_confint(successes, trials, method="beta"),
        rounds=5,
    )
    pairs = len(np.unique(np.column_stack([successes, trials]), axis=0))
    case = f"{case} ({pairs:,} distinct)"
    looped = loop * _COUNT / _SAMPLE
    yield Result("intervals", case, "s", ours, looped, f"statsmodels loop, {_SAMPLE} x {_COUNT // _SAMPLE}", _AIM)
    yield Result("intervals", case, "s", ours, call, "statsmodels, one call on arrays", _AIM)


def _all(trials: int) -> np.ndarray:
    return np.full(_COUNT, trials)
