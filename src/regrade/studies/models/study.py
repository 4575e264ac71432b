"""The record of the study of models: its options, and how their attributes and predictions are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import Estimate, InputError, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.stats import Scale, share_range
from regrade.studies.generalization.analysis import generalization
from regrade.studies.generalization.paired_counts import SetPair
from regrade.studies.generalization.result import ModelShift
from regrade.studies.geography.group_frame import ModelCorrectness, correctness_of, frame_of, grouping
from regrade.studies.image_clusters import (
    INDEPENDENT,
    ImageClusters,
    clusters_of_sets,
    clusters_option,
    common_clusters,
)
from regrade.studies.loading import chosen_models, model_attributes, scored_predictions
from regrade.studies.models.analysis import ModelSets, model_trends
from regrade.studies.models.figure import model_trends_figure
from regrade.studies.models.findings import model_trends_findings, model_trends_verdicts
from regrade.studies.models.result import ModelAttribute, ModelTrends, ModelTrendsPart
from regrade.studies.report_data import ReportData
from regrade.studies.seeded_methods import seeded_method
from regrade.studies.set_counts import ClusterWorth, ImageNoiseCollector, ModelCounts, SetCounts
from regrade.studies.shared_images import shared_images
from regrade.studies.study import (
    Chapter,
    Parts,
    Study,
    StudyOptions,
    models_option,
    option,
    parts_of,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store

_FEWEST_DESCRIBED = 6  # models of a chapter with the same attribute stated


@dataclass(frozen=True)
class ModelTrendsOptions(StudyOptions):
    """The models, their attributes, and the test sets."""

    test_set: str = test_set_option()
    original: str | None = option(
        "The original test set: also study the drop from it to -t, and effective robustness.", None, metavar="SET"
    )
    by: Sequence[ModelAttribute | str] = option("Use only this attribute. May be repeated (default: all).", ())
    disparity_by: str | None = option("Also study the disparity by the groups of this column.", None, metavar="COLUMN")
    slice: str | None = option("Use only the images of -t in this slice, such as a hard set.", None)
    models: Sequence[str] = models_option()
    without: Sequence[str] = option(
        "Leave out this model, or the models of a pattern such as fv_*. May be repeated.", (), metavar="NAME"
    )
    scale: Scale | str = option("Scale on which accuracies on the two test sets are compared.", Scale.LOGIT)
    clusters: str | None = clusters_option()


def run(store: Store, options: ModelTrendsOptions) -> ModelTrends:
    """Study what goes with the accuracy of models: year, parameters, training images and family.

    The attributes are those in manifests and those that users state. With ``original`` there are also the drop from it
    and the accuracy at equal accuracy there (effective robustness, on ``scale``), with ``disparity_by`` the disparity
    by the groups of a column. ``without`` names models that are left out, or patterns, and
    ``slice`` a part of the test set. ``clusters`` is the column of the sampling clusters in the sets that have it
    (default: ``household``).
    """
    test_set = store.test_set(options.test_set)
    models = _chosen(store, test_set, options)
    if options.original == test_set.name:
        raise InputError(f"--original and -t are both {test_set.name}: a drop is from one set to another")
    correctness = _on_slice(test_set, _correctness(store, test_set, models, options), options.slice)
    if not correctness:
        raise UndefinedError(f"no image of {test_set.name} that counts is in {options.slice}")
    place = test_set.name if options.slice is None else f"{test_set.name}, slice {options.slice}"
    sets = [store.test_set(name) for name in (test_set.name, options.original) if name]
    sampled = clusters_of_sets(sets, options.clusters)
    counts, original = _counts(place, correctness, sampled[0]), _original(store, models, options, sampled[-1])
    column = INDEPENDENT if sampled[0] is None else options.clusters
    disparities = _disparities(test_set, correctness, options.disparity_by, column, store.config.confidence)
    shifts = _shifts(counts, original, Scale(options.scale), store.config.confidence)
    measured = ModelSets(counts, original, disparities, options.disparity_by, shifts)
    attributes = model_attributes(store, test_set, models)
    result = model_trends(
        measured,
        attributes,
        chosen=[ModelAttribute(attribute) for attribute in options.by],
        scale=Scale(options.scale),
        confidence=store.config.confidence,
    )
    rules = (*counts.notes, *(original.notes if original else ()))
    cautions = (*_overlap(store, test_set, options), *_chosen_hard(test_set, options.slice))
    return replace(
        result, notes=(*result.notes, *_derived(store, models), *rules, *cautions, *common_clusters(sets, sampled))
    )


def _derived(store: Store, models: Sequence[str]) -> Iterator[str]:
    """A note on the models whose attributes are derived from their names in part."""
    described = store.described_models.read()
    if count := sum(bool(described.sources_of(model)) for model in models):
        yield f"attributes of {amount(count, 'model')} are derived in part from names, see regrade models list --json"


def _chosen_hard(test_set: TestSet, name: str | None) -> Iterator[str]:
    if name in test_set.hard_slices:
        yield f"{name} was chosen because models fail on it: those that took part in the choice are at a disadvantage"


def _overlap(store: Store, test_set: TestSet, options: ModelTrendsOptions) -> Iterator[str]:
    """A note if the two test sets have images in common."""
    shared = None if options.original is None else shared_images(store.test_set(options.original), test_set)
    if shared and (count := int((shared.second >= 0).sum())):
        yield (
            f"{amount(count, 'image')} of {test_set.name} are images of {options.original} too: intervals of drops and "
            "of effective robustness take them as different images, and are too wide or too short"
        )


def _chosen(store: Store, test_set: TestSet, options: ModelTrendsOptions) -> tuple[str, ...]:
    """The named models (default: all) except those to leave out."""
    models = chosen_models(store, test_set, options.models or store.predictions.models_to_compare(test_set.name))
    methods = [seeded_method(name, models, where=test_set.name) for name in options.without]
    left_out = {model for method in methods for model in method.models.values()}
    if left_out.issuperset(models):
        raise InputError(f"all models with predictions on {test_set.name} are left out")
    return tuple(model for model in models if model not in left_out)


def _correctness(
    store: Store, test_set: TestSet, models: tuple[str, ...], options: ModelTrendsOptions
) -> list[ModelCorrectness]:
    scored = scored_predictions(store, test_set, models, progress=options.progress)
    return [correctness_of(predictions, scoring, 1) for predictions, scoring in scored]


def _on_slice(test_set: TestSet, models: Sequence[ModelCorrectness], name: str | None) -> list[ModelCorrectness]:
    """The models on the images of a slice, or on all; a model without an image there is left out."""
    inside = np.ones(len(test_set), dtype=bool) if name is None else test_set.slice(name)
    parts = [replace(model, counted=model.counted & inside) for model in models]
    return [part for part in parts if part.counted.any()]


def _counts(name: str, models: Sequence[ModelCorrectness], clusters: ImageClusters | None) -> SetCounts:
    """The counts of models with the sampling noise of their accuracies, over clusters of images if there are any."""
    collector, worth, counts = ImageNoiseCollector(clusters), ClusterWorth(name, clusters), dict[str, ModelCounts]()
    for model in models:
        collector.add(model.model, model.right, None, model.counted)
        worth.add(model.model, model.right, model.counted)
        counts[model.model] = ModelCounts(int((model.right & model.counted).sum()), int(model.counted.sum()))
    notes = dict.fromkeys(f"{name}: {model.rule}" for model in models if model.rule)
    return worth.added_to(SetCounts(name, counts, tuple(notes), collector.noise()))


def _original(
    store: Store, models: Sequence[str], options: ModelTrendsOptions, clusters: ImageClusters | None
) -> SetCounts | None:
    """The counts on the original of those models that have predictions there."""
    if options.original is None:
        return None
    original = store.test_set(options.original)
    stored = set(store.predictions.model_names(original.name))
    common = tuple(model for model in models if model in stored)
    if not common:
        raise InputError(f"none of these models has predictions on {original.name}")
    return _counts(original.name, _correctness(store, original, common, options), clusters)


def _shifts(
    counts: SetCounts, original: SetCounts | None, scale: Scale, confidence: float
) -> Mapping[str, ModelShift]:  # fmt: skip
    """The drop of each model and its distance from the line through all models; empty if there is no line."""
    if original is None:
        return {}
    pair, unused = SetPair(original, counts), np.random.default_rng(0)  # there are no bootstrap draws
    try:
        rows = generalization([pair], rng=unused, scale=scale, confidence=confidence, band_points=0).rows
    except (InputError, UndefinedError):
        return {}
    return {row.model: row for row in rows}


def _disparities(
    test_set: TestSet, models: Sequence[ModelCorrectness], column: str | None, clusters: str | None, confidence: float
) -> Mapping[str, Estimate] | None:
    """The disparity of each model by the groups of a column; models without images in some group have none."""
    if column is None:
        return None
    frame = frame_of(test_set, grouping(test_set, column), clusters, models)
    if len(frame.names) < 2:
        raise InputError(f"a disparity needs two groups of {column}")
    return {
        model.model: share_range(frame.shares(model.right, model.counted), confidence=confidence)
        for model in models
        if frame.counted_per_group(model).all()
    }


def chapters(data: ReportData) -> Iterator[Chapter]:
    """The original set and the first new set, if enough of their models are described."""
    original = data.original
    stored = data.store.predictions.model_names(original.name)
    described = model_attributes(data.store, original, stored).values()
    counts = [sum(bool(getattr(stated, part.field)) for stated in described) for part in ModelAttribute]
    if max(counts, default=0) < _FEWEST_DESCRIBED:
        return
    new = next((test_set.name for test_set in data.sets if data.comparable(test_set)), None)
    options = ModelTrendsOptions(new, original.name) if new else ModelTrendsOptions(original.name)
    about = f"{new}, compared with {original.name}" if new else original.name
    yield Chapter(about, options, parts_of(ModelTrendsPart.TRENDS, ModelTrendsPart.FAMILIES))


MODELS = Study(
    name="models",
    question="What goes with accuracy?",
    summary="Show how accuracy, drops, robustness and disparity go with year, size, data and family of models.",
    requires="Requires models whose year, parameters, training images or family are stated (regrade models describe).",
    options=ModelTrendsOptions,
    result=ModelTrends,
    run=run,
    figure=model_trends_figure,
    findings=model_trends_findings,
    verdicts=model_trends_verdicts,
    parts=Parts(
        ModelTrendsPart,
        "trends: with year, parameters and training images. families: each minus the others. models: their attributes.",
    ),
    chapters=chapters,
)
