"""Recht et al. 2019, Do ImageNet Classifiers Generalize to ImageNet?: Tables 1 and 2, and the lines through models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from regrade.core import Estimate
from regrade.replicate.cell import Cell, Replication
from regrade.replicate.published_ranks import ranked_by_name
from regrade.replicate.recht2019_data import Published, read_published
from regrade.replicate.recht2019_printed import (
    CIFAR,
    CIFAR_COLUMNS,
    CIFAR_LINE,
    IMAGENET,
    IMAGENET_LINE,
    MEAN_CHANGES,
    Printed,
    PrintedLine,
    PrintedRow,
)
from regrade.stats import LineFit, Scale, proportion
from regrade.studies import Generalization, ModelShift, SetPair, generalization

_MATCHED = "imagenetv2-matched-frequency"
_DRAWS = 100_000  # of models, as in the paper
_CIFAR_SIZES = (10_000, 2_021)  # of the test set and of version 4 of the new one
_TENTH, _WHOLE, _HUNDREDTH = 0.05, 0.0, 0.005  # half a unit of the last printed digit

_UNPUBLISHED = "the predictions of the AutoAugment models were not published"
_UNCHECKED = "what the paper prints could not be checked, so ours is held against nothing"
_FILTER = "the paper does not say which models its line goes through"
_CIFAR_FIT = f"the paper's line goes through more models than these 30: {_UNPUBLISHED}"
_EDGE = "on the edge of rounding: 1,879 of 2,021 gives 94.0498"


def recht2019(data: Path) -> Replication:
    """Recompute the paper's figures from the folder of its published predictions."""
    published = read_published(data)
    rng = np.random.default_rng(0)
    pairs = [SetPair(published.imagenet["imagenet-val"], published.imagenet[name]) for name in MEAN_CHANGES]
    every = generalization(pairs, rng=rng, scale=Scale.LINEAR, draws=_DRAWS, band_points=0)
    deep = [model for model in published.imagenet["imagenet-val"].models if not model.startswith("fv_")]
    without_fisher = generalization(pairs[:1], rng=rng, scale=Scale.LINEAR, standard=deep, draws=_DRAWS, band_points=0)
    cifar = _cifar_study(published, rng)
    cells = (
        *_imagenet_rows(every),
        *_cifar_rows(cifar),
        *_mean_changes(every),
        *_line("ImageNet, {} models without Fisher vectors", IMAGENET_LINE, _linear(without_fisher), _FILTER),
        *_line(
            "ImageNet, all {} models", IMAGENET_LINE, _linear(every), f"{_FILTER}; with Fisher vectors it is flatter"
        ),
        *_line("CIFAR-10, the {} published models", CIFAR_LINE, _linear(cifar), _CIFAR_FIT),
    )
    return Replication("recht2019", cells, _notes(every, cifar))


def _cifar_study(published: Published, rng: np.random.Generator) -> Generalization:
    pair = SetPair(published.cifar["cifar10.test"], published.cifar["cifar10.1-v4"])
    return generalization([pair], rng=rng, scale=Scale.LINEAR, draws=_DRAWS, band_points=0)


def _imagenet_rows(study: Generalization) -> Iterator[Cell]:
    rows = ranked_by_name(study.of(_MATCHED))
    for model, printed in IMAGENET.items():
        yield from _row("Table 1, ImageNet", model, printed, rows.get(model), {})


def _cifar_rows(study: Generalization) -> Iterator[Cell]:
    rows = ranked_by_name(study.rows)
    for model, printed in CIFAR.items():
        why = {"new accuracy, high": _EDGE} if model == "shake_shake_64d_cutout" else {}
        found = rows.get(CIFAR_COLUMNS.get(model, model))
        if found is None:
            yield from _unpublished_row("Table 1, CIFAR-10", model, printed)
        else:
            yield from _row("Table 1, CIFAR-10", model, printed, found, why)


_Part = tuple[str, float | None, float | None, float]  # name, as printed, as recomputed, tolerance


def _row(table: str, model: str, printed: PrintedRow, ours: ModelShift | None, why: Mapping[str, str]) -> list[Cell]:
    """The ten cells of a row; of a model that is not in the data nothing is recomputed."""
    parts = [
        *_interval("original accuracy", printed.original, ours.original if ours else None),
        *_interval("new accuracy", printed.new, ours.new if ours else None),
        ("gap", None, 100 * ours.gap.value if ours else None, _TENTH),
        ("original rank", printed.original_rank, ours.original_rank if ours else None, _WHOLE),
        ("new rank", printed.new_rank, ours.new_rank if ours else None, _WHOLE),
        ("rank change", printed.rank_change, ours.rank_change if ours else None, _WHOLE),
    ]
    return [
        Cell(table, f"{model}, {name}", value, mine, near, why.get(name, "" if value is not None else _UNCHECKED))
        for name, value, mine, near in parts
    ]


def _unpublished_row(table: str, model: str, printed: PrintedRow) -> list[Cell]:
    """A row without predictions: the intervals rest on the printed accuracies, the rest cannot be recomputed."""
    cells = []
    for name, values, n in zip(
        ("original accuracy", "new accuracy"), (printed.original, printed.new), _CIFAR_SIZES, strict=True
    ):
        found = proportion(round(values[0] * n / 100), n)
        for part, value, bound, near in _interval(name, values, found):
            ours = None if part == name else bound
            told = part if part == name else f"{part}, from the printed accuracy"
            cells.append(Cell(table, f"{model}, {told}", value, ours, near, _UNPUBLISHED))
    return cells


def _interval(name: str, printed: Printed, ours: Estimate | None) -> list[_Part]:
    """A value and its bounds, as printed and as recomputed in percent, with the tolerance."""
    names = (name, f"{name}, low", f"{name}, high")
    found = (None,) * 3 if ours is None else tuple(100 * value for value in (ours.value, ours.low, ours.high))
    return [(part, value, mine, _TENTH) for part, value, mine in zip(names, printed, found, strict=True)]


def _mean_changes(study: Generalization) -> Iterator[Cell]:
    for shift in study.shifts:
        for name, value, found in zip(
            ("top-1", "top-5"), MEAN_CHANGES[shift.new_set], (shift.mean_change, shift.mean_change_top5), strict=True
        ):
            ours = None if found is None else 100 * found.value
            yield Cell("Table 2", f"{shift.new_set}, mean change of {name}", value, ours, _TENTH)


def _linear(study: Generalization) -> LineFit:
    fit = study.shifts[0].line(Scale.LINEAR).published
    assert fit is not None  # draws were asked for
    return fit


def _line(models: str, printed: PrintedLine, ours: LineFit, why: str) -> Iterator[Cell]:
    table = f"Line, {models.format(ours.slope.n)}"
    for name, values, found, unit, near in (
        ("slope", printed.slope, ours.slope, 1, _HUNDREDTH),
        ("offset", printed.offset, ours.intercept, 100, _TENTH),
    ):
        for part, value, mine in zip(
            ("", ", low", ", high"), values, (found.value, found.low, found.high), strict=True
        ):
            yield Cell(table, f"{name}{part}", value, unit * mine, near, why)


def _notes(imagenet: Generalization, cifar: Generalization) -> tuple[str, ...]:
    return (
        f"ImageNet: {imagenet.shifts[0].models} models; ranks are among them, equal models by name",
        f"CIFAR-10: {cifar.shifts[0].models} models; Table 1 uses version 4 of the new set, 2,021 images",
        "fv_16k: its five columns are published in reverse in the three new sets, and are turned round here",
        "lines: least squares, percentile intervals of 100,000 draws of models",
        "as printed: accuracies and intervals of Table 1 were written down from memory of the paper, not from a copy",
    )
