"""The predictions published with Recht et al. 2019, as counts: from one table per set, or in the authors' layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from regrade.classes import imagenet_1k
from regrade.core import FormatError, InputError
from regrade.core.arrays import IntArray
from regrade.metrics import top_k_correct
from regrade.studies import ModelCounts, SetCounts

IMAGENET_SETS = {
    "imagenet-val": "imagenet-validation-original",
    "imagenetv2-matched-frequency": "imagenetv2-b-33",
    "imagenetv2-threshold-0.7": "imagenetv2-a-44",
    "imagenetv2-top-images": "imagenetv2-c-12",
}
"""The ImageNet test sets, with the authors' own names."""

CIFAR_SETS = {
    "cifar10.test": ("original", "label-errors/original_test_labels/cifar10_test_set_original_labels.npy"),
    "cifar10.1-v4": ("v4", "CIFAR-10.1/datasets/cifar10.1_v4_labels.npy"),
}
"""The CIFAR-10 test sets, with the authors' own names and the files of their labels."""

_REVERSED = "fv_16k"  # its five columns are ordered from worst to best in the three new sets


@dataclass(frozen=True)
class PublishedCounts:
    """The counts of all models by test set, and for the ImageNet sets the images per class (1000,)."""

    imagenet: Mapping[str, SetCounts]
    cifar: Mapping[str, SetCounts]
    images_per_class: Mapping[str, IntArray]


def read_published(folder: Path) -> PublishedCounts:
    """Read the predictions below a folder in either layout; a folder with neither raises."""
    if (folder / "imagenet-val.top5.parquet").is_file():
        imagenet, cifar, labels = _imagenet_table, _cifar_table, _table_labels
    elif (folder / "ImageNetV2" / "data" / "predictions").is_dir():
        imagenet, cifar, labels = _imagenet_arrays, _cifar_lists, _listed_labels
    else:
        raise InputError(
            f"{folder} has no predictions of recht2019: expected imagenet-val.top5.parquet, or clones of ImageNetV2, "
            "CIFAR-10.1 and label-errors side by side; leave out --data to download them"
        )
    counts = _counts_of(IMAGENET_SETS, folder, imagenet), _counts_of(CIFAR_SETS, folder, cifar)
    return PublishedCounts(*counts, {name: np.bincount(labels(folder, name), minlength=1000) for name in IMAGENET_SETS})


def _counts_of(
    names: Mapping[str, object], folder: Path, read: Callable[[Path, str], dict[str, ModelCounts]]
) -> dict[str, SetCounts]:
    counts_by_set = {}
    for name in names:
        try:
            counts_by_set[name] = SetCounts(name, read(folder, name))
        except FileNotFoundError as error:
            raise InputError(f"{name} is not complete below {folder}: {error.filename} is missing") from None
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{name} below {folder} does not have the published layout: {error}") from None
    return counts_by_set


def _imagenet_table(folder: Path, name: str) -> dict[str, ModelCounts]:
    table = pq.read_table(folder / f"{name}.top5.parquet")
    labels = _table_labels(folder, name)
    columns = {
        model: table[model].combine_chunks().flatten().to_numpy().reshape(len(labels), 5)
        for model in table.column_names
        if model not in ("image", "wnid")
    }
    return {_model_name(model): _ranked(_model_name(model), ranked, labels, name) for model, ranked in columns.items()}


def _imagenet_arrays(folder: Path, name: str) -> dict[str, ModelCounts]:
    data, official = folder / "ImageNetV2" / "data", IMAGENET_SETS[name]
    labels = _listed_labels(folder, name)
    arrays = sorted((data / "predictions" / official).glob("*.npy"))
    return {_model_name(path.stem): _ranked(_model_name(path.stem), np.load(path), labels, name) for path in arrays}


def _table_labels(folder: Path, name: str) -> IntArray:
    wnids = pq.read_table(folder / f"{name}.top5.parquet", columns=["wnid"])["wnid"]
    return _indices(wnids.cast("string").to_pylist())


def _listed_labels(folder: Path, name: str) -> IntArray:
    path = folder / "ImageNetV2" / "data" / "datasets" / f"{IMAGENET_SETS[name]}.json"
    return _indices([wnid for _, wnid in json.loads(path.read_bytes())["image_filenames"]])


def _cifar_table(folder: Path, name: str) -> dict[str, ModelCounts]:
    table = pq.read_table(folder / f"{name}.top1.parquet")
    labels = table["label"].to_numpy()
    return {
        model: _top1(table[model].to_numpy(), labels) for model in table.column_names if model not in ("index", "label")
    }


def _cifar_lists(folder: Path, name: str) -> dict[str, ModelCounts]:
    version, labels_file = CIFAR_SETS[name]
    labels = np.load(folder / labels_file)
    ending = "_predictions.json"
    lists = sorted((folder / "CIFAR-10.1" / "model_predictions" / f"{version}_predictions").glob(f"*{ending}"))
    return {path.name.removesuffix(ending): _top1(np.array(json.loads(path.read_bytes())), labels) for path in lists}


def _ranked(model: str, ranked: IntArray, labels: IntArray, name: str) -> ModelCounts:
    best_first = ranked[:, ::-1] if model == _REVERSED and name != "imagenet-val" else ranked
    right, right_top5 = (int(top_k_correct(best_first[:, :k], labels).sum()) for k in (1, 5))
    return ModelCounts(right, len(labels), right_top5)


def _top1(predicted: IntArray, labels: IntArray) -> ModelCounts:
    if predicted.shape != labels.shape:
        raise ValueError(f"{len(predicted):,} predictions for {len(labels):,} labels")
    return ModelCounts(int((predicted == labels).sum()), len(labels))


def _indices(wnids: list[str]) -> IntArray:
    index_of = imagenet_1k().index_of
    return np.array([index_of[wnid] for wnid in wnids])


def _model_name(model: str) -> str:
    """A model's name without the suffix that two models have in one set each."""
    return model.removesuffix("_model")
