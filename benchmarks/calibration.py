"""How often a claim is made that is false: two random samples of the same images differ by chance only.

The published predictions of 67 models on the ImageNet validation set are split into disjoint samples, 200 times, and
studied as if one sample were the original test set and the other a new one. Each headline may be false in 5% of the
splits, and 6% leave room for the chance of 200 splits on average over all cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.result import Result
from regrade.core.arrays import BoolArray
from regrade.report import findings
from regrade.stats import accuracy_covariance
from regrade.studies import Generalization, ImageNoise, ModelCounts, SetCounts, SetPair, generalization

_DATA = Path(__file__).parents[2] / "shared" / "data" / "recht2019" / "imagenet-val.top5.parquet"
_SPLITS = 200
_MODELS, _IMAGES = (8, 26, 67), (1_000, 5_000, 10_000)
_MOST = 6.0  # percent of false claims
_CLAIMS = {"Models lose": "models lose or gain", "Models gain": "models lose or gain", "Gains on": "gains shrink"}


def run() -> Iterator[Result]:
    if not _DATA.exists():
        print(f"  skipped: the published predictions are not at {_DATA}")
        return
    right = read_right(_DATA)
    rng, claims = np.random.default_rng(0), Counter[str]()
    for models in _MODELS:
        for images in _IMAGES:
            found = Counter(
                claim for _ in range(_SPLITS) for claim in false_claims(no_shift(right, models, images, rng))
            )
            claims += found
            for claim in dict.fromkeys(_CLAIMS.values()):
                share = 100 * found[claim] / _SPLITS
                yield Result("calibration", f"no shift, {models} models, {images:,} images: {claim}", "%", share)
    for claim in dict.fromkeys(_CLAIMS.values()):
        share = 100 * claims[claim] / (_SPLITS * len(_MODELS) * len(_IMAGES))
        yield Result("calibration", f"no shift, all: {claim}", "%", share, aim_most=_MOST)


def read_right(path: Path) -> BoolArray:
    """Shape (m, n): what each model has right, from published predictions."""
    table = pq.read_table(path)
    wnids = np.asarray(table.column("wnid").to_pylist())
    labels = np.unique(wnids, return_inverse=True)[1]
    best = [
        table.column(name).combine_chunks().flatten().to_numpy().reshape(len(labels), -1)[:, 0]
        for name in table.column_names[2:]
    ]
    return np.stack(best) == labels


def no_shift(right: BoolArray, models: int, images: int, rng: np.random.Generator) -> Generalization:
    """The study of some models, drawn at random, on two disjoint samples of the same images."""
    chosen = right[rng.choice(len(right), models, replace=False)]
    drawn = rng.permutation(right.shape[1])[: 2 * images]
    pair = SetPair(counted("original", chosen[:, drawn[:images]]), counted("new", chosen[:, drawn[images:]]))
    return generalization([pair], rng=rng, band_points=0)


def counted(name: str, right: BoolArray) -> SetCounts:
    """What models have right (m, n), with how their accuracies vary over images."""
    names = tuple(f"model {number}" for number in range(len(right)))
    models = {model: ModelCounts(int(row.sum()), len(row)) for model, row in zip(names, right, strict=True)}
    return SetCounts(name, models, noise=ImageNoise(names, accuracy_covariance(right)))


def false_claims(study: Generalization) -> Sequence[str]:
    """Which claims a study of no shift makes in its headlines; that gains carry over is true."""
    headlines = [finding.headline for finding in findings(study) if "carry over" not in finding.headline]
    return [claim for begin, claim in _CLAIMS.items() for headline in headlines if headline.startswith(begin)]
