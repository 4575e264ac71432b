"""Coverage of F1 scores: of single classes, rare ones among them, and of their means over classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import IntArray
from regrade.stats import f1_scores, macro_f1, weighted_f1

_POPULATION = 400_000
_WORLDS: dict[str, tuple[float, ...]] = {
    "10 equal classes": (0.1,) * 10,
    "3 classes of 90%, 7% and 3%": (0.9, 0.07, 0.03),
}

Score = Callable[[IntArray, IntArray], Estimate]


def f1_of_last(labels: IntArray, predicted: IntArray) -> Estimate:
    """F1 of the last class of the rare world; one with neither labels nor predictions is drawn with one wrong."""
    rare = 2
    both = int(((labels == rare) & (predicted == rare)).sum())
    return f1_scores([both], [max(int((labels == rare).sum()), 1)], [int((predicted == rare).sum())])[0]


def scores(
    rng: np.random.Generator, runs: int, *, case: str, accuracy: float, n: int, score: Score, balanced: bool
) -> Drawn:
    """Labels by class shares; a wrong prediction is drawn by the same shares. ``balanced``: fixed class sizes."""
    estimates = [score(*drawn(rng, case, accuracy, n, balanced=balanced)) for _ in range(runs)]
    truth = _truths(case, accuracy)[score.__name__]
    return Drawn([e.low for e in estimates], [e.high for e in estimates], truth)


def drawn(
    rng: np.random.Generator, case: str, accuracy: float, n: int, *, balanced: bool = False
) -> tuple[IntArray, IntArray]:
    """Labels (n,) and predictions (n,)."""
    shares = np.array(_WORLDS[case])
    sizes = np.maximum(np.round(shares * n).astype(int), 1)
    labels = np.repeat(np.arange(len(shares)), sizes) if balanced else rng.choice(len(shares), n, p=shares)
    mistaken = rng.choice(len(shares), len(labels), p=shares)
    mistaken = np.where(mistaken == labels, (labels + 1) % len(shares), mistaken)
    return labels, np.where(rng.random(len(labels)) < accuracy, labels, mistaken)


@cache
def _truths(case: str, accuracy: float) -> dict[str, float]:
    labels, predicted = drawn(np.random.default_rng(0), case, accuracy, _POPULATION)
    means = {score.__name__: score(labels, predicted).value for score in (macro_f1, weighted_f1)}
    return {**means, "f1_of_last": f1_of_last(labels, predicted).value}


for accuracy in (0.6, 0.98):
    for size in (100, 1_000):
        coverage_check(
            "F1 of a class",
            maker="stats.f1.f1_scores",
            case=f"3% of the images, an accuracy of {accuracy:g}",
            n=size,
            draw=partial(
                scores, case="3 classes of 90%, 7% and 3%", accuracy=accuracy, n=size, score=f1_of_last, balanced=False
            ),
        )
    for case, size, balanced in (
        ("10 equal classes", 200, False),
        ("10 equal classes", 1_000, True),
        ("3 classes of 90%, 7% and 3%", 100, False),
    ):
        for name, maker, score in (
            ("macro F1", "stats.f1.macro_f1" if len(_WORLDS[case]) == 3 else "stats.f1._mean_f1", macro_f1),
            ("weighted F1", "stats.f1._mean_f1", weighted_f1),
        ):
            coverage_check(
                name,
                maker=maker,
                case=f"{case}, an accuracy of {accuracy:g}",
                n=size,
                draw=partial(scores, case=case, accuracy=accuracy, n=size, score=score, balanced=balanced),
            )
