"""The grade: accuracies of every model with intervals, by slice, against original and multi-label references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import numpy as np

from regrade.core import (
    NO_ANSWER,
    Answerer,
    Estimate,
    InputError,
    Predictions,
    TestSet,
    UndefinedError,
)
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import bonferroni_confidence, calibration_error
from regrade.studies.grade.clustered import images_worth, slice_dependence
from regrade.studies.grade.metrics import GradedImages, GradeMetric, graded_images, stored_confidences
from regrade.studies.grade.replicates import ReplicateRuns, SeedMeans, SeedRun, seed_means
from regrade.studies.grade.result import Grade, GradeRow
from regrade.studies.image_clusters import ImageClusters, share_of
from regrade.studies.multilabel_grade import NOT_JUDGED, ReviewedLabels, grade_multilabel
from regrade.studies.review import problem_notes
from regrade.studies.scoring import EVERYTHING, Scoring, TopK
from regrade.studies.seeded_methods import SeededMethod

_CLUSTERED = "clustered"  # in the method of every interval over clusters


def grade(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    labels: ReviewedLabels | None = None,
    slices: Sequence[str] = (),
    metrics: Sequence[GradeMetric] = (),
    replicates: Sequence[SeededMethod] = (),
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> Grade:
    """Grade models on a test set: top-1, top-5 and multi-label accuracy, on all examples and on each slice.

    Predictions are read one model at a time, so any number of models fits in memory. Slices are those of
    `TestSet.slice`; the name of a group column or of a slice set stands for all its slices. An empty slice raises.
    ``metrics`` are added to every row. The models of each of ``replicates`` are one row, their mean over seeds. With
    ``clusters``, intervals of top-1, top-5 and multi-label accuracies that are means over images are over clusters; a
    note names the numbers that treat images as independent.
    """
    if replicates and labels:
        raise InputError("replicates are graded by top-1 and top-5, against one label per image: leave out labels")
    methods = ReplicateRuns(replicates)
    masks = slice_masks(test_set, slices)
    hard = tuple(name for name in masks if test_set.base_slice(name) in test_set.hard_slices)
    compared = [name for name in masks if name not in (EVERYTHING, *hard)]
    rows, rules, subset_sizes = [], set(), {}
    tied: dict[str, int] = {}
    for model_predictions, scoring in predictions:
        top5 = top5_of(model_predictions, scoring)
        if model_predictions.model in methods.method_of:
            methods.add(model_predictions.model, _seed_run(model_predictions, scoring, top5))
        else:
            rows += _model_rows(
                *(model_predictions, scoring, top5, labels, masks),
                clusters=clusters,
                metrics=metrics,
                confidence=confidence,
                alone=compared[0] if len(compared) == 1 else None,
            )
        rules.add(scoring.rule)
        if top5 is not None:
            tied[model_predictions.model] = top5.tied_images(scoring.counted & model_predictions.counted)
        if model_predictions.covered is not None and model_predictions.by is Answerer.PERSON:
            subset_sizes[model_predictions.model] = int(model_predictions.covered.sum())
    rows += _replicate_rows(methods, masks, clusters, confidence)
    if not rows:
        raise InputError(
            f"no model has predictions on {test_set.name} yet: regrade predict, or regrade import predictions"
        )
    return Grade(
        test_set.name,
        labels.scoring.labels.name if labels else None,
        labels.scoring.labels.version if labels else None,
        labels.scoring.rule.value if labels else None,
        tuple(_best_first(rows, list(masks))),
        (
            *sorted(rules - {""}),
            *_notes(rows, labels),
            *_cluster_notes(test_set, clusters, rows),
            *_tie_notes(tied),
            *_metric_notes(metrics, rows),
            *_slice_notes(len(masks) - 1, hard, test_set.hard_slices),
            *_subset_notes(subset_sizes),
            *_replicate_notes(methods),
        ),
        hard,
        tuple(metrics),
    )


def slice_masks(test_set: TestSet, slices: Sequence[str]) -> dict[str, BoolArray]:
    """The examples of each slice by name, all examples first."""
    masks = {EVERYTHING: np.ones(len(test_set), dtype=bool)}
    for slice_name in slices:
        parts = {name: test_set.slice(name) for name in test_set.slices_of(slice_name)}
        if not any(inside.any() for inside in parts.values()):
            raise InputError(f"slice {slice_name!r} of {test_set.name} contains no images")
        masks.update((name, inside) for name, inside in parts.items() if inside.any())
    return masks


def _model_rows(
    predictions: Predictions,
    scoring: Scoring,
    top5: TopK | None,
    labels: ReviewedLabels | None,
    masks: Mapping[str, BoolArray],
    *,
    clusters: ImageClusters | None,
    metrics: Sequence[GradeMetric],
    confidence: float,
    alone: str | None,
) -> list[GradeRow]:
    """The rows of a model; the slice ``alone`` is compared with the rest of the images."""
    top1 = scoring.top_k(predictions, 1)
    confidences = stored_confidences(predictions) if scoring.class_map is None else None
    # scores of other classes than those of the labels cannot be compared with the labels
    usable_metrics = [metric for metric in metrics if scoring.class_map is None or not metric.uses_scores]
    slices = len(masks) - 1
    levels = {name: confidence if name == EVERYTHING else bonferroni_confidence(slices, confidence) for name in masks}
    judged = grade_multilabel(predictions, scoring, labels, masks, clusters, confidence=levels) if labels else {}
    rows = []
    for name, mask in masks.items():
        counted = mask & scoring.counted & predictions.counted
        multilabel = judged.get(name, NOT_JUDGED)
        images = graded_images(predictions, scoring.labels, top1.right, counted)
        rest = scoring.counted & predictions.counted & ~mask if name == alone else None
        row = GradeRow(
            predictions.model,
            name,
            share_of(top1.right, counted, clusters, confidence=levels[name]),
            None if top5 is None else share_of(top5.credit, counted, clusters, confidence=levels[name]),
            multilabel.lower,
            multilabel.upper,
            multilabel.reviewed,
            multilabel.novel,
            int((predictions.top1[mask & predictions.counted] == NO_ANSWER).sum()),
            int(top1.undetermined[counted].sum()),
            multilabel.judgments_needed,
            top1_same_images=multilabel.top1,
            labels_change=multilabel.change,
            calibration_error=_calibration(confidences, top1.right, counted, levels[name]),
            anytime=multilabel.anytime,
            values=_metric_values(usable_metrics, images, levels[name]),
            worth=images_worth(top1.right, counted, clusters) if name == EVERYTHING else None,
            dependence=None
            if name == EVERYTHING
            else slice_dependence(top1.right, counted, clusters, rest=rest, confidence=confidence),
        )
        rows.append(row if name == EVERYTHING else row.mark_simultaneous(slices, confidence))
    return rows


def _seed_run(predictions: Predictions, scoring: Scoring, top5: TopK | None) -> SeedRun:
    top1, counted = scoring.top_k(predictions, 1), scoring.counted & predictions.counted
    unanswered = predictions.counted & (predictions.top1 == NO_ANSWER)
    return SeedRun(top1.right, None if top5 is None else top5.credit, counted, unanswered, top1.undetermined)


def _replicate_rows(
    methods: ReplicateRuns, masks: Mapping[str, BoolArray], clusters: ImageClusters | None, confidence: float
) -> Iterator[GradeRow]:
    numbers, slices = None if clusters is None else clusters.numbers, len(masks) - 1
    for name, runs in methods.runs.items():
        for slice_name, mask in masks.items():
            level = confidence if slice_name == EVERYTHING else bonferroni_confidence(slices, confidence)
            means = seed_means(runs, mask, numbers, confidence=level)
            row = _empty_row(name, slice_name, means)
            yield row if slice_name == EVERYTHING else row.mark_simultaneous(slices, confidence)


def _empty_row(model: str, slice_name: str, means: SeedMeans) -> GradeRow:
    """A row of replicates, which has top-1 and top-5 only."""
    return GradeRow(
        model,
        slice_name,
        means.top1,
        means.top5,
        multilabel=None,
        multilabel_upper=None,
        reviewed=None,
        novel=0,
        unanswered=means.unanswered,
        undetermined=means.undetermined,
        judgments_needed=None,
        seeds=means.seeds,
        deviation=means.deviation,
    )


def _replicate_notes(methods: ReplicateRuns) -> Iterator[str]:
    if methods.methods:
        yield (
            f"mean over seeds, with an interval over seeds and images: {_few([m.name for m in methods.methods])}; SD "
            "over seeds: the standard deviation of top-1"
        )


def _cluster_notes(test_set: TestSet, clusters: ImageClusters | None, rows: Sequence[GradeRow]) -> Iterator[str]:
    """The clusters, and the numbers whose intervals do not account for them."""
    if clusters is None:
        return
    yield from clusters.notes(test_set.labeled)
    kinds = {
        "multi-label over classes": any(row.multilabel and _CLUSTERED not in row.multilabel.method for row in rows),
        "reviewed": any(row.reviewed for row in rows),
        "calibration error": any(row.calibration_error for row in rows),
        "metrics": any(row.values for row in rows),
    }
    if independent := [kind for kind, present in kinds.items() if present]:
        yield f"not over clusters, but as if images were independent: intervals of {', '.join(independent)}"


def _metric_values(metrics: Sequence[GradeMetric], images: GradedImages, confidence: float) -> dict[str, Estimate]:
    """The values of the metrics that are defined, by name."""
    estimates = {metric.name: metric.estimate(images, confidence=confidence) for metric in metrics}
    return {name: estimate for name, estimate in estimates.items() if estimate is not None}


def _metric_notes(metrics: Sequence[GradeMetric], rows: Sequence[GradeRow]) -> Iterator[str]:
    for metric in metrics:
        methods = sorted({row.values[metric.name].method for row in rows if metric.name in row.values})
        if methods:
            yield f"{metric.heading}: {metric.explained}intervals {', '.join(methods)}"
        if missing := [row.model for row in rows if row.slice == EVERYTHING and metric.name not in row.values]:
            reason = "; it may require stored scores of all classes" if metric.uses_scores else ""
            yield f"{metric.heading}: undefined for {_few(missing)}{reason}"


def _calibration(
    confidences: FloatArray | None, right: BoolArray, counted: BoolArray, confidence: float
) -> Estimate | None:
    if confidences is None:
        return None
    inside = counted & ~np.isnan(confidences)
    if inside.sum() < 2 or confidences[inside].max() > 1 or confidences[inside].min() < 0:
        return None
    return calibration_error(confidences[inside], right[inside], confidence=confidence)


def top5_of(predictions: Predictions, scoring: Scoring) -> TopK | None:
    """Whether the label is among the top five classes; None if fewer classes are stored."""
    try:
        return scoring.top_k(predictions, 5)
    except UndefinedError:
        return None


def _tie_notes(tied: Mapping[str, int]) -> Iterator[str]:
    """Which models have ties across the fifth place, and on how many images."""
    if words := [f"{amount(images, 'image')} of {model}" for model, images in tied.items() if images]:
        yield (
            f"top-5: expected value under random tie-breaking, since place 5 is tied on {_few(words)}; "
            "interval for the mean of values from 0 to 1"
        )


def _best_first(rows: list[GradeRow], order: list[str]) -> list[GradeRow]:
    """Models by descending accuracy on all examples, each model's slices in the order given."""
    overall = {row.model: row for row in rows if row.slice == EVERYTHING}

    def key(row: GradeRow) -> tuple[float, str, int]:
        top1 = overall[row.model].top1 or overall[row.model].multilabel
        return (-top1.value if top1 else 1.0, row.model, order.index(row.slice))

    return sorted(rows, key=key)


def _notes(rows: list[GradeRow], labels: ReviewedLabels | None) -> tuple[str, ...]:
    notes = []
    shown = ("top1", "multilabel", "reviewed", "anytime", "labels_change")
    methods = sorted({e.method for row in rows for key in shown if (e := getattr(row, key))})
    notes.append(f"intervals: {', '.join(methods)}")
    if labels:
        scored = labels.scored.sum()
        notes.append(
            f"multi-label: right if {labels.scoring.accepted_in_words}; mean over {labels.scoring.rule.value}; "
            f"{amount(scored, 'image')}"
        )
    if labels and any(row.top1 for row in rows):
        notes.append(
            f"top-1 and top-5 are over all labeled images; same images: those that {labels.scoring.labels.full_name} "
            "scores, averaged in the same way; the difference is paired"
        )
    if labels:
        notes += problem_notes(labels.review)
    if labels and any(row.novel for row in rows):
        notes.append("novel: predictions no one has judged; list them with regrade labels novel")
    notes += _review_notes(rows, labels)
    if any(row.calibration_error for row in rows):
        notes.append(
            "calibration error: root mean square of accuracy less confidence in 15 bins, without what chance adds; "
            "its interval is the debiased scaled chi-square"
        )
    if any(row.undetermined for row in rows):
        notes.append("undetermined: none of the stored best classes is among the scored ones; counted as wrong")
    return tuple(notes)


def _slice_notes(slices: int, hard: Sequence[str], stored: Set[str]) -> Iterator[str]:
    if slices > 1:
        yield f"intervals of slices hold for all {slices:,} slices of a model together"
    if chosen := [name for name in hard if name in stored]:
        yield f"chosen because models find them hard: {', '.join(chosen)}"
    if rest := [name for name in hard if name not in stored]:
        yield f"what is left without images that models find hard: {', '.join(rest)}"


def _subset_notes(subset_sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Which people were asked about a subset of the images only."""
    if not subset_sizes:
        return ()
    words = _few([f"{name} ({images:,})" for name, images in subset_sizes.items()])
    return (f"asked about some of the images only, and graded on these: {words}",)


def _review_notes(rows: list[GradeRow], labels: ReviewedLabels | None) -> list[str]:
    """Why numbers that need a review are missing."""
    if labels is None:
        return []
    if labels.review is None:
        if labels.half_width is None:
            return []
        return ["no novel prediction was drawn for review yet: regrade labels sample"]
    overall = [row for row in rows if row.slice == EVERYTHING]
    notes = []
    if labels.review.problematic.size and any(row.reviewed for row in overall):
        notes.append(
            "reviewed reckons with problematic images among those not judged yet; novel wrong and right do not"
        )
    if any(row.anytime for row in overall):
        notes.append(
            "valid at any stopping point: the accuracy on these images that a complete review would give, however "
            "often one looks and whenever one stops; a point where nothing is left to judge. reviewed is for images "
            "like these and a review of a fixed size"
        )
    if without_review := [row.model for row in overall if row.multilabel and not row.reviewed]:
        notes.append(
            f"the review says nothing of {_few(without_review)}: no novel prediction of theirs is judged, or some "
            "were not known when the review was drawn"
        )
    if labels.half_width is not None:
        far = [row.model for row in overall if row.reviewed and row.judgments_needed is None]
        if far:
            notes.append(f"a half-width of {labels.half_width:g} is out of reach for {_few(far)}: too few images")
        notes.append("judgments needed: further ones of the sample, which all models share")
    return notes


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
