"""Published predictions without a shift: two random samples of the same images differ only by chance.

The predictions of 67 models on the ImageNet validation set are split into disjoint samples, 200 times, and studied as
if one sample were the original test set and the other a new one. Each finding may be false in 5% of the splits. A cell
misses its aim if its share is significantly above 5%, corrected for all cells and findings (Bonferroni); so does the
share over all cells, which is printed with its interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import stats

from benchmarks.calibration.checks import NOMINAL
from benchmarks.calibration.worlds import counted
from benchmarks.result import Result
from regrade.core.arrays import BoolArray
from regrade.stats import proportion
from regrade.studies import Generalization, SetPair, findings
from regrade.studies.generalization.analysis import generalization

_DATA = Path(__file__).parents[3] / "shared" / "data" / "recht2019" / "imagenet-val.top5.parquet"
_SPLITS = 200
_MODELS, _IMAGES = (8, 26, 67), (1_000, 5_000, 10_000)
_CELLS = len(_MODELS) * len(_IMAGES)
_CLAIMS = ("generalization: models lose or gain", "generalization: gains shrink", "generalization: off the line")
_MODELS_ALONE = "t over models alone"


def run() -> Iterator[Result]:
    if not _DATA.exists():
        print(f"  skipped: the published predictions are not at {_DATA}")
        return
    correct = read_correct(_DATA)
    rng, totals = np.random.default_rng(0), Counter[str]()
    for models in _MODELS:
        for images in _IMAGES:
            stated = _false_claims(correct, models, images, rng)
            totals += stated
            yield from _results(stated, _SPLITS, f"no shift, {models} models, {images:,} images", _CELLS)
    yield from _results(totals, _SPLITS * _CELLS, "no shift, all")


def most_false(splits: int, tests: int) -> float:
    """The largest share of false claims in percent that is not significantly above 5%, corrected for ``tests``."""
    return 100 * float(stats.binom.isf(NOMINAL / tests, splits, NOMINAL)) / splits


def read_correct(path: Path) -> BoolArray:
    """Correctness (m, n) of each model, from published predictions."""
    table = pq.read_table(path)
    wnids = np.asarray(table.column("wnid").to_pylist())
    labels = np.unique(wnids, return_inverse=True)[1]
    best = [
        table.column(name).combine_chunks().flatten().to_numpy().reshape(len(labels), -1)[:, 0]
        for name in table.column_names[2:]
    ]
    return np.stack(best) == labels


def _false_claims(correct: BoolArray, models: int, images: int, rng: np.random.Generator) -> Counter[str]:
    """The number of splits that state each claim, and that a t interval over models alone would state."""
    stated = Counter[str]()
    for _ in range(_SPLITS):
        study = no_shift(correct, models, images, rng)
        stated.update({finding.kind.name for finding in findings(study)} & set(_CLAIMS))
        changes = [row.new.value - row.original.value for row in study.rows]
        stated[_MODELS_ALONE] += stats.ttest_1samp(changes, 0).pvalue < NOMINAL
    return stated


def no_shift(correct: BoolArray, models: int, images: int, rng: np.random.Generator) -> Generalization:
    """The study of randomly drawn models on two disjoint samples of the same images."""
    chosen = correct[rng.choice(len(correct), models, replace=False)]
    drawn = rng.permutation(correct.shape[1])[: 2 * images]
    pair = SetPair(counted("original", chosen[:, drawn[:images]]), counted("new", chosen[:, drawn[images:]]))
    return generalization([pair], rng=rng, band_points=0)


def _results(stated: Counter[str], splits: int, case: str, cells: int = 1) -> Iterator[Result]:
    """The share of false claims, with its interval if the claims are those of all cells."""
    most = most_false(splits, cells * len(_CLAIMS))
    for claim in _CLAIMS:
        rate = proportion(stated[claim], splits)
        where = case if cells > 1 else f"{case}, {100 * rate.low:.1f} to {100 * rate.high:.1f}"
        baseline = (100 * stated[_MODELS_ALONE] / splits, _MODELS_ALONE) if claim is _CLAIMS[0] else (None, "")
        yield Result("calibration", f"{claim} | {where}", "% false", 100 * rate.value, *baseline, aim_most=most)
