"""Train ResNets on CIFAR-10 with regrade, and reduce their scores to the files in docs/data.

    python scripts/confusion_on_cifar.py train TRAIN ../shared/data RUN [--only NAME ...] [--device cuda]
    python scripts/confusion_on_cifar.py reduce RUN docs/data

TRAIN is a folder with one folder of JPEG files per class; the test images are those of the data pack, in the order of
CIFAR-10. RUN is a workspace: a run that was stopped goes on, and every command of regrade works on it. Nothing but
scores, predicted classes and learning curves is written to docs/data.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import regrade
from regrade.core import InputError
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.checkpoints import Checkpoints
from regrade.metrics import confusion_score, training_scores
from regrade.models import Device, Precision
from regrade.models.trained_model import network_files, read_network_file
from regrade.train.member import EpochReport
from regrade.train.plan import TrainingPlan, training_folder
from regrade.workspace import Workspace

TRAINING, TEST = "cifar10-train", "cifar10"
EPOCHS, SEEDS = 100, (0, 1, 2)
ENSEMBLES = ("resnet20", "resnet56")
GROUP_DRO = {"resnet20-groupdro": 1e-2, "resnet20-groupdro-1e-3": 1e-3, "resnet20-groupdro-1e-4": 1e-4}
"""The step sizes of GroupDRO; the first is the default of Sagawa et al. 2020."""
UPSAMPLING = "resnet20-upsample"
NETWORKS = (*ENSEMBLES, *GROUP_DRO, UPSAMPLING)
STRIDES = (3, 5, 10, 20)
STORED, EARLY = 5, 3
"""The scores of single members are means over every fifth epoch; EL2N is that of epochs 0, 5 and 10."""

Columns = dict[str, np.ndarray]


def train(*, run: Path, images: Path, published: Path, device: Device, epochs: int, only: list[str]) -> None:
    """Train everything that is not trained yet."""
    workspace = opened(run, images, published)
    shared: dict[str, Any] = {
        "device": device,
        "seeds": SEEDS,
        "epochs": epochs,
        "batch": 512,
        "learning_rate": 0.4,
        "warm_up": min(5, epochs / 2),
        "precision": Precision.BF16 if device is Device.CUDA else Precision.FP32,
        "epoch_progress": print_epoch,
    }
    banded = {**shared, "network": "resnet20", "test_sets": [TEST], "every": epochs, "confused_by": "resnet20"}
    steps: dict[str, Callable[[str], object]] = {
        "resnet20": lambda name: workspace.train.ensemble(
            name, TRAINING, network=name, test_sets=[TEST, TRAINING], **shared
        ),
        "resnet56": lambda name: workspace.train.ensemble(name, TRAINING, network=name, test_sets=[TEST], **shared),
        UPSAMPLING: lambda name: workspace.train.upsample(name, TRAINING, **banded),
        **dict.fromkeys(
            GROUP_DRO, lambda name: workspace.train.groupdro(name, TRAINING, step_size=GROUP_DRO[name], **banded)
        ),
    }
    for name, step in steps.items():
        if not only or name in only:
            print(step(name), flush=True)


def opened(run: Path, images: Path, published: Path) -> Workspace:
    """The workspace of a run, with both sets of images."""
    workspace = regrade.open(run) if (run / "regrade.toml").exists() else regrade.init(run)
    for name, path in ((TRAINING, images), (TEST, published / "cifar10" / "test.parquet")):
        if name not in workspace.testsets.names():
            workspace.testsets.add(name, path, classes="cifar-10")
    return workspace


def print_epoch(plan: TrainingPlan, report: EpochReport) -> None:
    """A line for every tenth epoch."""
    if report.epoch % 10 == 0 and report.accuracy is not None:
        weights = f", weights {report.group_weights}" if report.group_weights else ""
        print(f"{plan.name} {report.seed}: epoch {report.epoch}, {report.accuracy:.3f}{weights}", flush=True)


def reduce(run: Path, out: Path) -> None:
    """Write the three files."""
    workspace = regrade.open(run)
    out.mkdir(parents=True, exist_ok=True)
    write(test_table(workspace), out / "confusion-on-cifar-test.parquet")
    write(train_table(workspace), out / "confusion-on-cifar-train.parquet", delta=("image",))
    write(curve_table(workspace), out / "confusion-on-cifar-curves.parquet")


def test_table(workspace: Workspace) -> pa.Table:
    """One row per test image, in the order of CIFAR-10."""
    labels = workspace.store.test_set(TEST).labels
    columns: Columns = {"index": np.arange(len(labels), dtype=np.int16)}
    for name in ENSEMBLES:
        columns |= ensemble_scores(name, stored_scores(workspace, name), labels)
        columns[f"{name}_ensemble"] = ensemble_predictions(stored_scores(workspace, name))
    for name in NETWORKS:
        columns |= seed_predictions(name, stored_scores(workspace, name))
    return pa.table(columns)


def stored_scores(workspace: Workspace, name: str) -> Checkpoints:
    """The scores of a training on the test images."""
    return workspace.store.ensembles.read(workspace.store.test_set(TEST), name)


def ensemble_scores(name: str, checkpoints: Checkpoints, labels: IntArray) -> Columns:
    """The scores (n,) of an ensemble: from all epochs, and of its members from every fifth."""
    entropies = np.stack([
        confusion_score(at_epochs(checkpoints, [place])) for place in range(len(checkpoints.epochs))
    ])  # fmt: skip
    stored = training_scores(at_epochs(checkpoints, range(0, len(checkpoints.epochs), STORED)), labels, early=EARLY)
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


def at_epochs(checkpoints: Checkpoints, places: range | list[int]) -> Checkpoints:
    """The checkpoints of some epochs, by their positions."""
    return replace(
        checkpoints,
        epochs=tuple(checkpoints.epochs[place] for place in places),
        read=lambda member, place: checkpoints.read(member, places[place]),
    )


def probabilities(checkpoints: Checkpoints, member: int) -> FloatArray:
    """Shape (n, c): the softmax of a member's last scores."""
    scores = np.asarray(checkpoints.scores(member, len(checkpoints.epochs) - 1), dtype=np.float64)
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def ensemble_predictions(checkpoints: Checkpoints) -> np.ndarray:
    """Shape (n,): the classes that the mean of the members predicts."""
    members = range(len(checkpoints.members))
    return np.asarray(sum(probabilities(checkpoints, member) for member in members)).argmax(axis=1).astype(np.int8)


def seed_predictions(name: str, checkpoints: Checkpoints) -> Columns:
    """The classes (n,) that each seed predicts after the last epoch."""
    return {
        f"{name}_seed_{seed}": probabilities(checkpoints, place).argmax(axis=1).astype(np.int8)
        for place, seed in enumerate(checkpoints.members)
    }


def train_table(workspace: Workspace) -> pa.Table:
    """One row per training image, named by its file."""
    training_set = workspace.store.test_set(TRAINING)
    scores = confusion_score(workspace.store.ensembles.read(training_set, "resnet20"))
    return pa.table({"image": [f"train/{name}" for name in training_set.ids], "resnet20_score": np.float16(scores)})


def curve_table(workspace: Workspace) -> pa.Table:
    """One row per network, seed and epoch: loss, accuracy while training, and GroupDRO's weight of the hard group."""
    rows = [
        {"network": name, "seed": report["seed"], "epoch": report["epoch"], **_curve_values(report)}
        for name in NETWORKS
        for report in reports(workspace, name)
        if report["epoch"]
    ]
    schema = pa.schema(
        [("network", pa.string()), ("seed", pa.int8()), ("epoch", pa.int16()), ("loss", pa.float32()),
         ("accuracy", pa.float32()), ("hard_weight", pa.float32())]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


def _curve_values(report: Mapping[str, Any]) -> dict[str, float | None]:
    weights = report["group_weights"] or (None, None)
    return {"loss": round(report["loss"], 4), "accuracy": round(report["accuracy"], 4), "hard_weight": weights[1]}


def reports(workspace: Workspace, name: str) -> list[Mapping[str, Any]]:
    """The reports of all epochs of a training, from the files of its members."""
    members = sorted(training_folder(workspace.store.root, name).glob("seed-*"))
    files = [list(network_files(member, "state").values())[-1] for member in members]
    return [report for file in files for report in read_network_file(file)[1]["curve"]]


def write(table: pa.Table, path: Path, *, delta: tuple[str, ...] = ()) -> None:
    """Write a small file: bytes of numbers are split, names are stored as differences."""
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    encodings = dict.fromkeys(floats, "BYTE_STREAM_SPLIT") | dict.fromkeys(delta, "DELTA_BYTE_ARRAY")
    dictionary = [name for name in table.column_names if name not in encodings]
    pq.write_table(
        table, path, compression="zstd", compression_level=19, use_dictionary=dictionary, column_encoding=encodings
    )
    print(f"{path}: {len(table):,} rows, {path.stat().st_size / 1000:,.0f} kB")


def main() -> None:
    """Parse the command and run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train")
    for name in ("images", "published", "run"):
        training.add_argument(name, type=Path)
    training.add_argument("--only", nargs="+", default=[])
    training.add_argument("--device", type=Device, default=Device.CPU)
    training.add_argument("--epochs", type=int, default=EPOCHS)
    training.set_defaults(command=train)
    reducing = commands.add_parser("reduce")
    for name in ("run", "out"):
        reducing.add_argument(name, type=Path)
    reducing.set_defaults(command=reduce)
    arguments = vars(parser.parse_args())
    arguments.pop("command")(**arguments)


if __name__ == "__main__":
    main()
