"""Recht et al. 2019, Do ImageNet Classifiers Generalize to ImageNet?: Tables 1 and 2, fitted lines, and the text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from regrade.classes import imagenet_1k
from regrade.core import Estimate, FormatError, InputError
from regrade.core.arrays import IntArray
from regrade.metrics import top_k_correct
from regrade.replicate.cell import Cell, CellKind, Replication, printed_figure, printed_figures
from regrade.replicate.recht2019_build import BUILD_FOLDER, build_cells, build_folder
from regrade.stats import LineFit, Scale, clopper_pearson, proportion
from regrade.studies import Generalization, ModelCounts, ModelShift, SetCounts, SetPair
from regrade.studies.generalization.analysis import generalization

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

_PAPER = "recht2019"
_NEW_SETS = {
    "MatchedFrequency": "imagenetv2-matched-frequency",
    "Threshold0.7": "imagenetv2-threshold-0.7",
    "TopImages": "imagenetv2-top-images",
}
_CIFAR_COLUMNS = {
    "shake_shake_64d_cutout": "shake_shake_26_2x64d_SSI_cutout16",
    "wide_resnet_28_10": "wrn_28_10",
}  # names in the published predictions that differ
_UNPUBLISHED = "autoaug_pyramid_net_tf"
_OUTSIDE_RANGE = "alexnet_tf_ben"  # less accurate on CIFAR-10 than the paper's weakest model
_CIFAR_SIZES = {
    "Orig. Accuracy": 10_000,
    "New Accuracy": 2_021,
}  # images of the test set and of version 4 of the new one
_DRAWS = 100_000  # of models, as in the paper
_HALF_WIDTHS = {"95": 0.95, "99.99": 0.9999}

_printed = partial(printed_figure, _PAPER)

Rows = Mapping[str, ModelShift]
"""Models on an original and a new test set, by name."""

_PARTS: dict[str, Callable[[ModelShift], float]] = {
    "Orig. Rank": lambda row: row.original_rank,
    "Orig. Accuracy": lambda row: 100 * row.original.value,
    "Orig. Accuracy low": lambda row: 100 * row.original.low,
    "Orig. Accuracy high": lambda row: 100 * row.original.high,
    "New Accuracy": lambda row: 100 * row.new.value,
    "New Accuracy low": lambda row: 100 * row.new.low,
    "New Accuracy high": lambda row: 100 * row.new.high,
    "Gap": lambda row: 100 * row.gap.value,
    "New Rank": lambda row: row.new_rank,
    "Delta Rank": lambda row: row.rank_change,
}


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
    return {_model_name(model): _top_k(_model_name(model), ranked, labels, name) for model, ranked in columns.items()}


def _imagenet_arrays(folder: Path, name: str) -> dict[str, ModelCounts]:
    data, official = folder / "ImageNetV2" / "data", IMAGENET_SETS[name]
    labels = _listed_labels(folder, name)
    arrays = sorted((data / "predictions" / official).glob("*.npy"))
    return {_model_name(path.stem): _top_k(_model_name(path.stem), np.load(path), labels, name) for path in arrays}


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


def _top_k(model: str, ranked: IntArray, labels: IntArray, name: str) -> ModelCounts:
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


def recht2019(data: Path) -> Replication:
    """Recompute the paper's figures from the folder of its published predictions."""
    published, history = read_published(data), build_folder(data)
    imagenet = _imagenet_study(published)
    cifar = _study([_cifar_pair(published)])
    imagenet_rows = _ranked_by_name(imagenet.of(_NEW_SETS["MatchedFrequency"]))
    cifar_rows = _ranked_by_name(cifar.rows)
    cells = (
        *_table_1({"ImageNet Top-1": imagenet_rows, "CIFAR-10": cifar_rows}),
        *_unpublished_intervals(),
        *_table_2(imagenet),
        *_lines(published, imagenet, cifar),
        *_ranges("ImageNet", imagenet_rows),
        *_ranges("CIFAR-10", cifar_rows),
        *_single_models(imagenet_rows, cifar_rows),
        *_networks(imagenet_rows),
        *_images_per_class(published),
        *_half_widths(),
        *(() if history is None else build_cells(history)),
    )
    return Replication.of(_PAPER, cells, (*_notes(imagenet, cifar), *_history_note(history)))


def _study(pairs: Sequence[SetPair], *, models: Sequence[str] = ()) -> Generalization:
    rng = np.random.default_rng(0)
    return generalization(pairs, rng=rng, scale=Scale.LINEAR, standard=models, draws=_DRAWS, band_points=0)


def _imagenet_study(published: PublishedCounts) -> Generalization:
    original = published.imagenet["imagenet-val"]
    return _study([SetPair(original, published.imagenet[name]) for name in _NEW_SETS.values()])


def _cifar_pair(published: PublishedCounts) -> SetPair:
    return SetPair(published.cifar["cifar10.test"], published.cifar["cifar10.1-v4"])


def _ranked_by_name(rows: Sequence[ModelShift]) -> dict[str, ModelShift]:
    """The models on one new set by name, with distinct ranks as the paper prints them: ties are broken by name."""
    original = _ranks(rows, lambda row: row.original.value)
    new = _ranks(rows, lambda row: row.new.value)
    return {row.model: _ranked(row, original[row.model], new[row.model]) for row in rows}


def _ranks(rows: Sequence[ModelShift], accuracy: Callable[[ModelShift], float]) -> dict[str, int]:
    ordered = sorted(rows, key=lambda row: (-accuracy(row), row.model))
    return {row.model: rank for rank, row in enumerate(ordered, start=1)}


def _ranked(row: ModelShift, original: int, new: int) -> ModelShift:
    return replace(
        row,
        original_rank=original,
        original_rank_last=original,
        new_rank=new,
        new_rank_last=new,
        rank_change=original - new,
    )


def _table_1(rows_of: Mapping[str, Rows]) -> Iterator[Cell]:
    """All rows except that of the unpublished model; models that are not in the data have no value."""
    for (where, model, column), figure in printed_figures(_PAPER).items():
        if where == "Table 1" and model != _UNPUBLISHED:
            test_set, part = column.split(", ")
            row = rows_of[test_set].get(_CIFAR_COLUMNS.get(model, model))
            yield Cell(figure, None if row is None else _PARTS[part](row))


def _unpublished_intervals() -> Iterator[Cell]:
    """The intervals of the unpublished model, from its printed accuracies."""
    for part, images in _CIFAR_SIZES.items():
        column = f"CIFAR-10, {part}"
        share = proportion(round(_printed("Table 1", _UNPUBLISHED, column).value * images / 100), images)
        for side, bound in (("low", share.low), ("high", share.high)):
            figure = _printed("Table 1", _UNPUBLISHED, f"{column} {side}")
            yield Cell(figure, 100 * bound, f"the printed accuracy of {images:,} images", CellKind.CONSTRUCTION)


def _table_2(study: Generalization) -> Iterator[Cell]:
    changes: dict[str, dict[str, float]] = {"top-1": {}, "top-5": {}}
    for name, new_set in _NEW_SETS.items():
        shift = next(shift for shift in study.shifts if shift.new_set == new_set)
        for metric, change in (("top-1", shift.mean_change), ("top-5", shift.mean_change_top5)):
            if change is not None:
                changes[metric][name] = 100 * change.value
    words = {"MatchedFrequency": "drop", "Threshold0.7": "decrease", "TopImages": "change"}
    for metric, by_set in changes.items():
        for name, points in by_set.items():
            yield Cell(_printed("Table 2", name, f"Average {metric.capitalize()} Accuracy Change"), points)
            text = _printed("Section 4 text", f"{name}, {metric}", f"average accuracy {words[name]}")
            yield Cell(text, abs(points))
        span = _printed("Section 4 text", f"TopImages to MatchedFrequency, {metric}", "accuracy decrease")
        yield Cell(span, by_set["TopImages"] - by_set["MatchedFrequency"])


def _lines(published: PublishedCounts, imagenet: Generalization, cifar: Generalization) -> Iterator[Cell]:
    """The line through each set of models that the paper may have used; it does not name them."""
    original, new = published.imagenet["imagenet-val"], published.imagenet[_NEW_SETS["MatchedFrequency"]]
    deep = [model for model in original.models if not model.startswith("fv_")]
    without_fisher = _study([SetPair(original, new)], models=deep)
    yield from _line("ImageNet top-1", "models without Fisher vectors", without_fisher)
    yield from _line("ImageNet top-1", "all models", imagenet)
    yield from _line("CIFAR-10", "all published models", cifar)
    pair = _cifar_pair(published)
    within = [model for model in pair.original.models if model != _OUTSIDE_RANGE]
    yield from _line("CIFAR-10", f"without {_OUTSIDE_RANGE}", _study([pair], models=within))
    completed = _study([_with_printed_model(pair)], models=[*within, _UNPUBLISHED])
    basis = f"without {_OUTSIDE_RANGE}, with the printed row of {_UNPUBLISHED}"
    yield from _line("CIFAR-10", basis, completed, CellKind.CONSTRUCTION)


def _with_printed_model(pair: SetPair) -> SetPair:
    """A pair of sets with the printed accuracies of the unpublished model added."""
    sets = []
    for counts, (part, images) in zip((pair.original, pair.new), _CIFAR_SIZES.items(), strict=True):
        right = round(_printed("Table 1", _UNPUBLISHED, f"CIFAR-10, {part}").value * images / 100)
        sets.append(SetCounts(counts.test_set, {**counts.models, _UNPUBLISHED: ModelCounts(right, images)}))
    return SetPair(*sets)


def _line(test_set: str, basis: str, study: Generalization, kind: CellKind = CellKind.DATA) -> Iterator[Cell]:
    line = _linear(study)
    for name, estimate, unit in (("slope", line.slope, 1), ("offset", line.intercept, 100)):
        for side, value in _sides(estimate).items():
            figure = _printed("Section 3.3 text", f"linear fit, {test_set}", name + side)
            yield Cell(figure, unit * value, basis, kind)


def _linear(study: Generalization) -> LineFit:
    fit = study.shifts[0].line(Scale.LINEAR).published
    assert fit is not None  # draws were requested
    return fit


def _sides(estimate: Estimate) -> dict[str, float]:
    return {"": estimate.value, " low": estimate.low, " high": estimate.high}


def _ranges(test_set: str, rows: Rows) -> Iterator[Cell]:
    """The sizes of the new set, and the range of accuracies and of drops over all models."""
    size = next(iter(rows.values())).new.n
    yield Cell(_printed("Section 3.2 text", f"new test set, {test_set}", "size"), size)
    for where, row, column, values in (
        ("Section 3.3 text", "original top-1 accuracies", "accuracy", [row.original.value for row in rows.values()]),
        ("Section 1 text", "accuracy drop", "drop", [row.gap.value for row in rows.values()]),
    ):
        for side, extreme in (("low", min(values)), ("high", max(values))):
            yield Cell(_printed(where, f"{row}, {test_set}", f"{column} {side}"), 100 * extreme)


def _single_models(imagenet: Rows, cifar: Rows) -> Iterator[Cell]:
    """The figures of section 3.3 for VGG and ResNet models and for the best model on ImageNet."""
    for test_set, rows, models in (
        ("CIFAR-10", cifar, ("vgg_15_BN_64", "resnet_basic_110")),
        ("ImageNet", imagenet, ("vgg19_bn", "resnet152")),
    ):
        figure = _printed("Section 3.3 text", f"drop of VGG and ResNet, {test_set}", "drop")
        for model in models:
            row = rows.get(model)
            yield Cell(figure, None if row is None else 100 * row.gap.value, model)
    best = max(imagenet.values(), key=lambda row: row.original.value)
    for metric, original, new in (("top-1", best.original, best.new), ("top-5", best.original_top5, best.new_top5)):
        if original is not None and new is not None:
            values = {
                "original accuracy": original.value,
                "new accuracy": new.value,
                "drop": original.value - new.value,
            }
            for column, value in values.items():
                yield Cell(_printed("Section 3.3 text", f"best model on ImageNet, {metric}", column), 100 * value)


def _networks(imagenet: Rows) -> Iterator[Cell]:
    """The range of original accuracies over convolutional networks without AlexNet and SqueezeNet."""
    networks = [row for name, row in imagenet.items() if not name.startswith(("fv_", "alexnet", "squeezenet"))]
    top5 = [row.original_top5.value for row in networks if row.original_top5 is not None]
    for metric, values in (("top-1", [row.original.value for row in networks]), ("top-5", top5)):
        row = f"range over convolutional networks without AlexNet and SqueezeNet, {metric}"
        yield Cell(_printed("Section 4 text", row, "accuracy range"), 100 * (max(values) - min(values)))


def _images_per_class(published: PublishedCounts) -> Iterator[Cell]:
    """The smallest and the largest number of images per class, which must both be the printed one."""
    for name, new_set in _NEW_SETS.items():
        figure = _printed("Section 4 text", f"{name}: images per class", "number")
        counts = published.images_per_class[new_set]
        yield Cell(figure, float(counts.min()), "class with the fewest")
        yield Cell(figure, float(counts.max()), "class with the most")


def _half_widths() -> Iterator[Cell]:
    """The widest Clopper-Pearson interval of an accuracy on 10,000 images."""
    counts, images = np.arange(10_001), 10_000
    row = "Clopper-Pearson interval of test accuracy at 10,000 images"
    for level, confidence in _HALF_WIDTHS.items():
        bounds = clopper_pearson(counts, images, confidence=confidence)
        widest = 100 * float((bounds.high - bounds.low).max()) / 2
        yield Cell(
            _printed("Section 2 text", row, f"half-width at {level}%"), widest, "definition", CellKind.CONSTRUCTION
        )


def _history_note(history: Path | None) -> tuple[str, ...]:
    if history is not None:
        return ()
    return (f"how the sets were built is not recomputed: there is no folder {BUILD_FOLDER} next to the predictions",)


def _notes(imagenet: Generalization, cifar: Generalization) -> tuple[str, ...]:
    return (
        f"ImageNet: {imagenet.shifts[0].models} models, three of them Fisher vectors; ranks are among all of them, "
        "equal models by name",
        f"CIFAR-10: {cifar.shifts[0].models} models, and five more in the paper, as its ranks say; {_OUTSIDE_RANGE} is "
        "less accurate than the weakest model of the paper. The line is stated with and without it. Table 1 uses "
        "version 4 of the new set, 2,021 images",
        "fv_16k: its five columns are published in reverse order in the three new sets, and are reversed on reading",
        "lines: least squares, percentile intervals of 100,000 draws of models",
    )
