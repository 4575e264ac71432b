"""The baseline for `regrade import` and `regrade grade`: the same table with pandas and statsmodels, without storage.

python -m benchmarks.plain_grade PREDICTIONS.parquet real.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint


def main(predictions: Path, real: Path) -> None:
    frame = pd.read_parquet(predictions)
    labels = frame["wnid"].astype("category").cat.codes.to_numpy()
    accepted, judged = real_labels(frame["image"], json.loads(real.read_text()))
    rows = []
    for model in frame.columns.drop(["image", "wnid"]):
        best = np.stack(frame[model].to_numpy()).astype(np.int64)
        rows.append({
            "model": model,
            "top1": share(best[:, 0] == labels),
            "top5": share((best == labels[:, None]).any(axis=1)),
            "multilabel": share(accepted[np.arange(len(best)), best[:, 0]][judged]),
        })  # fmt: skip
    json.dump(rows, sys.stdout)


def real_labels(images: pd.Series, lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """The correct classes of each image (n, 1000), and which images have any."""
    accepted = np.zeros((len(images), 1000), dtype=bool)
    for row, number in enumerate(images.str[-13:-5].astype(int)):
        accepted[row, lists[number - 1]] = True
    return accepted, accepted.any(axis=1)


def share(right: np.ndarray) -> list[float]:
    low, high = proportion_confint(int(right.sum()), len(right), method="beta")
    return [float(right.mean()), float(low), float(high)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
