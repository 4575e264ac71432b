"""Reduce the scores of a run of confusion_on_cifar.py to the files in docs/data, which the page is made from.

    python scripts/confusion_on_cifar_reduce.py RUN IMAGES ../shared/data docs/data

RUN has the collected scores (kept.npz, resnet20-test.npy, resnet56-test.npy), IMAGES the folders test/CLASS with the
JPEG files of the run. Images with equal bytes are the same: this gives their order in the CIFAR-10 test set. Nothing
but scores and predicted classes is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import InputError, ScoreKind
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.checkpoints import checkpoints_of
from regrade.metrics import training_scores

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PER_CLASS = 5000
"""Training images of each class."""
ENSEMBLES = ("resnet20", "resnet56")
REMEDIES = ("resnet20-groupdro", "resnet20-upsample")
STRIDES = (3, 5, 10, 20)
EARLY = 3
"""Stored epochs of EL2N: 0, 5 and 10, as regrade's default is the first ten epochs."""
STORED = 5
"""Every so many epochs all probabilities are stored."""

Columns = dict[str, np.ndarray]


def original_order(images: Path, published: Path) -> IntArray:
    """Shape (n,): the position in CIFAR-10 of each test image, in the order of classes and file names."""
    files = [path for name in CLASSES for path in sorted((images / "test" / name).iterdir())]
    table = pq.read_table(published / "cifar10" / "test.parquet")
    positions = {content: place for place, content in enumerate(table["jpeg"].to_pylist())}
    order = np.array([positions.get(path.read_bytes(), -1) for path in files])
    if not np.array_equal(np.sort(order), np.arange(len(table))):
        raise InputError(f"{images} and {published} have different test images")
    labels = np.array([CLASSES.index(path.parent.name) for path in files])
    if not np.array_equal(table["label"].to_numpy()[order], labels):
        raise InputError(f"{images} and {published} have different labels")
    return order


def ensemble_scores(name: str, run: Path, kept: dict[str, FloatArray], labels: IntArray) -> Columns:
    """The scores (n,) of an ensemble in the order of the run, from all epochs and from those stored in full."""
    entropies = kept[f"{name}_test_entropies"].astype(np.float64)
    probabilities = np.load(run / f"{name}-test.npy")
    epochs = range(0, STORED * probabilities.shape[1], STORED)
    stored = training_scores(
        checkpoints_of(probabilities, kind=ScoreKind.PROBABILITIES, epochs=epochs), labels, early=EARLY
    )
    by_label = stored.by_label
    if by_label is None or by_label.variability is None:
        raise InputError(f"{name} needs labels and at least two stored epochs")
    halves = {
        **{f"every_{stride}": entropies[::stride].mean(axis=0) for stride in STRIDES},
        "first_entropy": entropies[0],
        "last_entropy": entropies[-1],
        **{f"member_{number}": scores for number, scores in enumerate(stored.entropies.members)},
        **{f"member_0_every_{stride}": stored.first_member[:: stride // STORED].mean(axis=0) for stride in (10, 20)},
        "member_0_last_entropy": stored.first_member[-1],
        "member_0_margin": stored.final_margin,
        "el2n": by_label.el2n,
        "member_0_aum": by_label.area_under_margin,
        "member_0_confidence": by_label.confidence,
        "member_0_variability": by_label.variability,
    }
    columns = {f"{name}_{column}": values.astype(np.float16) for column, values in halves.items()}
    return {f"{name}_score": entropies.mean(axis=0).astype(np.float32), **columns}


def predictions(name: str, last: FloatArray) -> Columns:
    """The classes (n,) predicted by each seed, from its last probabilities (m, n, c), and by an ensemble's mean."""
    seeds = {f"{name}_seed_{seed}": scores.argmax(axis=1).astype(np.int8) for seed, scores in enumerate(last)}
    mean = last.astype(np.float32).mean(axis=0).argmax(axis=1).astype(np.int8)
    return {**seeds, f"{name}_ensemble": mean} if name in ENSEMBLES else seeds


def test_table(run: Path, kept: dict[str, FloatArray], order: IntArray) -> pa.Table:
    """One row per test image, in the order of CIFAR-10."""
    labels = np.repeat(np.arange(len(CLASSES)), len(order) // len(CLASSES))
    columns: Columns = {}
    for name in ENSEMBLES:
        columns |= ensemble_scores(name, run, kept, labels)
    for name in (*ENSEMBLES, *REMEDIES):
        columns |= predictions(name, kept[f"{name}_test_last"])
    place = np.argsort(order)
    index = np.arange(len(order), dtype=np.int16)
    return pa.table({"index": index} | {name: values[place] for name, values in columns.items()})


def train_table(kept: dict[str, FloatArray]) -> pa.Table:
    """One row per training image, named by its file."""
    names = [f"train/{name}/{number:04}.jpg" for name in CLASSES for number in range(PER_CLASS)]
    return pa.table({"image": names, "resnet20_score": kept["resnet20_train_entropies"]})


def curve_table(kept: dict[str, FloatArray]) -> pa.Table:
    """One row per network, seed and epoch: loss and accuracy on the training images while training."""
    parts = []
    for name in (*ENSEMBLES, *REMEDIES):
        for seed, curve in enumerate(kept[f"{name}_curves"]):
            epochs = len(curve)
            loss, accuracy = curve.T.round(4)
            parts.append(
                pa.table({
                    "network": [name] * epochs, "seed": np.full(epochs, seed, dtype=np.int8),
                    "epoch": np.arange(1, epochs + 1, dtype=np.int16), "loss": loss, "accuracy": accuracy,
                })
            )  # fmt: skip
    return pa.concat_tables(parts)


def write(table: pa.Table, path: Path, *, delta: tuple[str, ...] = ()) -> None:
    """Write a small file: bytes of numbers are split, names are stored as differences."""
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    encodings = dict.fromkeys(floats, "BYTE_STREAM_SPLIT") | dict.fromkeys(delta, "DELTA_BYTE_ARRAY")
    dictionary = [name for name in table.column_names if name not in encodings]
    pq.write_table(
        table, path, compression="zstd", compression_level=19, use_dictionary=dictionary, column_encoding=encodings
    )
    print(f"{path}: {len(table):,} rows, {path.stat().st_size / 1000:,.0f} kB")


def main(run: Path, images: Path, published: Path, out: Path) -> None:
    """Write the three files."""
    kept = dict(np.load(run / "kept.npz"))
    out.mkdir(parents=True, exist_ok=True)
    write(test_table(run, kept, original_order(images, published)), out / "confusion-on-cifar-test.parquet")
    write(train_table(kept), out / "confusion-on-cifar-train.parquet", delta=("image",))
    write(curve_table(kept), out / "confusion-on-cifar-curves.parquet")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "images", "published", "out"):
        parser.add_argument(name, type=Path)
    main(**vars(parser.parse_args()))
