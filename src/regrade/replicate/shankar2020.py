"""Shankar et al. 2020, Evaluating Machine Accuracy on ImageNet: what follows from its printed and released figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import floor
from pathlib import Path
from statistics import mean

import numpy as np

from regrade.classes import imagenet_1k
from regrade.replicate.annotations import ANNOTATIONS, read_annotations
from regrade.replicate.cell import (
    Cell,
    CellKind,
    CellOutcome,
    PrintedFigure,
    Replication,
    printed_figure,
    printed_figures,
)
from regrade.replicate.shankar2020_labels import label_cells, label_notes, median_cells
from regrade.stats import mcnemar, proportion
from regrade.stats.intervals import exact_bounds

_PAPER = "shankar2020"
_SETS = ("Original", "V2")
_HUMANS = tuple(f"Human {letter}" for letter in "ABCDE")
_BEST_MODEL, _BEST_MODEL_IN_TABLE_2 = "FixRes", "FixResNeXt"
_IN_TABLE_2 = {"ResNet50": "resnet50", _BEST_MODEL: _BEST_MODEL_IN_TABLE_2}
_SIZES = (984, 980)
_OTHER_SIZES = (982, 978)

Counts = Mapping[str, tuple[int, int]]
"""Correct predictions of each model and answers of each labeler on the two sets."""

_COUNTS: Counts = {
    "ResNet50": (828, 742),
    "AdvProp": (921, 865),
    "FixRes": (940, 878),
    "Human A": (904, 893),
    "Human B": (932, 920),
    "Human C": (947, 948),
    "Human D": (942, 929),
    "Human E": (957, 946),
}  # from the accuracies in the authors' released notebook (AdvProp: from its printed accuracies)

_DISCORDANT = {
    "McNemar test, FixResNeXt against Human E, ImageNet validation": (38, 21),
    "McNemar test, FixResNeXt against Human B, ImageNetV2": (81, 39),
}  # images that only the labeler and only the model gets right: not printed, but the difference follows from Table 1

_CLASSES = {
    ("Section 4.1 text", "animal classes"): "organisms",
    ("Section 4.1 text", "object categories"): "objects",
    ("Section 4.1 text", "dog classes"): "dogs",
}

_printed = partial(printed_figure, _PAPER)
_cell = partial(Cell, kind=CellKind.CONSTRUCTION)


def shankar2020(data: Path | None = None) -> Replication:
    """Recompute what follows from the printed figures, and from the annotations if the folder has them.

    The labelers' answers are not used.
    """
    annotations = None if data is None else read_annotations(data)
    cells = (
        *_table_1(_COUNTS, _SIZES),
        *_proper_intervals(),
        *_table_2(),
        *_fast_images(),
        *_comparisons(),
        *_gains(),
        *_tests(),
        *_counts(),
        *(label_cells(annotations) if annotations else ()),
        *(median_cells(annotations) if annotations and annotations.labeled else ()),
    )
    if annotations is None:
        return Replication.of(_PAPER, cells, _notes(), missing=ANNOTATIONS)
    return Replication.of(_PAPER, cells, (*_notes(), *label_notes(annotations)))


def _table_1(counts: Counts, sizes: tuple[int, int]) -> Iterator[Cell]:
    """Accuracies, gaps and intervals, rounded twice; those of V2 with the sizes of the two sets mixed up."""
    basis = f"{sizes[0]} and {sizes[1]} images"
    for name, (original_right, new_right) in counts.items():
        original, new = proportion(original_right, sizes[0]), proportion(new_right, sizes[1])
        mixed = exact_bounds(np.array(new.value * sizes[0]), np.array(float(sizes[1])), confidence=0.95)
        shares = {
            "Original": original.value,
            "Original low": original.low,
            "Original high": original.high,
            "V2": new.value,
            "V2 low": float(mixed.low),
            "V2 high": float(mixed.high),
            "Gap": original.value - new.value,
        }
        for column, share in shares.items():
            how = f"{basis}, sizes mixed up" if column in ("V2 low", "V2 high") else basis
            yield _cell(_printed("Table 1", name, column), _rounded_twice(100 * share), how)


def _rounded_twice(percent: float) -> float:
    """Rounded to hundredths and then to tenths, half up, which matches more printed figures than rounding once."""
    hundredths = floor(100 * percent + 0.5)
    return floor(hundredths / 10 + 0.5) / 10


def _proper_intervals() -> Iterator[Cell]:
    for name, (_, right) in _COUNTS.items():
        share = proportion(right, _SIZES[1])
        for side, bound in (("low", share.low), ("high", share.high)):
            yield _cell(_printed("Table 1", name, f"V2 {side}"), 100 * bound, f"{_SIZES[1]} images")


def _table_2() -> Iterator[Cell]:
    for name, rights in _COUNTS.items():
        for test_set, right, size in zip(_SETS, rights, _SIZES, strict=True):
            figure = _printed("Table 2", _IN_TABLE_2.get(name, name), f"All Images, {test_set}")
            yield _cell(figure, _rounded_twice(100 * right / size), f"{size} images")


def _fast_images() -> Iterator[Cell]:
    """Whether any count of the printed number of fast images gives the accuracies of Table 2 on them."""
    for test_set, row in zip(_SETS, ("fast images, ImageNet", "fast images, ImageNetV2"), strict=True):
        size = int(_printed("Section 5 text", row, "number").value)
        for name in _COUNTS:
            figure = _printed("Table 2", _IN_TABLE_2.get(name, name), f"Fast Images, {test_set}")
            nearest = round(figure.value * size / 100)
            yield _cell(figure, 100 * nearest / size, f"the nearest count of {size} images")


def _comparisons() -> Iterator[Cell]:
    """Sentences that compare models and labelers in Table 1, or on objects in Table 2."""
    gaps = {name: _printed("Table 1", name, "Gap").value for name in _COUNTS}
    models = [gap for name, gap in gaps.items() if name not in _HUMANS]
    row = "all models in the testbed, multi-label accuracy drop to ImageNetV2"
    yield _cell(_printed("Section 1 text", row, "drop low"), min(models), "Table 1")
    yield _cell(_printed("Section 1 text", row, "drop high"), max(models), "Table 1")
    largest = max(abs(gaps[name]) for name in _HUMANS)
    figure = _printed("Section 5 text", "human labelers, accuracies on the two datasets", "largest difference")
    yield _cell(figure, largest, "Table 1")
    figure = _printed("Section 5 text", "human labelers better than the best model on both sets", "number")
    yield _cell(figure, len([name for name in _HUMANS if _is_better(name)]), "Table 1")
    row = "best human labelers whose ImageNet interval overlaps the best model's"
    yield _cell(
        _printed("Section 5 text", row, "number"), len([name for name in _HUMANS if _overlaps(name)]), "Table 1"
    )
    for test_set, column in zip(_SETS, ("ImageNet", "ImageNetV2"), strict=True):
        objects = {name: _accuracy(name, "Objects Only", test_set) for name in (*_HUMANS, _BEST_MODEL_IN_TABLE_2)}
        model = objects.pop(_BEST_MODEL_IN_TABLE_2)
        yield _cell(_printed("Section 1 text", "best network, object classes", column), model, "Table 2")
        figure = _printed("Abstract", "human minus best model, object classes", column)
        yield _cell(figure, max(objects.values()) - model, "Table 2")


def _is_better(name: str) -> bool:
    return all(
        _printed("Table 1", name, column).value > _printed("Table 1", _BEST_MODEL, column).value for column in _SETS
    )


def _overlaps(name: str) -> bool:
    return _printed("Table 1", name, "Original high").value >= _printed("Table 1", _BEST_MODEL, "Original low").value


def _accuracy(name: str, images: str, test_set: str) -> float:
    return _printed("Table 2", name, f"{images}, {test_set}").value


def _gains() -> Iterator[Cell]:
    """What labelers and the best model gain on a part of the images, from the tenths of Table 2."""
    for images, prefix, model_row, sign in (
        ("Without Dogs", "without dogs", "accuracy increase of the best model", 1),
        ("Objects Only", "objects only", "accuracy decrease of the best model", -1),
    ):
        for test_set, column in zip(_SETS, ("ImageNet", "ImageNetV2"), strict=True):
            gain = {
                name: _accuracy(name, images, test_set) - _accuracy(name, "All Images", test_set)
                for name in (*_HUMANS, _BEST_MODEL_IN_TABLE_2)
            }
            labelers = _printed("Section 5 text", f"{prefix}, mean accuracy increase of human labelers", column)
            yield _cell(labelers, mean(gain[name] for name in _HUMANS), "Table 2")
            model = _printed("Section 5 text", f"{prefix}, {model_row}", column)
            yield _cell(model, sign * gain[_BEST_MODEL_IN_TABLE_2], "Table 2")


def _tests() -> Iterator[Cell]:
    for row, (labeler, model) in _DISCORDANT.items():
        p_value = float(mcnemar(labeler, model).corrected)
        yield _cell(_printed("Section 5 text", row, "p-value"), p_value, f"{labeler} to {model}, continuity correction")


def _counts() -> Iterator[Cell]:
    """Shares of fast images, the split of classes, and the parts of the last review."""
    for test_set, size in zip(("ImageNet", "ImageNetV2"), _SIZES, strict=True):
        row = f"fast images, {test_set}"
        fast = _printed("Section 5 text", row, "number").value
        yield _cell(_printed("Section 5 text", row, "share of images"), 100 * fast / size, f"of {size} images")
    space = imagenet_1k()
    for (where, row), group in _CLASSES.items():
        yield _cell(_printed(where, row, "number"), len(space.group(group)), "WordNet")
    figure = _printed("Section 5 text", "non-dog classes", "number")
    yield _cell(figure, len(space) - len(space.group("dogs")), "WordNet")
    parts = ("unchanged", "added", "modified")
    reviewed = [
        _printed("Section 4.3 text", f"images with labels {part} in the final review", "number") for part in parts
    ]
    images = _printed("Section 4.3 text", "human predictions reviewed after labeling, images", "number")
    yield _cell(images, sum(figure.value for figure in reviewed), "sum of the parts")
    annotated = ("ImageNet validation", "ImageNetV2")
    sets = [_printed("Section 2 text", f"phase 1: annotated {name} images", "number").value for name in annotated]
    figure = _printed("Section 3.2 text", "images reviewed (ImageNet and ImageNetV2)", "number")
    yield _cell(figure, sum(sets), "sum of the sets")


def _rounded_counts(sizes: tuple[int, int]) -> Counts:
    """The counts nearest to the printed accuracies of Table 1."""

    def right(figure: PrintedFigure, size: int) -> int:
        return round(figure.value * size / 100)

    return {
        name: (right(_printed("Table 1", name, "Original"), sizes[0]), right(_printed("Table 1", name, "V2"), sizes[1]))
        for name in _COUNTS
    }


def _matches(counts: Counts, sizes: tuple[int, int]) -> int:
    return sum(cell.outcome is CellOutcome.MATCH for cell in _table_1(counts, sizes))


def _notes() -> tuple[str, ...]:
    figures = sum(where == "Table 1" for where, *_ in printed_figures(_PAPER))
    fits = " and ".join(
        f"{sizes[0]} and {sizes[1]} give {_matches(counts, sizes)} of the {figures} figures of Table 1"
        for counts, sizes in ((_COUNTS, _SIZES), (_rounded_counts(_OTHER_SIZES), _OTHER_SIZES))
    )
    return (
        "the answers of the labelers and the predictions of the paper's models are not used: figures by construction "
        "rest on printed ones, and on the accuracies in the authors' released notebook",
        f"the paper does not print how many images of the two sets were scored: {fits}, rounded to hundredths and "
        "then to tenths, intervals on V2 with the sizes mixed up. Only the 97.2 of Human E in Table 2 fits 982 better",
        "McNemar: how many images tell labeler and model apart is not printed; the counts here have the difference "
        "that the accuracies give, and no counts with it bring another variant of the test to 0.037",
    )
