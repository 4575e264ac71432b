"""Processor time and memory of commands with 5,000 models or 300,000 images: each must cost no more than one of few."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Finished, command
from benchmarks.result import Result
from benchmarks.synthetic import correctness
from regrade.classes import class_space
from regrade.core import DescribedModels, ModelAttributes, Predictions, TestSet
from regrade.store import PredictionSource, Store, manifest_of

_MODELS, _FEW_IMAGES = (1_000, 5_000), 50
_IMAGES, _FEW_MODELS = (30_000, 300_000), 10
_LINEAR = 0.9  # costs that grow with the amount, up to noise; they have a constant part, so the ratio is usually larger
_LISTS = ("models list", "models list --json", "testsets list")
_ON_MODELS = ("grade -t big --json", "verify")
_ON_IMAGES = ("grade -t big --json", "compare -t big", "study similarity -t big", "verify", "report r")


@dataclass(frozen=True)
class Costs:
    """What each command costs with an amount of models or images."""

    amount: int
    commands: Mapping[str, Finished]


def run() -> Iterator[Result]:
    for case in ("--help", "grade --help"):
        done = min((_regrade(*case.split()) for _ in range(3)), key=lambda finished: finished.processor_seconds)
        yield Result("scale", case, "CPU s", done.processor_seconds)
    with tempfile.TemporaryDirectory() as folder:
        yield from _growth("models", *(_costs_with_models(Path(folder), count) for count in _MODELS))
        yield from _growth("images", *(_costs_with_images(Path(folder), count) for count in _IMAGES))


def _growth(what: str, few: Costs, many: Costs) -> Iterator[Result]:
    """The cost of each command with the larger amount, compared with that of the smaller one times their ratio."""
    factor = many.amount // few.amount
    for case, done in many.commands.items():
        name, most = f"{case}, {many.amount:,} {what}", 1 if case in _LISTS else None
        baseline = factor * few.commands[case].processor_seconds
        title = f"{factor} x that with {few.amount:,}"
        yield Result("scale", name, "CPU s", done.processor_seconds, baseline, title, _LINEAR, most)
        yield Result("scale", f"{name}, peak memory", "GB", done.gigabytes, aim_most=8)


def _costs_with_models(folder: Path, models: int) -> Costs:
    root = _many_models(folder / f"{models}-models", models)
    return Costs(models, {case: _regrade(*case.split(), "-w", root) for case in (*_LISTS, *_ON_MODELS)})


def _costs_with_images(folder: Path, images: int) -> Costs:
    """Import predictions of several models from files, as a user would, and analyze them."""
    root, files = folder / f"{images}-images", folder / f"{images}-files"
    _regrade("init", root)
    for file in _prediction_files(files, images):
        imported = _regrade("import", "predictions", file, "-t", "big", "--classes", "imagenet-1k", "-w", root)
    analyses = {case: _regrade(*case.split(), "-w", root) for case in _ON_IMAGES}
    return Costs(images, {"import predictions of one model": imported, **analyses})


def _regrade(*arguments: str | Path) -> Finished:
    return command([sys.executable, "-m", "regrade", *arguments])


def _many_models(root: Path, models: int) -> Path:
    """A workspace with described models on few images."""
    rng = np.random.default_rng(0)
    store, space = Store.create(root), class_space("imagenet-1k")
    test_set = TestSet("big", space, _ids(_FEW_IMAGES), rng.integers(len(space), size=_FEW_IMAGES))
    predicted = [
        Predictions(f"model {number}", test_set.name, space.name, _best_classes(test_set.labels, right, rng))
        for number, right in enumerate(correctness(models, _FEW_IMAGES, rng))
    ]
    entries = [(each, manifest_of(each, test_set, space, PredictionSource())) for each in predicted]
    store.add_predictions(test_set, entries, space)
    described = {each.model: ModelAttributes(family=f"family {number % 9}") for number, each in enumerate(predicted)}
    store.described_models.update(DescribedModels(described))
    return root


def _prediction_files(folder: Path, images: int) -> Iterator[Path]:
    folder.mkdir()
    rng = np.random.default_rng(0)
    labels = rng.integers(1_000, size=images)
    for number, right in enumerate(correctness(_FEW_MODELS, images, rng)):
        classes = pa.array(_best_classes(labels, right, rng).astype(np.int16).ravel())
        columns = {"label": labels, f"model {number}": pa.FixedSizeListArray.from_arrays(classes, 5)}
        pq.write_table(pa.table({"id": pa.array(_ids(images)), **columns}), folder / f"{number}.parquet")
        yield folder / f"{number}.parquet"


def _ids(images: int) -> tuple[str, ...]:
    return tuple(f"image-{number:07}" for number in range(images))


def _best_classes(labels: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Five distinct classes per image: the label comes first if the model is right, otherwise second."""
    steps = rng.integers(1, 200, size=(len(labels), 1))
    classes = (labels[:, None] + np.arange(5) * steps) % 1_000
    classes[~right, :2] = classes[~right, 1::-1]
    return classes.astype(np.int32)
