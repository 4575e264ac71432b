"""The record of the study of confidence: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import InputError, MismatchError, ScoreKind, TestSet, UndefinedError
from regrade.core.arrays import FloatArray
from regrade.studies.confidence.analysis import NOT_OVER_CLUSTERS, ImageConfidences, confidence_study
from regrade.studies.confidence.figure import confidence_figure
from regrade.studies.confidence.findings import confidence_findings, confidence_verdicts
from regrade.studies.confidence.result import Confidence, ConfidencePart
from regrade.studies.grade.metrics import GradedImages, graded_images
from regrade.studies.image_clusters import ImageClusters, clusters_of_sets, clusters_option, numbers_of, random_half
from regrade.studies.loading import chosen_models, scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.study import (
    Chapter,
    Parts,
    Study,
    StudyOptions,
    models_option,
    option,
    parts_of,
    seed_option,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store

_FEWEST = 10  # images of a test set with a prediction
_CHAPTER = 500  # images of a chapter: with fewer, intervals are wide


@dataclass(frozen=True)
class ConfidenceOptions(StudyOptions):
    """Which models, on which test set and new sets, and what is promised."""

    test_set: str = test_set_option()
    new: Sequence[str] = option(
        "New test set: what was fitted on --test-set is tested there (temperature, threshold, conformal sets). May be "
        "repeated.",
        (),
    )
    models: Sequence[str] = models_option()
    miss: float = option("Share of labels that conformal sets may miss, in %.", 0.1, percent=True)
    target: float = option("Accuracy that a certified threshold must show, in %.", 0.95, percent=True)
    clusters: str | None = clusters_option()
    seed: int = seed_option("the halves of the test set and of randomized conformal scores")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("--miss", self.miss), ("--target", self.target)):
            if not 0 < value < 1:
                raise InputError(f"{name} must be between 0% and 100%, got {100 * value:g}%")


def run(store: Store, options: ConfidenceOptions) -> Confidence:
    """Study the confidences of models: calibration, selective accuracy and conformal sets.

    Temperature, threshold and conformal sets are fitted on the test set, and tested on its ``new`` sets. Conformal sets
    may ``miss`` this share of labels; ``target`` is the accuracy that a certified threshold must show. ``seed`` is that
    of the two halves of the test set. Models without stored scores are left out and named. ``clusters`` is the column
    of the sampling clusters in the sets that have it (default: households); each is in one of the halves.
    """
    test_sets = _test_sets(store, options)
    chosen = chosen_models(store, test_sets[0], options.models)
    sets_of = _with_scores(store, test_sets, chosen)
    notes = _left_out(store, test_sets[0], [model for model in chosen if model not in sets_of])
    if not sets_of:
        raise InputError(
            f"no model has stored scores of the classes of {test_sets[0].name} ({'; '.join(notes)}): regrade predict "
            "--keep scores, or import probabilities or logits of all classes"
        )
    clusters = dict(zip(test_sets, clusters_of_sets(test_sets, options.clusters), strict=True))
    return confidence_study(
        (
            [_scored_images(store, test_set, model, clusters[test_set], options.seed) for test_set in sets_of[model]]
            for model in options.progress(tuple(sets_of))
        ),
        count=sum(map(len, sets_of.values())),
        miss=options.miss,
        target=options.target,
        confidence=store.config.confidence,
        notes=(*notes, *_cluster_notes(clusters)),
    )


def _cluster_notes(clusters: Mapping[TestSet, ImageClusters | None]) -> Iterator[str]:
    for test_set, part in clusters.items():
        if part is not None:
            yield from (f"{test_set.name}: {note}" for note in part.notes(test_set.labeled))
    if any(clusters.values()):
        yield NOT_OVER_CLUSTERS


def _test_sets(store: Store, options: ConfidenceOptions) -> tuple[TestSet, ...]:
    """The test set and the new ones, which have the same classes and other names."""
    if len({options.test_set, *options.new}) <= len(options.new):
        raise InputError("--test-set and the --new test sets must differ from each other")
    original, *new = (store.test_set(name) for name in (options.test_set, *options.new))
    for test_set in new:
        if test_set.class_space.digest != original.class_space.digest:
            raise MismatchError(
                f"{test_set.name} has other classes ({test_set.class_space.name}) than {original.name} "
                f"({original.class_space.name}): what is fitted on one has no meaning on the other"
            )
    return (original, *new)


def _with_scores(store: Store, test_sets: Sequence[TestSet], models: Sequence[str]) -> dict[str, tuple[TestSet, ...]]:
    """The test sets on which each model has usable scores, for models that have them on the original."""
    sets_of = {
        model: tuple(test_set for test_set in test_sets if has_confidences(store, test_set, model)) for model in models
    }
    return {model: sets for model, sets in sets_of.items() if test_sets[0] in sets}


def _left_out(store: Store, original: TestSet, models: Sequence[str]) -> tuple[str, ...]:
    """Notes that name the models without usable scores, by reason."""
    other_classes = [model for model in models if not _predicts_its_classes(store, original, model)]
    reasons = {
        "without stored scores": [model for model in models if model not in other_classes],
        f"with predictions of other classes than those of {original.name}": other_classes,
    }
    return tuple(f"left out, {reason}: {', '.join(names)}" for reason, names in reasons.items() if names)


def has_confidences(store: Store, test_set: TestSet, model: str) -> bool:
    """Whether a model has stored probabilities of its predictions, or scores of all classes, in the set's classes."""
    if model not in store.predictions.model_names(test_set.name):
        return False
    manifest = store.predictions.manifest(test_set.name, model)
    scored = manifest.full_scores or manifest.score_kind == ScoreKind.PROBABILITIES.value
    return scored and _predicts_its_classes(store, test_set, model)


def _predicts_its_classes(store: Store, test_set: TestSet, model: str) -> bool:
    return store.predictions.manifest(test_set.name, model).class_space_digest == test_set.class_space.digest


def _scored_images(
    store: Store, test_set: TestSet, model: str, clusters: ImageClusters | None, seed: int
) -> ImageConfidences:
    """The labeled images with a prediction; halves and random numbers are the same for all models of a test set."""
    ((predictions, scoring),) = scored_predictions(store, test_set, (model,))
    counted = scoring.counted & predictions.counted
    images = graded_images(predictions, scoring.labels, scoring.top_k(predictions, 1).right, counted).answered()
    if len(images.positions) < _FEWEST:
        raise InputError(
            f"{model!r} has {len(images.positions)} predictions of labeled images on {test_set.name}: a study of "
            f"confidence needs {_FEWEST}"
        )
    rng = np.random.default_rng(seed)
    half = random_half(len(test_set), clusters, rng)
    draws = rng.random(len(test_set))
    confidences, probabilities = _confidences_and_probabilities(images)
    return ImageConfidences(
        model,
        test_set.name,
        np.clip(confidences, 0.0, 1.0),
        images.correct,
        images.labels,
        probabilities,
        half[images.positions],
        draws[images.positions],
        numbers_of(clusters, images.positions),
    )


def _confidences_and_probabilities(images: GradedImages) -> tuple[FloatArray, FloatArray | None]:
    """Those of the predicted classes (n,), and those of all classes (n, c), if stored; logits are read only once."""
    confidences, probabilities = np.empty(len(images.positions)), None
    predicted = images.predicted
    try:
        for rows, block in images.probabilities():
            if probabilities is None:
                probabilities = np.empty((len(predicted), block.shape[1]), dtype=np.float32)
            np.minimum(block, 1.0, out=probabilities[rows[0] : rows[-1] + 1], casting="same_kind")
            confidences[rows] = block[np.arange(len(rows)), predicted[rows]]
    except UndefinedError:
        return images.confidences(), None
    of_logits = images.predictions.score_kind is not ScoreKind.PROBABILITIES
    return confidences if of_logits else images.confidences(), probabilities


def chapters(data: ReportData) -> Iterator[Chapter]:
    """The models with scores on the original set, if it is not small, and on the sets that can be compared with it."""
    original = data.original
    names = data.store.predictions.model_names(original.name)
    if len(original) < _CHAPTER or not any(has_confidences(data.store, original, model) for model in names):
        return
    new = [
        test_set.name
        for test_set in data.sets
        if data.comparable(test_set) and test_set.class_space.digest == original.class_space.digest
    ]
    tables = parts_of(ConfidencePart.CALIBRATION, ConfidencePart.SETS)
    yield Chapter(original.name, ConfidenceOptions(original.name, new), tables)


CONFIDENCE = Study(
    name="confidence",
    question="Can a model's confidence be trusted?",
    summary="Check confidences: calibration, accuracy of the most confident predictions, and conformal sets, also on "
    "new data.",
    options=ConfidenceOptions,
    result=Confidence,
    run=run,
    figure=confidence_figure,
    findings=confidence_findings,
    verdicts=confidence_verdicts,
    parts=Parts(
        ConfidencePart,
        "Table to print. losses: ECE, Brier score, NLL. temperature: before and after scaling. bins: reliability "
        "curves. selective: accuracy of the most confident. accepted: certified thresholds. sets: conformal sets.",
    ),
    chapters=chapters,
)
