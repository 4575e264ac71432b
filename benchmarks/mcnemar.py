"""McNemar's tests for all pairs of 1,000 models on 50,000 images, compared with a statsmodels loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from benchmarks.measure import seconds
from benchmarks.result import Result, verify
from benchmarks.synthetic import correct_matrix
from regrade.stats import mcnemar_all_pairs

_SAMPLE = 300

Counts = list[list[int]]


def run() -> Iterator[Result]:
    correct = correct_matrix()
    pairs = mcnemar_all_pairs(correct)
    # if neither model is ahead, statsmodels' corrected statistic is 1 / n instead of 0
    comparable = np.flatnonzero(pairs.test.only_first != pairs.test.only_second)
    sample = np.random.default_rng(1).choice(comparable, _SAMPLE, replace=False)
    rows = [(correct[i], correct[j]) for i, j in zip(pairs.first[sample], pairs.second[sample], strict=True)]
    tables = [table(first, second) for first, second in rows]

    theirs = np.array([p_values(counts) for counts in tables])
    ours = np.column_stack([pairs.test.exact, pairs.test.chi_square, pairs.test.corrected])[sample]
    verify(np.allclose(ours, theirs, rtol=1e-9, atol=1e-300), f"equal p-values on {_SAMPLE} sampled pairs")

    all_pairs, with_tables, free_tables = seconds(
        lambda: mcnemar_all_pairs(correct),
        lambda: [p_values(table(first, second)) for first, second in rows],
        lambda: [p_values(counts) for counts in tables],
    )
    each, unit = 1e6 * all_pairs / len(pairs.first), "us a pair"
    case = f"{len(pairs.first):,} pairs ({all_pairs:.2f} s)"
    for baseline, name in ((with_tables, "statsmodels loop"), (free_tables, "statsmodels loop, 2x2 tables for free")):
        yield Result("mcnemar", case, unit, each, 1e6 * baseline / _SAMPLE, name, aim_ratio=1000)


def table(first: np.ndarray, second: np.ndarray) -> Counts:
    """The 2x2 table of two rows with plain numpy."""
    both = np.count_nonzero(first & second)
    only_first = np.count_nonzero(first & ~second)
    only_second = np.count_nonzero(second & ~first)
    return [[both, only_first], [only_second, len(first) - both - only_first - only_second]]


def p_values(counts: Counts) -> tuple[float, float, float]:
    """Exact, chi-square and corrected p-values; statsmodels has no mid-p, which ours computes too."""
    return (
        statsmodels_mcnemar(counts, exact=True).pvalue,
        statsmodels_mcnemar(counts, exact=False, correction=False).pvalue,
        statsmodels_mcnemar(counts, exact=False, correction=True).pvalue,
    )
