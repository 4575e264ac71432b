"""Grades under corruptions: error by corruption, mCE and relative mCE, with intervals over images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, InputError, MismatchError, Predictions, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.record import Record
from regrade.metrics import (
    ALEXNET_CLEAN_ERROR,
    ALEXNET_ERRORS,
    mean_corruption_error,
    relative_mean_corruption_error,
)
from regrade.stats import (
    below_others_p_values,
    bonferroni_confidence,
    clustered_mean,
    clustered_share,
    mark_simultaneous,
    proportion,
    significantly_below,
)
from regrade.studies.image_clusters import ImageClusters, mean_credit
from regrade.studies.scoring import EVERYTHING, Scoring

_SEVERITIES = ("1", "2", "3", "4", "5")


@dataclass(frozen=True)
class CorruptionRow:
    """One model under one corruption, or under all of them; undefined values are None.

    ``error`` is the mean over severities. ``ratio`` is that error divided by AlexNet's (CE; mCE for all corruptions).
    ``relative`` uses the errors in excess of those on ``clean`` images instead (relative CE and relative mCE).
    """

    model: str
    corruption: str
    error: Estimate
    ratio: Estimate | None
    relative: Estimate | None
    clean: Estimate | None


@dataclass(frozen=True)
class Extreme(Record):
    """The lowest or highest of several, and ``open``: those from which no difference is shown."""

    name: str
    open: tuple[str, ...]

    def json_fields(self) -> dict[str, Any]:
        """The fields, with whether it is settled."""
        return {**super().json_fields(), "settled": self.settled}

    @property
    def settled(self) -> bool:
        """Whether it is shown to differ from every other."""
        return not self.open


@dataclass(frozen=True, repr=False)
class CorruptionGrade(Tabular, records="rows"):
    """The grade of all models under corruptions, the most robust first.

    ``most_robust`` is the most robust model and ``hardest`` the hardest corruption for it, by paired tests over images,
    corrected for all comparisons; None if there is nothing to compare.
    """

    test_set: str
    clean: str | None
    rows: tuple[CorruptionRow, ...]
    notes: tuple[str, ...]
    most_robust: Extreme | None = None
    hardest: Extreme | None = None

    def table(self) -> Table:
        """One row per model and corruption; empty columns are left out."""
        keys = [key for key in _HEADINGS if any(getattr(row, key) is not None for row in self.rows)]
        rows = tuple(tuple(getattr(row, key) for key in keys) for row in self.rows)
        columns = tuple(Column(key, _HEADINGS[key]) for key in keys)
        return Table(f"{self.test_set}: errors under corruptions, in %", columns, rows, self.notes)


_HEADINGS = {
    "model": "model",
    "corruption": "corruption",
    "error": "error",
    "ratio": "CE (all: mCE)",
    "relative": "relative CE",
    "clean": "error, clean",
}


@dataclass(frozen=True, eq=False)
class CleanCorrectness:
    """Which examples of a clean test set each model predicts correctly, by model."""

    test_set: TestSet
    right: Mapping[str, BoolArray]


def corruption_grade(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    clean: CleanCorrectness | None = None,
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> CorruptionGrade:
    """Grade models on a test set with group columns ``corruption`` and ``severity``.

    Every image must exist under every corruption and severity of the set. Intervals treat images as clusters, since
    the corrupted versions of an image are not independent. The group column ``image`` names the image of an example;
    without it, the id after ``corruption/severity/`` does. Images without a label are left out. With ``clusters``,
    intervals and tests are over clusters of images.
    """
    frame = corruption_frame(test_set)
    numbers = np.arange(len(frame.images)) if clusters is None else clusters.numbers[frame.positions[:, 0, 0]]
    models = [
        _corrupted_model(frame, model_predictions, scoring, clean, clusters=numbers, confidence=confidence)
        for model_predictions, scoring in predictions
    ]
    if not models:
        raise InputError(
            f"no model has predictions on {test_set.name} yet: regrade predict, or regrade import predictions"
        )
    models.sort(key=lambda model: (_robustness(model.rows[0]), model.name))
    rows = tuple(row for model in models for row in model.rows)
    return CorruptionGrade(
        test_set.name,
        clean.test_set.name if clean else None,
        rows,
        (*_notes(frame, rows, clean), *_cluster_notes(frame, clusters)),
        _most_robust(models, numbers, 1 - confidence),
        _hardest(frame, models[0], numbers, 1 - confidence),
    )


@dataclass(frozen=True, eq=False)
class _CorruptedModel:
    """One model: its rows, and each image's score over all corruptions (images,) and error under each (images, c).

    Both are NaN for images that are not scored.
    """

    name: str
    rows: list[CorruptionRow]
    scores: FloatArray
    errors: FloatArray


def _corrupted_model(
    frame: CorruptionFrame,
    predictions: Predictions,
    scoring: Scoring,
    clean: CleanCorrectness | None,
    *,
    clusters: IntArray,
    confidence: float,
) -> _CorruptedModel:
    counted = np.asarray((scoring.counted & predictions.counted)[frame.positions].all(axis=(1, 2)))
    wrong = ~scoring.top_k(predictions, 1).right[frame.positions[counted]]
    clean_wrong = _clean_wrong(frame, counted, clean, predictions.model)
    errors = np.full((len(counted), len(frame.corruptions)), np.nan)
    errors[counted] = wrong.mean(axis=2)
    scores = errors.mean(axis=1)
    if frame.reference_corruptions.size:
        scores[counted] = mean_corruption_error(
            wrong[:, frame.reference_corruptions].astype(float), frame.reference_errors
        )
    rows = _model_rows(frame, predictions.model, wrong, clean_wrong, clusters=clusters[counted], confidence=confidence)
    return _CorruptedModel(predictions.model, rows, scores, errors)


def _model_rows(
    frame: CorruptionFrame,
    model: str,
    wrong: BoolArray,
    clean_wrong: BoolArray | None,
    *,
    clusters: IntArray,
    confidence: float,
) -> list[CorruptionRow]:
    """All corruptions first, then each one, with simultaneous intervals."""
    referred, reference = frame.reference_corruptions, frame.reference_errors
    overall = CorruptionRow(
        model,
        EVERYTHING,
        _error(wrong, clusters, confidence),
        _mce(wrong[:, referred], reference, clusters, confidence),
        _relative(wrong[:, referred], clean_wrong, reference, clusters, confidence),
        None if clean_wrong is None else _clean_error(clean_wrong, clusters, confidence),
    )
    kinds = len(frame.corruptions)
    each = bonferroni_confidence(kinds, confidence)
    rows = [overall]
    for number, name in enumerate(frame.corruptions):
        mine = referred == number
        error = mark_simultaneous(_error(wrong[:, [number]], clusters, each), kinds, confidence=confidence)
        relative = _relative(wrong[:, referred[mine]], clean_wrong, reference[mine], clusters, each)
        rows.append(
            CorruptionRow(
                model,
                name,
                error,
                _divided(error, ALEXNET_ERRORS[name]) if mine.any() else None,
                relative and mark_simultaneous(relative, kinds, confidence=confidence),
                None,
            )
        )
    return rows


def _robustness(row: CorruptionRow) -> float:
    return (row.ratio or row.error).value


def _most_robust(models: list[_CorruptedModel], clusters: IntArray, level: float) -> Extreme | None:
    """The first model, and those it is not shown to beat on the images scored for all models."""
    scores = np.stack([model.scores for model in models])
    inside = np.isfinite(scores).all(axis=0)
    return _extreme([model.name for model in models], _totals(scores[:, inside], clusters[inside]), 0, level)


def _hardest(frame: CorruptionFrame, model: _CorruptedModel, clusters: IntArray, level: float) -> Extreme | None:
    """The corruption with the highest error of a model, and those that are not shown to be milder."""
    inside = np.isfinite(model.scores)
    errors = model.errors[inside].T
    place = int(errors.mean(axis=1).argmax()) if errors.size else 0
    return _extreme(frame.corruptions, _totals(-errors, clusters[inside]), place, level)


def _totals(values: FloatArray, clusters: IntArray) -> FloatArray:
    """Shape (g, c): the sums of ``values`` (g, n) over each cluster, which paired tests compare."""
    members, sizes = np.unique(clusters, return_inverse=True, return_counts=True)[1:]
    return values if (sizes == 1).all() else np.stack([np.bincount(members, row) for row in values])


def _extreme(names: Sequence[str], values: FloatArray, place: int, level: float) -> Extreme | None:
    """The lowest row of ``values`` (g, n), tested against the other rows."""
    if len(names) < 2 or not values.shape[1]:
        return None
    apart = significantly_below(below_others_p_values(values, place), level=level)
    rest = (name for number, name in enumerate(names) if number != place and not apart[number])
    return Extreme(names[place], tuple(rest))


def _error(wrong: BoolArray, clusters: IntArray, confidence: float) -> Estimate:
    """The error rate over (images, corruptions, severities), with images, or clusters of them, as clusters."""
    images = np.repeat(clusters, wrong[0].size) if len(wrong) else np.arange(0)
    return clustered_share(wrong.ravel(), images, confidence=confidence)


def _clean_error(wrong: BoolArray, clusters: IntArray, confidence: float) -> Estimate:
    """The error rate on the clean images; exact if there is one image per cluster."""
    several = len(np.unique(clusters)) < len(clusters)
    return mean_credit(wrong, clusters if several else None, confidence=confidence)


def _mce(wrong: BoolArray, reference: FloatArray, clusters: IntArray, confidence: float) -> Estimate | None:
    if not reference.size:
        return None
    most = float((1 / reference).mean())
    return _over_images(mean_corruption_error(wrong.astype(float), reference), (0.0, most), clusters, confidence)


def _relative(
    wrong: BoolArray, clean_wrong: BoolArray | None, reference: FloatArray, clusters: IntArray, confidence: float
) -> Estimate | None:
    if clean_wrong is None or not reference.size:
        return None
    each = relative_mean_corruption_error(
        wrong.astype(float), reference, clean=clean_wrong.astype(float), reference_clean=ALEXNET_CLEAN_ERROR
    )
    most = float((1 / (reference - ALEXNET_CLEAN_ERROR)).mean())
    return _over_images(each, (-most, most), clusters, confidence)


def _over_images(values: FloatArray, bounds: tuple[float, float], clusters: IntArray, confidence: float) -> Estimate:
    """The mean of per-image values: mCE and relative mCE are linear in the errors.

    If all images have the same value, their spread is uninformative. The interval then allows for a share of clusters,
    bounded exactly, that may lie anywhere within ``bounds``.
    """
    estimate = clustered_mean(values, clusters, confidence=confidence)[0]
    low, high = estimate.low, estimate.high
    if np.ptp(values) < 1e-12:
        members = len(np.unique(clusters))
        unseen = 1 - proportion(members, members, confidence=confidence).low
        low, high = (estimate.value + unseen * (bound - estimate.value) for bound in bounds)
    return replace(estimate, low=max(low, bounds[0]), high=min(high, bounds[1]))


def _divided(estimate: Estimate, by: float) -> Estimate:
    return replace(estimate, value=estimate.value / by, low=estimate.low / by, high=estimate.high / by)


def _clean_wrong(
    frame: CorruptionFrame, counted: BoolArray, clean: CleanCorrectness | None, model: str
) -> BoolArray | None:
    """Shape (images,): which clean images a model predicts wrongly."""
    if clean is None or model not in clean.right:
        return None
    images = [image for image, counts in zip(frame.images, counted, strict=True) if counts]
    missing = [image for image in images if image not in clean.test_set.position_of]
    if missing:
        raise MismatchError(
            f"{len(missing):,} of {len(images):,} images are not in {clean.test_set.name}, for instance {missing[0]!r}"
        )
    return ~clean.right[model][[clean.test_set.position_of[image] for image in images]]


def _cluster_notes(frame: CorruptionFrame, clusters: ImageClusters | None) -> tuple[str, ...]:
    if clusters is None:
        return ()
    inside = np.zeros(len(clusters.numbers), dtype=bool)
    inside[frame.positions[:, 0, 0]] = True  # one version of each image
    return clusters.notes(inside)


def _notes(frame: CorruptionFrame, rows: Sequence[CorruptionRow], clean: CleanCorrectness | None) -> tuple[str, ...]:
    methods = sorted({e.method for row in rows for e in (row.error, row.ratio, row.relative) if e})
    notes = [f"intervals over {amount(len(frame.images), 'image')}: {', '.join(methods)}"]
    if not frame.reference_corruptions.size:
        notes.append("no CE: AlexNet's published errors are means over all five severities of ImageNet-C's corruptions")
    else:
        notes.append(
            "CE: the error over AlexNet's on the released ImageNet-C; mCE is their mean over "
            f"{len(frame.reference_corruptions)} of the {len(ALEXNET_ERRORS)} corruptions"
        )
    if len(frame.corruptions) > 1:
        notes.append(f"intervals of corruptions hold for all {len(frame.corruptions):,} of a model together")
    if clean:
        notes.append(f"clean: the same images of {clean.test_set.name}; relative CE: in excess of the clean error")
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class CorruptionFrame:
    """``positions`` (images, corruptions, severities) in the test set; each combination occurs exactly once."""

    images: tuple[str, ...]
    corruptions: tuple[str, ...]
    severities: tuple[str, ...]
    positions: IntArray

    @cached_property
    def reference_corruptions(self) -> IntArray:
        """Indices of the corruptions for which AlexNet's error is published; empty unless all five severities exist."""
        published = [number for number, name in enumerate(self.corruptions) if name in ALEXNET_ERRORS]
        return np.array(published if self.severities == _SEVERITIES else [], dtype=int)

    @property
    def reference_errors(self) -> FloatArray:
        """AlexNet's errors under the reference corruptions."""
        return np.array([ALEXNET_ERRORS[self.corruptions[number]] for number in self.reference_corruptions])


def corruption_frame(test_set: TestSet) -> CorruptionFrame:
    """Index a test set with group columns ``corruption`` and ``severity``; missing combinations raise.

    The group column ``image`` names the image of an example; without it, the id after ``corruption/severity/`` does.
    """
    for column in ("corruption", "severity"):
        if column not in test_set.groups:
            raise InputError(
                f"test set {test_set.name} has no group column {column!r}: create one with regrade testsets corrupt"
            )
    images, image_of = _coded(_images(test_set), sorted)
    corruptions, corruption_of = _coded(test_set.groups["corruption"], _paper_order)
    severities, severity_of = _coded(test_set.groups["severity"], sorted)
    positions = np.full((len(images), len(corruptions), len(severities)), -1)
    positions[image_of, corruption_of, severity_of] = np.arange(len(test_set))
    missing = np.argwhere(positions < 0)
    if len(missing):
        image, corruption, severity = missing[0].tolist()
        raise InputError(
            f"test set {test_set.name} lacks {corruptions[corruption]} of severity {severities[severity]} for image "
            f"{images[image]!r}: add the missing examples, every image is needed under every corruption and severity"
        )
    if len(test_set) > positions.size:
        raise InputError(f"test set {test_set.name} has an image twice under the same corruption and severity")
    return CorruptionFrame(images, corruptions, severities, positions)


def _images(test_set: TestSet) -> Sequence[str]:
    """The image that each example was made from."""
    if "image" in test_set.groups:
        return test_set.groups["image"]
    kinds = zip(test_set.groups["corruption"], test_set.groups["severity"], strict=True)
    prefixes = [f"{corruption}/{severity}/" for corruption, severity in kinds]
    if not all(example.startswith(prefix) for example, prefix in zip(test_set.ids, prefixes, strict=True)):
        raise InputError(
            f"test set {test_set.name} does not say which examples show the same image: add a group column 'image'"
        )
    return [example.removeprefix(prefix) for example, prefix in zip(test_set.ids, prefixes, strict=True)]


def _coded(values: Sequence[str], in_order: Callable[[set[str]], list[str]]) -> tuple[tuple[str, ...], IntArray]:
    """The distinct values in order, and for each value its index among them."""
    names = in_order(set(values))
    number_of = {name: number for number, name in enumerate(names)}
    return tuple(names), np.array([number_of[value] for value in values])


def _paper_order(names: set[str]) -> list[str]:
    """Corruptions of ImageNet-C in the order of the paper, then all others by name."""
    return [name for name in ALEXNET_ERRORS if name in names] + sorted(names - set(ALEXNET_ERRORS))
