"""The record of the study of a shift: its options, and how images and embeddings of both sets are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import UNLABELED, InputError, TestSet, UndefinedError, UnknownName
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.studies.image_clusters import HOUSEHOLD, INDEPENDENT
from regrade.studies.loading import chosen_models, has_embeddings, images_in_both, stored_embeddings
from regrade.studies.report_data import ReportData
from regrade.studies.shift.analysis import embedding_shift
from regrade.studies.shift.discriminator import balanced_images
from regrade.studies.shift.figure import shift_figure
from regrade.studies.shift.findings import shift_findings, shift_verdicts
from regrade.studies.shift.images import SetEmbeddings
from regrade.studies.shift.result import EmbeddingShift, Shift, ShiftPart
from regrade.studies.study import Chapter, Parts, Study, StudyOptions, models_option, option, parts_of, seed_option

if TYPE_CHECKING:
    from regrade.store import Store

_CLUSTER_COLUMNS = ("author", HOUSEHOLD)

_Side = tuple[TestSet, IntArray]  # a test set, and the positions of those of its images that are compared


@dataclass(frozen=True)
class ShiftOptions(StudyOptions):
    """The two test sets, the models whose embeddings are compared, and which images belong together."""

    original: str = option("Original test set.")
    new: str = option("New test set.")
    models: Sequence[str] = models_option(
        "Use the embeddings of this model only. May be repeated (default: all with embeddings of both sets)."
    )
    clusters: str | None = option(
        "Column of images that belong together, or none (default: author or household, if there is such a column).",
        None,
        metavar="COLUMN",
    )
    most: int = option("Number of typical images of each set to list.", 10, minimum=1)
    seed: int = seed_option("the images of each class and of the folds")


def run(store: Store, options: ShiftOptions) -> Shift:
    """Study whether embeddings tell images of the ``new`` test set from those of the ``original`` one.

    Both sets are compared on images with the same share of every class, without images that are in both. ``clusters``
    is a column of images that belong together, such as their author; ``most`` is the number of typical images of each
    set to list.
    """
    new, original = store.test_set(options.new), store.test_set(options.original)
    if new.name == original.name:
        raise InputError(f"{new.name} is named as the original and as the new test set: name two different sets")
    models = _models(store, (new, original), options.models)
    column = _cluster_column((new, original), options.clusters)
    sides, shared = _sides(store, new, original, options.seed)
    rows = tuple(
        _of_model(store, model, sides, options, column=column, models=len(models)) for model in options.progress(models)
    )
    return Shift(
        original.name,
        new.name,
        shared,
        len(np.unique(new.labels[sides[0][1]])),
        column,
        rows,
        options.most,
        tuple(_notes(sides, shared, rows)),
    )


def _of_model(
    store: Store, model: str, sides: tuple[_Side, _Side], options: ShiftOptions, *, column: str | None, models: int
) -> EmbeddingShift:
    new, original = (
        SetEmbeddings(side, places, stored_embeddings(store, side, model, places)) for side, places in sides
    )
    try:
        return embedding_shift(
            model,
            new,
            original,
            column=column,
            rng=np.random.default_rng(options.seed),
            models=models,
            confidence=store.config.confidence,
        )
    except UndefinedError as error:
        raise InputError(
            f"{new.test_set.name} and {original.test_set.name} cannot be compared by {model} on "
            f"{len(new.positions):,} and {amount(len(original.positions), 'image')} of the same classes: {error}"
        ) from error


def _models(store: Store, sets: tuple[TestSet, TestSet], names: Sequence[str]) -> tuple[str, ...]:
    """The named models (default: all with embeddings of both sets), checked to have embeddings and to be the same."""
    new, original = sets
    if names:
        chosen_models(store, original, names)
    chosen = chosen_models(store, new, names)
    lacking = [model for model in chosen if not has_embeddings(store, sets, model)]
    usable = tuple(model for model in chosen if model not in lacking)
    if (names and lacking) or not usable:
        who = f"{lacking[0]} lacks" if names else "no model has"
        raise InputError(
            f"{who} embeddings of both {new.name} and {original.name}: run regrade predict MODEL -t {new.name} "
            f"-t {original.name} --keep features"
        )
    for model in usable:
        _check_same_model(store, sets, model)
    return usable


def _check_same_model(store: Store, sets: tuple[TestSet, TestSet], model: str) -> None:
    """Raise if the stored predictions of both sets come from different weights, code or preprocessing."""
    first, second = (store.predictions.manifest(test_set.name, model).model for test_set in sets)
    for what in ("weights_hash", "code_hash", "preprocessing"):
        if getattr(first, what) != getattr(second, what):
            raise InputError(
                f"{model} had other {what.removesuffix('_hash')} on {sets[0].name} than on {sets[1].name}, which alone "
                "tells the sets apart: predict both sets again with the same model"
            )


def _cluster_column(sets: Sequence[TestSet], name: str | None) -> str | None:
    """The column of images that belong together; None for independent images."""
    columns = list(dict.fromkeys(column for test_set in sets for column in test_set.group_columns))
    if name is None:
        return next((column for column in _CLUSTER_COLUMNS if column in columns), None)
    if name in columns:
        return name
    if name == INDEPENDENT:
        return None
    raise UnknownName(f"group column of {sets[0].name} or {sets[1].name}", name, columns)


def _sides(store: Store, new: TestSet, original: TestSet, seed: int) -> tuple[tuple[_Side, _Side], int]:
    """The images of both sets to compare, and how many of the new ones are in both sets."""
    original_labels = _labels_in(new, original)
    original_shared, new_shared = images_in_both(store, original, new)
    shared = int(new_shared.sum())
    if new_shared.all() or original_shared.all():
        inner, outer = (new, original) if new_shared.all() else (original, new)
        raise InputError(f"all images of {inner.name} are in {outer.name}, too: nothing is left to compare")
    chosen_new, chosen_original = balanced_images(
        np.where(new_shared, UNLABELED, new.labels),
        np.where(original_shared, UNLABELED, original_labels),
        rng=np.random.default_rng(seed),
    )
    if not len(chosen_new):
        raise InputError(f"no class has labeled images in both {new.name} and {original.name}")
    return ((new, chosen_new), (original, chosen_original)), shared


def _labels_in(new: TestSet, original: TestSet) -> IntArray:
    """The labels of the original set (n,) as classes of the new set; those that it lacks are unlabeled."""
    ours, theirs = set(new.class_space.ids), set(original.class_space.ids)
    if not (ours <= theirs or theirs <= ours):
        raise InputError(
            f"the classes of {new.name} ({new.class_space.name}) and {original.name} ({original.class_space.name}) "
            "differ: sets are compared class by class, so that one must have all classes of the other"
        )
    index = {name: number for number, name in enumerate(new.class_space.ids)}
    table = np.array([*(index.get(name, UNLABELED) for name in original.class_space.ids), UNLABELED])
    return np.asarray(table[original.labels])  # an unlabeled image takes the last entry


def _notes(sides: tuple[_Side, _Side], shared: int, rows: Sequence[EmbeddingShift]) -> Iterator[str]:
    (new, _), (original, _) = sides
    if shared:
        yield f"left out: {amount(shared, 'image')} of {new.name} that are in {original.name}, too, by id or content"
    for test_set, positions in sides:
        if len(positions) < len(test_set):
            yield f"compared: {len(positions):,} of {amount(len(test_set), 'image')} of {test_set.name}"
    for row in rows:
        if row.without_embeddings:
            yield f"{row.model}: {amount(row.without_embeddings, 'image')} without usable embeddings"


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every comparable set with embeddings of a model that has embeddings of the original, too."""
    for test_set in data.sets:
        if data.comparable(test_set) and _common_models(data, test_set):
            options = ShiftOptions(data.original.name, test_set.name)
            yield Chapter(f"{test_set.name} against {data.original.name}", options, parts_of(ShiftPart.MODELS))


def _common_models(data: ReportData, test_set: TestSet) -> list[str]:
    names = data.store.predictions.model_names(test_set.name)
    return [model for model in names if has_embeddings(data.store, (data.original, test_set), model)]


SHIFT = Study(
    name="shift",
    question="Can new images be told from original ones?",
    summary="Show how well embeddings of a model tell the images of two test sets apart, and typical images of each.",
    requires="Requires embeddings of two test sets by one model: regrade predict --keep features.",
    options=ShiftOptions,
    result=Shift,
    run=run,
    figure=shift_figure,
    findings=shift_findings,
    verdicts=shift_verdicts,
    parts=Parts(ShiftPart, "models: one row per model. images: the most typical images of each set."),
    chapters=chapters,
)
