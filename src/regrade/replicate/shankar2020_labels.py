"""Shankar et al. 2020, Figure 4 and Section 3.2: images with several labels, and multi-label against top-k accuracy.

Recomputed from version 3 of the annotations and the models of recht2019: later labels and fewer models than printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.metrics import MultilabelRule
from regrade.replicate.annotations import PREDICTIONS, Annotations
from regrade.replicate.cell import Cell, PrintedFigure, printed_figure
from regrade.stats import quantile
from regrade.studies import Multilabel, MultilabelScoring, ReviewedLabels, Scoring
from regrade.studies.multilabel.analysis import multilabel
from regrade.studies.multilabel.kinds import RightLabels

_VERSION = "annotations, version 3"
_ROUNDED_TO_TENS = 5.0  # half a unit of a share that the introduction rounds to tens

_printed = partial(printed_figure, "shankar2020")


def label_cells(annotations: Annotations) -> Iterator[Cell]:
    """The numbers of annotated images, and the shares of those with several right labels."""
    validation, new = len(annotations.test_set), annotations.new_images
    for where, row, count in (
        ("Section 2 text", "phase 1: annotated ImageNet validation images", validation),
        ("Section 2 text", "phase 1: annotated ImageNetV2 images", new),
        ("Section 3.2 text", "images reviewed (ImageNet and ImageNetV2)", validation + new),
        ("Section 3.2 text", "images in the categorization", validation + new),
    ):
        yield Cell(_printed(where, row, "number"), count, _VERSION)
    labels = annotations.labels
    right = RightLabels.of(labels, annotations.test_set.class_space, labels.scored)
    share = 100 * float(right.several[labels.scored].mean())
    figure = _printed("Section 3.2 text", "ImageNet validation images with more than one correct label", "share")
    yield Cell(figure, share, _VERSION)
    figure = _printed("Section 1 text", "images with more than one valid label", "share")
    yield Cell(figure, share, f"{_VERSION}; printed in tens", within=_ROUNDED_TO_TENS)
    mean = float(right.counts[right.several].mean()) if right.several.any() else None
    figure = _printed("Section 3.2 text", "correct labels per image among images with several", "mean")
    yield Cell(figure, mean, _VERSION)


def median_cells(annotations: Annotations) -> Iterator[Cell]:
    """The median changes from top-1 and top-5; the tolerance is how far a median of other models may lie."""
    study = changes(annotations, MultilabelRule.IMAGES)
    basis = f"{len(study.rows)} models, {_VERSION}"
    top5 = [row.top5_change for row in study.rows if row.top5_change is not None]
    for where in ("Section 3.2 text", "Figure 4 caption"):
        figure = _printed(where, "multi-label minus top-1 accuracy over models", "median")
        tolerance = _tolerance([row.change for row in study.rows], figure)
        yield Cell(figure, 100 * study.change.value, basis, within=tolerance)
        if study.top5_change:
            figure = _printed(where, "top-5 minus multi-label accuracy over models", "median")
            yield Cell(figure, -100 * study.top5_change.value, basis, within=_tolerance(top5, figure))


def changes(annotations: Annotations, rule: MultilabelRule) -> Multilabel:
    """The study of the published models on the annotated validation images."""
    scored = ((predictions, Scoring(annotations.test_set)) for predictions in annotations.predictions())
    labels = ReviewedLabels(MultilabelScoring(annotations.labels, rule))
    return multilabel(annotations.test_set, scored, labels, rng=np.random.default_rng(0))


def label_notes(annotations: Annotations) -> tuple[str, ...]:
    """What differs from the paper, and the medians with unclear classes accepted."""
    scored = int(annotations.labels.scored.sum())
    notes = (
        f"annotations: version 3, in which Vasudevan et al. 2022 revised labels; {scored:,} validation images are not "
        "problematic and count here. The paper used an earlier version: a miss of a share or of a mean number of "
        "labels, which keep the printed tolerance, can be due to it",
    )
    if not annotations.labeled:
        return (*notes, f"medians over models: not recomputed, no {PREDICTIONS} in or next to the data")
    accepted = changes(annotations, MultilabelRule.CLASSES)
    top5 = accepted.top5_change
    further = f", top-5 minus multi-label {-100 * top5.value:+.1f}" if top5 else ""
    return (
        *notes,
        f"medians: over {len(accepted.rows)} models of recht2019 instead of 72, compared within the distribution-free "
        "95% interval of a median over models; correct classes count. With unclear classes accepted too, multi-label "
        f"minus top-1 is {100 * accepted.change.value:+.1f}{further} points",
    )


def _tolerance(values: list[Estimate], figure: PrintedFigure) -> float:
    """How far, in points, the interval of the median over a sample of models reaches; at least the printed unit."""
    try:
        median = quantile([estimate.value for estimate in values], 0.5)
    except UndefinedError:
        return figure.half_unit
    return max(figure.half_unit, 100 * (median.high - median.value), 100 * (median.value - median.low))
