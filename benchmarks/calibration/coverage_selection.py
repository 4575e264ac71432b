"""Coverage of intervals that account for selection: the best of many models, slices, pairs that differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from benchmarks.calibration.checks import Drawn, coverage_check
from benchmarks.calibration.null_comparison import compared
from benchmarks.calibration.null_label_change import turned
from benchmarks.calibration.null_similarity import independent
from benchmarks.calibration.worlds import correct_predictions
from regrade.core import Estimate
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats import best_share, bonferroni_confidence, clopper_pearson, mark_simultaneous, proportions

_DIFFICULTIES = special.ndtri((np.arange(20) + 0.5) / 20)
_Draw = Callable[[np.random.Generator, int], Drawn]


def right_counts(
    rng: np.random.Generator, abilities: FloatArray, *, images: int, runs: int
) -> tuple[IntArray, FloatArray]:
    """Correct counts (runs, m) of models on images of 20 difficulties, and the true accuracies of the models."""
    sizes = rng.multinomial(images, np.full(len(_DIFFICULTIES), 1 / len(_DIFFICULTIES)), runs)
    shares = special.ndtr(abilities[:, None] - _DIFFICULTIES)
    return rng.binomial(sizes[:, None, :], shares).sum(axis=2), shares.mean(axis=1)


def best_of(abilities: FloatArray, images: int) -> _Draw:
    """The accuracy of the model with the best measured accuracy."""

    def draw(rng: np.random.Generator, runs: int) -> Drawn:
        right, truth = right_counts(rng, abilities, images=images, runs=runs)
        best = [best_share(row, images) for row in right]
        alone = clopper_pearson(right.max(axis=1), images)
        low, high = (np.array([getattr(estimate, bound) for estimate in best]) for bound in ("low", "high"))
        picked = truth[right.argmax(axis=1)]
        return Drawn(low, high, picked, (alone.low, alone.high), "clopper-pearson alone")

    return draw


def slices(count: int, images: int) -> _Draw:
    """All slices of a model simultaneously."""

    def draw(rng: np.random.Generator, runs: int) -> Drawn:
        truth = np.linspace(0.5, 0.95, count)
        right = rng.binomial(images, truth, (runs, count))
        each = bonferroni_confidence(count)
        rows = [[mark_simultaneous(e, count) for e in proportions(row, images, confidence=each)] for row in right]
        return _together([(row, truth) for row in rows])

    return draw


def pairs_that_differ(rng: np.random.Generator, runs: int) -> Drawn:
    """A random one of the pairs that are declared different: its miss rate is the false coverage rate."""
    picked = [_picked(rng, *_pairs(rng)) for _ in range(runs)]
    low, high, truth = np.array(picked).T
    return Drawn(low, high, truth)


def pairs_that_do_not_differ(rng: np.random.Generator, runs: int) -> Drawn:
    """All pairs that are not declared different, simultaneously."""
    return _together([_rest(*_pairs(rng)) for _ in range(runs)])


def _rest(differences: list[Estimate], truth: FloatArray) -> tuple[list[Estimate], FloatArray]:
    rest = [e.low <= 0 <= e.high for e in differences]
    return [e for e, inside in zip(differences, rest, strict=True) if inside], truth[rest]


def _pairs(rng: np.random.Generator) -> tuple[list[Estimate], FloatArray]:
    """The measured and the true differences of all pairs of 5 models on 300 images."""
    accuracies = np.linspace(0.64, 0.86, 5)
    pairs = compared(correct_predictions(rng, accuracies, images=300)).pairs
    return [pair.difference for pair in pairs], accuracies[pairs.first] - accuracies[pairs.second]


def _picked(rng: np.random.Generator, differences: list[Estimate], truth: FloatArray) -> tuple[float, float, float]:
    differ = [place for place, e in enumerate(differences) if not e.low <= 0 <= e.high]
    if not differ:
        return 0.0, 0.0, 0.0
    place = int(rng.choice(differ))
    return differences[place].low, differences[place].high, float(truth[place])


def shared_errors(rng: np.random.Generator, runs: int) -> Drawn:
    """The excess of all pairs of independent models, simultaneously."""
    upper = np.triu_indices(4, k=1)
    excesses = [independent(rng, models=4, images=100).excess for _ in range(runs)]
    return Drawn([e.low[upper].max() for e in excesses], [e.high[upper].min() for e in excesses], 0.0)


def label_changes(rng: np.random.Generator, runs: int) -> Drawn:
    """The change of all models simultaneously, which is truly 0."""
    rows = [[row.difference for row in turned(rng, models=2, images=100).models] for _ in range(runs)]
    return _together([([e for e in row if e], np.zeros(len(row))) for row in rows])


def _together(runs: list[tuple[list[Estimate], FloatArray]]) -> Drawn:
    """Intervals that contain 0 if all intervals of a run contain the truth."""
    low = [max((e.low - t for e, t in zip(*run, strict=True)), default=0.0) for run in runs]
    high = [min((e.high - t for e, t in zip(*run, strict=True)), default=0.0) for run in runs]
    return Drawn(low, high, 0.0)


for _images in (100, 1_000, 10_000):
    for _models, _spread in ((8, 0.0), (67, 0.0), (67, 0.7)):
        coverage_check(
            "accuracy of the best model",
            maker="stats.selection.best_share",
            case=f"best of {_models} {'unequal' if _spread else 'equal'} models",
            n=_images,
            draw=best_of(1.0 + np.linspace(-_spread, _spread, _models), _images),
        )
for _images in (20, 200):
    coverage_check(
        "accuracies of slices",
        maker="stats.multiplicity.mark_simultaneous",
        case="10 slices together",
        n=_images,
        draw=slices(10, _images),
    )
_DIFFERENCE = "studies.compare.model_pairs._differences"
coverage_check(
    "differences that were selected", maker=_DIFFERENCE, case="5 models, false coverage", n=300, draw=pairs_that_differ
)
coverage_check(
    "differences that were not selected", maker=_DIFFERENCE, case="5 models, together", n=300,
    draw=pairs_that_do_not_differ,
)  # fmt: skip
coverage_check(
    "errors shared beyond independence", maker="studies.similarity.analysis._excess",
    case="4 models, all pairs together", n=100, draw=shared_errors,
)  # fmt: skip
coverage_check(
    "change by other labels", maker="stats.clustered_pairs.paired_share_difference", case="2 models together", n=100,
    draw=label_changes,
)  # fmt: skip
