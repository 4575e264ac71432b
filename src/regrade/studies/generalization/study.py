"""The record of the generalization study: its options, and the counts of the same models on each pair of sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regrade.core import ClassSpace, InputError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.stats import Scale
from regrade.store import Store
from regrade.studies.generalization.analysis import SetPair, generalization
from regrade.studies.generalization.figure import generalization_figure
from regrade.studies.generalization.findings import generalization_findings, generalization_verdicts
from regrade.studies.generalization.result import Generalization
from regrade.studies.image_clusters import with_household_note
from regrade.studies.lines import DRAWS
from regrade.studies.loading import scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.set_counts import SetCounts, counts_with_noise
from regrade.studies.shared_images import shared_images
from regrade.studies.study import (
    Chapter,
    ProgressCallback,
    Study,
    StudyOptions,
    class_map_option,
    models_option,
    option,
    seed_option,
    within_option,
)

_NO_HASH = 0  # the hash of an image that was not read


@dataclass(frozen=True)
class GeneralizationOptions(StudyOptions):
    """Which models are compared on which pairs of an original and a new test set."""

    original: str = option("Original test set.")
    new: Sequence[str] = option("New test set. May be repeated.")
    models: Sequence[str] = models_option()
    standard: Sequence[str] = option("Fit the lines to this model only. May be repeated (default: all).", ())
    scale: Scale | str = option("Scale of the figure, and of the line that defines effective robustness.", Scale.LOGIT)
    within: str | ClassSpace | None = within_option()
    class_map: str | Path | None = class_map_option("--map")
    bootstrap: bool = option("Add least-squares lines with bootstrap percentile intervals, as in the papers.", False)
    seed: int = seed_option("--bootstrap")


def run(store: Store, options: GeneralizationOptions) -> Generalization:
    """Study how accuracies on the ``original`` test set carry over to ``new`` ones.

    Lines are fitted to all models or to those in ``standard``; effective robustness is relative to the line on
    ``scale`` (linear, probit or logit). ``within`` and ``class_map`` are as in `grade`; if a new set has a part of the
    original's classes, the original is scored within these. ``bootstrap`` adds percentile intervals as in published
    studies, from resampled models with ``seed``.
    """
    result = generalization(
        set_pairs(store, options),
        rng=np.random.default_rng(options.seed),
        scale=Scale(options.scale),
        standard=options.standard,
        confidence=store.config.confidence,
        draws=DRAWS if options.bootstrap else 0,
    )
    return with_household_note(result, *map(store.test_set, (options.original, *options.new)))


def set_pairs(store: Store, options: GeneralizationOptions) -> list[SetPair]:
    """The counts of the named models (default: all) on each pair of the original and a new test set.

    If a new set has only a part of the original's classes, as ImageNet-A has, the original is scored within these.
    """
    models, within, progress = options.models, options.within, options.progress
    old, targets = store.test_set(options.original), [store.test_set(name) for name in options.new]
    if not targets:
        raise InputError("name at least one new test set")
    _check_models(store, models, (old, *targets))
    originals: dict[str, SetCounts] = {}
    pairs = []
    for target in targets:
        among = within or _part_of_classes(old, target)
        key = among.digest if isinstance(among, ClassSpace) else str(among)
        if key not in originals:
            originals[key] = _counts(store, old, models, within=among, progress=progress)
        counts = _counts(store, target, models, within=within, class_map=options.class_map, progress=progress)
        if options.class_map or store.class_maps.read(target):
            note = (
                f"{target.name} is scored through a class map and {old.name} among all its classes: the gap holds that"
            )
            counts = replace(counts, notes=(*counts.notes, note))
        if overlap := _overlap(store, old, target):
            counts = replace(counts, notes=(*counts.notes, overlap))
        pairs.append(SetPair(originals[key], counts))
    return pairs


def _counts(
    store: Store,
    test_set: TestSet,
    models: Sequence[str],
    *,
    within: str | ClassSpace | None,
    class_map: str | Path | None = None,
    progress: ProgressCallback,
) -> SetCounts:
    stored_models = store.predictions.model_names(test_set.name)
    chosen = tuple(model for model in models if model in stored_models) if models else stored_models
    if not chosen:
        raise InputError(f"none of these models has predictions on {test_set.name}")
    scored = scored_predictions(store, test_set, chosen, within=within, class_map=class_map, progress=progress)
    return counts_with_noise(test_set, scored, confidence=store.config.confidence)


def _overlap(store: Store, old: TestSet, new: TestSet) -> str:
    """A note on images of the new set that are also in the original, by id or content; empty if there are none."""
    shared = shared_images(old, new)
    by_id = np.zeros(len(new), dtype=bool) if shared is None else shared.second >= 0
    content = _content(store, new)
    by_content = np.isin(content, _content(store, old)) & (content != _NO_HASH)
    count = int((by_id | by_content).sum())
    if not count:
        return ""
    return (
        f"{count:,} of {amount(len(new), 'image')} of {new.name} are images of {old.name} too: what is said of new "
        "images does not hold for them, and intervals take them as different images"
    )


def _content(store: Store, test_set: TestSet) -> NDArray[np.uint64]:
    """Content hashes (n,) of the images, as stored by `predict` for any model."""
    for model in store.predictions.model_names(test_set.name):
        manifest = store.predictions.manifest(test_set.name, model)
        if manifest.fingerprints and manifest.test_set_digest == test_set.digest:
            fingerprints = store.predictions.read(test_set, model).fingerprints
            assert fingerprints is not None
            return np.asarray(fingerprints["digest"])
    return np.full(len(test_set), _NO_HASH, dtype=np.uint64)


def _check_models(store: Store, models: Sequence[str], test_sets: Sequence[TestSet]) -> None:
    for test_set in test_sets:
        store.predictions.check_manifests(test_set.name, models)
    stored_models = {model for test_set in test_sets for model in store.predictions.model_names(test_set.name)}
    for model in models:
        if model not in stored_models:
            raise UnknownName("model", model, sorted(stored_models))


def _part_of_classes(old: TestSet, new: TestSet) -> ClassSpace | None:
    """The classes of a new set if they are a proper subset of the original's."""
    return new.class_space if set(new.class_space.ids) < set(old.class_space.ids) else None


def chapters(data: ReportData) -> Iterator[Chapter]:
    """All sets that can be compared with the original."""
    new = [test_set.name for test_set in data.sets if data.comparable(test_set)]
    if new:
        about = f"{data.original.name} and {new[0] if len(new) == 1 else amount(len(new), 'new set')}"
        options = GeneralizationOptions(data.original.name, new)
        yield Chapter(about, options, lambda result: (result.sets_table(), result.table()))


GENERALIZATION = Study(
    name="generalization",
    question="Does it hold on new data?",
    summary="Compare accuracies on new test sets with the original: gaps, ranks, linear fits, robustness, overfitting.",
    requires="Requires a second test set with the same classes and predictions of at least three of the models.",
    options=GeneralizationOptions,
    result=Generalization,
    run=run,
    figure=generalization_figure,
    findings=generalization_findings,
    verdicts=generalization_verdicts,
    chapters=chapters,
)
