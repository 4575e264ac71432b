"""The record of the study of mistakes: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regrade.classes import superclasses
from regrade.core import InputError, LabelSet, MistakeAnnotations, Predictions, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.training_neighbors import TrainingNeighbors
from regrade.formats import read_vocabulary
from regrade.store import FIRST_MODEL, keep_slices
from regrade.studies.image_clusters import ImageClusters, clusters_of_sets, clusters_option
from regrade.studies.image_slice import image_slice
from regrade.studies.loading import reviewed_labels
from regrade.studies.mistakes.analysis import MistakeReviews, TriageSources, mistakes
from regrade.studies.mistakes.explanations import ExplanationSources
from regrade.studies.mistakes.figure import mistakes_figure
from regrade.studies.mistakes.figure_files import write_mistake_figures
from regrade.studies.mistakes.findings import mistakes_findings
from regrade.studies.mistakes.out_of_vocabulary import OutOfVocabulary
from regrade.studies.mistakes.result import MistakePart, Mistakes
from regrade.studies.neighbors.study import stored_neighbors
from regrade.studies.report_data import ReportData, scored_against
from regrade.studies.study import (
    Chapter,
    Output,
    Parts,
    Study,
    StudyOptions,
    collapsed_option,
    labels_option,
    models_option,
    option,
    parts_of,
    slice_option,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store

_DEFAULT_PAIRS = "real"  # default label set for which classes occur together


@dataclass(frozen=True)
class MistakesOptions(StudyOptions):
    """The labels that define mistakes, the models, and what they are compared with."""

    test_set: str = test_set_option()
    labels: str = labels_option("Label set: NAME (newest version) or NAME@VERSION.", MISSING)
    models: Sequence[str] = models_option(
        "Use only this model; a model without predictions is studied by its mistake review. May be repeated."
    )
    against: str | None = option("Compare the other models with this one: mistakes fixed, new and common.", None)
    relabeled: str | None = option("Later label set: show how many mistakes it accepts.", None)
    collapsed: bool = collapsed_option()
    other_sets: Sequence[str] = option(
        "Also compare with the mistake reviews of this test set. May be repeated.", (), names=("--also",)
    )
    pairs_from: str | None = option(
        "Label set that shows which classes occur together (default: real if stored, otherwise --labels).", None
    )
    slice: str | None = slice_option()
    training_set: str | None = option(
        "Explain spurious mistakes by the nearest images of this training set, which regrade neighbors stores "
        "(default: the registered one, if they are stored).",
        None,
    )
    vocabulary: str | Path | None = option(
        "Let the triage recognize objects without a class: text embeddings of WordNet concepts (.npz, .parquet).",
        None,
        metavar="FILE",
    )
    embedded_by: str | None = option(
        "With --vocabulary: model of these embeddings (default: the one whose nearest training images are stored).",
        None,
        metavar="MODEL",
    )
    least_major: int | None = option(
        "Number of reviews that must call a mistake major (default: three quarters of the reviews).", None
    )
    clusters: str | None = clusters_option()


def run(store: Store, options: MistakesOptions) -> Mistakes:
    """Study the models' mistakes under a label set: which of them are mistakes, their kind and their severity.

    Decisions on novel predictions count, and so does a later version of the labels, ``relabeled``. A model without
    predictions is studied by the review of its mistakes. ``against`` names the model that the others are compared with,
    ``other_sets`` test sets whose reviews are compared, ``least_major`` how many reviews make an image a major mistake
    (default: three of four), and ``pairs_from`` the labels that show which classes occur together (default: ``real`` if
    stored, otherwise ``labels``). ``slice`` keeps only the images of a slice. ``vocabulary`` is a file of text
    embeddings of the model ``embedded_by``, by which the triage recognizes objects without a class. ``clusters`` is the
    column of images that belong together (default: ``household`` if present), of each test set.
    """
    test_set, models, against = store.test_set(options.test_set), options.models, options.against
    labels, relabeled, collapsed = options.labels, options.relabeled, options.collapsed
    store.predictions.check_manifests(test_set.name, [*models, *([against] if against else [])])
    with_predictions, reviewed = store.predictions.model_names(test_set.name), store.mistakes.names(test_set.name)
    if not models and not with_predictions and not reviewed:
        raise InputError(f"{test_set.name} has neither predictions nor reviews of mistakes yet: run {FIRST_MODEL}")
    chosen = _chosen(models, with_predictions, reviewed, test_set)
    by_review = tuple(name for name in chosen if name not in with_predictions)
    if options.least_major is not None and not reviewed:
        raise InputError("a slice of major mistakes requires reviews of mistakes: run regrade import mistakes")
    names = [name for name in chosen if name in with_predictions]
    reviews = _reviews(reviewed, models, against)
    source = None if against is None else _source(store, test_set, against)
    if against is not None:
        candidates = names if against in with_predictions else reviews
        _check_comparable(against, models, candidates, by_review=against not in with_predictions)
    sources, notes = _explanation_sources(store, test_set, options.training_set)
    clusters = _clusters(store, test_set, options)
    result = mistakes(
        test_set,
        (store.predictions.read(test_set, name) for name in options.progress(names)),
        labels=reviewed_labels(store, test_set, labels, collapsed=collapsed),
        relabeled=None if relabeled is None else reviewed_labels(store, test_set, relabeled, collapsed=collapsed),
        reviews=MistakeReviews(
            [store.mistakes.read(test_set, name) for name in reviews],
            _reviews_of(store, options.other_sets, options.slice),
            by_review,
            options.least_major,
            [store.mistakes.read(test_set, name) for name in reviewed],
        ),
        triage=TriageSources(
            superclasses(test_set.class_space),
            pair_labels(store, test_set, labels, options.pairs_from),
            out_of_vocabulary(store, test_set, options),
        ),
        against=source,
        within=None if options.slice is None else image_slice(test_set, options.slice),
        explained_by=sources,
        clusters={name: own.numbers for name, own in clusters.items()},
        confidence=store.config.confidence,
    )
    cluster_notes = tuple(_cluster_notes(clusters, test_set))
    return replace(result, notes=(*result.notes, *notes), cluster_notes=cluster_notes)


def _clusters(store: Store, test_set: TestSet, options: MistakesOptions) -> dict[str, ImageClusters]:
    """The clusters of the test set and of the other sets, by name, if they have any."""
    sets = [test_set, *(store.test_set(name) for name in options.other_sets)]
    by_set = zip(sets, clusters_of_sets(sets, options.clusters), strict=True)
    return {each.name: clusters for each, clusters in by_set if clusters is not None}


def _cluster_notes(clusters: Mapping[str, ImageClusters], test_set: TestSet) -> Iterator[str]:
    for name, own in clusters.items():
        part = "" if name == test_set.name else f"{name}: "
        yield from (f"{part}{note}" for note in own.notes(np.arange(len(own.numbers))))


def _explanation_sources(
    store: Store, test_set: TestSet, training_set: str | None
) -> tuple[ExplanationSources | None, tuple[str, ...]]:
    """The stored neighbors in a training set (default: the registered one), and a note if these are outdated."""
    name = training_set or store.training_set_of(test_set.name)
    searches = store.training_neighbors.searches(test_set.name)
    models = [model for training, model in searches if training == name]
    if training_set is None and not models:
        return None, ()

    @cache
    def stored(model: str) -> TrainingNeighbors:
        return stored_neighbors(store, test_set, training_set=name, model=model)[1]

    def neighbors(model: str) -> TrainingNeighbors:
        return stored(model if model in models else "")

    try:
        return ExplanationSources(stored_neighbors(store, test_set, training_set=name)[0], neighbors), ()
    except InputError as error:
        if training_set is not None:
            raise
        return None, (f"spurious mistakes are not explained: {error}",)


def out_of_vocabulary(store: Store, test_set: TestSet, options: MistakesOptions) -> OutOfVocabulary | None:
    """The embeddings that recognize objects without a class; None without a vocabulary."""
    if options.vocabulary is None:
        if options.embedded_by is not None:
            raise InputError("--embedded-by requires --vocabulary")
        return None
    space, vocabulary = test_set.class_space, read_vocabulary(Path(options.vocabulary))
    vocabulary.check_classes(space)
    training, neighbors = stored_neighbors(
        store, test_set, training_set=options.training_set, model=options.embedded_by or ""
    )
    model = neighbors.question.model
    if options.embedded_by not in (None, model):
        raise InputError(
            f"no nearest training images by {options.embedded_by} are stored: run regrade neighbors -t {test_set.name} "
            f"--model {options.embedded_by}"
        )
    if training.class_space.ids != space.ids:
        raise InputError(f"{training.name} is not labeled in the classes of {test_set.name}, {space.name}")
    images = store.predictions.read(test_set, model).features
    if images is None or images.shape[1] != vocabulary.embeddings.shape[1]:
        width = "no" if images is None else f"{images.shape[1]:,} numbers per"
        raise InputError(
            f"{model} has {width} image embedding on {test_set.name}, and {options.vocabulary} has "
            f"{vocabulary.embeddings.shape[1]:,} per concept: both must be of the same model, in its joint space"
        )
    labels = neighbors.labels(training)
    return OutOfVocabulary(model, space, superclasses(space), vocabulary, images, labels)


def _reviews(reviewed: Sequence[str], models: Sequence[str], against: str | None) -> list[str]:
    """The reviews of the named models; all reviews if none is named or none of these has a review."""
    named = [name for name in reviewed if name in (*models, against)] if models else []
    return named or list(reviewed)


def _check_comparable(against: str, models: Sequence[str], candidates: Sequence[str], *, by_review: bool) -> None:
    """Raise if no model can be compared with ``against``: both need predictions, or both need reviews."""
    if any(name != against for name in candidates):
        return
    if list(models) == [against]:
        raise InputError(f"{against} cannot be compared with itself: name another model too")
    kind = "a review of its mistakes" if by_review else "predictions"
    raise InputError(f"no model to compare with {against}: no other model has {kind}")


def _chosen(
    models: Sequence[str], with_predictions: Sequence[str], reviewed: Sequence[str], test_set: TestSet
) -> Sequence[str]:
    everyone = [*with_predictions, *reviewed]
    for name in models:
        if name not in everyone:
            raise UnknownName(f"model on {test_set.name}", name, everyone)
    if len(set(models)) < len(models):
        raise InputError("a model is named twice")
    return models or with_predictions or reviewed


def _reviews_of(store: Store, names: Sequence[str], slice_name: str | None) -> list[MistakeAnnotations]:
    """The reviews of other test sets, on a slice if one is named; a test set without reviews raises."""
    reviews = []
    for name in names:
        test_set = store.test_set(name)
        reviewed = store.mistakes.names(name)
        if not reviewed:
            raise InputError(f"{name} has no reviews of mistakes: run regrade import mistakes")
        stored = [store.mistakes.read(test_set, model) for model in reviewed]
        part = None if slice_name is None else image_slice(test_set, slice_name)
        reviews += stored if part is None else [review.within(part.inside) for review in stored]
    return reviews


def _source(store: Store, test_set: TestSet, name: str) -> Predictions | MistakeAnnotations:
    """A model's predictions, or the review of its mistakes if it has none."""
    with_predictions, reviewed = store.predictions.model_names(test_set.name), store.mistakes.names(test_set.name)
    if name in with_predictions:
        return store.predictions.read(test_set, name)
    if name in reviewed:
        return store.mistakes.read(test_set, name)
    raise UnknownName(f"model on {test_set.name}", name, [*with_predictions, *reviewed])


def pair_labels(store: Store, test_set: TestSet, labels: str, pairs_from: str | None = None) -> LabelSet:
    """The labels that show which classes occur together: as named, otherwise ReaL, otherwise the study's labels."""
    if pairs_from is not None:
        return store.labels.read(test_set, pairs_from)
    stored = {full.rpartition("@")[0] for full in store.labels.names(test_set.name)}
    return store.labels.read(test_set, _DEFAULT_PAIRS if _DEFAULT_PAIRS in stored else labels)


def _keep_major(store: Store, result: Mistakes, name: str) -> str:
    """Store the slice of major mistakes for the command, and say so."""
    if result.major is None:
        raise InputError("--save-major requires mistake reviews: add them with regrade import mistakes")
    stored = keep_slices(store, result.major.as_slices(name))
    summary = f"{name} of {result.test_set}: {amount(result.major.images, 'image')}"
    return f"{'slice' if stored.new else 'unchanged: slice'} {summary}"


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every label set of every test set."""
    parts = parts_of(MistakePart.FLOW, MistakePart.TRIAGE, MistakePart.CATEGORIES, MistakePart.EXPLANATIONS)
    for test_set in data.sets:
        for labels in data.labels(test_set):
            yield Chapter(scored_against(test_set, labels), MistakesOptions(test_set.name, labels), parts)


MISTAKES = Study(
    name="mistakes",
    question="Which mistakes are mistakes?",
    summary="Study mistakes: categories by people or by an automatic triage, confused classes, and what newer models "
    "fix.",
    requires="Requires a label set with every correct class of each image: regrade import labels.",
    options=MistakesOptions,
    result=Mistakes,
    run=run,
    figure=mistakes_figure,
    findings=mistakes_findings,
    parts=Parts(
        MistakePart,
        "Table to print. triage: suggested categories. agreement: of suggested and people's categories. categories: by "
        "severity, with chi-square test. distance: in the hierarchy. pairs: confused classes. compare: --against. "
        "major: the slice of major mistakes. severity: right predictions and severe mistakes on all images or a slice. "
        "explanations: training images near spurious mistakes.",
        lambda options, _: (
            MistakePart.COMPARE if options.against else MistakePart.EXPLANATIONS if options.training_set else None
        ),
    ),
    outputs=(
        Output("save-major", "NAME", "Store the slice of major mistakes under this name.", _keep_major),
        Output(
            "figures",
            "FOLDER",
            "Also write further figures to this folder, by name: the flow of mistakes, confused pairs and the slice as "
            "SVG, and reviewed mistakes with their images as HTML.",
            write_mistake_figures,
        ),
    ),
    chapters=chapters,
)
