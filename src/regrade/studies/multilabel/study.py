"""The record of the study of multi-label accuracy: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import LabelState, TestSet
from regrade.metrics import MultilabelRule
from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.loading import chosen_models, chosen_people, reviewed_labels, scored_predictions
from regrade.studies.multilabel.ambiguous import MIN_IMAGES
from regrade.studies.multilabel.analysis import multilabel
from regrade.studies.multilabel.figure import multilabel_figure
from regrade.studies.multilabel.findings import multilabel_findings
from regrade.studies.multilabel.result import Multilabel, MultilabelPart
from regrade.studies.report_data import ReportData, scored_against
from regrade.studies.study import (
    Chapter,
    Parts,
    Study,
    StudyOptions,
    collapsed_option,
    models_option,
    option,
    parts_of,
    seed_option,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store

_MODELS = 3  # models that a chapter of a report needs


@dataclass(frozen=True)
class MultilabelOptions(StudyOptions):
    """Which labels, and which models they score."""

    test_set: str = test_set_option()
    labels: str = option("Label set: NAME or NAME@VERSION.", names=("--labels", "-l"))
    models: Sequence[str] = models_option()
    rule: MultilabelRule | str | None = option(
        "images: correct labels count (default). classes: also unclear. Accuracies are means over images.", None
    )
    collapsed: bool = collapsed_option()
    seed: int = seed_option("the intervals of medians")
    clusters: str | None = clusters_option()
    min_images: int | None = option(
        f"Scored images that a class of --show ambiguous needs (default: {MIN_IMAGES}). If given, --json has them too.",
        None,
        minimum=1,
    )


def run(store: Store, options: MultilabelOptions) -> Multilabel:
    """Compare multi-label accuracy with top-1 and top-5 accuracy of all or the named models on the same images.

    Also shows which images have several right labels, and which classes are right on the same images. ``rule`` and
    ``collapsed`` say which predictions the labels accept; ``seed`` draws the intervals of medians over models. Original
    classes with ``min_images`` scored images are listed by the share of their images that have another class by the
    labels, next to that of people's answers; the JSON output has them if ``min_images`` is given. ``clusters`` is the
    column of the sampling clusters (default: households); all intervals are over them.
    """
    test_set = store.test_set(options.test_set)
    labels = reviewed_labels(store, test_set, options.labels, rule=options.rule, collapsed=options.collapsed)
    models = chosen_models(store, test_set, options.models or store.predictions.models_to_compare(test_set.name))
    return multilabel(
        test_set,
        scored_predictions(store, test_set, models, progress=options.progress),
        labels,
        rng=np.random.default_rng(options.seed),
        people=scored_predictions(store, test_set, chosen_people(store, test_set, ())),
        min_images=options.min_images,
        clusters=image_clusters(test_set, options.clusters),
        confidence=store.config.confidence,
    )


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every label set with an image that has several right labels, on sets with several models."""
    for test_set in data.sets:
        if data.model_count(test_set) < _MODELS:
            continue
        for labels in data.labels(test_set):
            if _has_several(data.store, test_set, labels):
                options = MultilabelOptions(test_set.name, labels)
                tables = parts_of(MultilabelPart.KINDS, MultilabelPart.MODELS)
                yield Chapter(scored_against(test_set, labels), options, tables)


def _has_several(store: Store, test_set: TestSet, labels: str) -> bool:
    label_set = store.labels.read(test_set, labels)
    right = label_set.examples[label_set.states == LabelState.CORRECT]
    return len(np.unique(right)) < len(right)


MULTILABEL = Study(
    name="multilabel",
    question="What does counting every right label change?",
    summary="Compare multi-label accuracy with top-1 and top-5, and show which images have several right labels.",
    requires="Requires a label set with several right labels per image, and predictions of three models.",
    options=MultilabelOptions,
    result=Multilabel,
    run=run,
    figure=multilabel_figure,
    findings=multilabel_findings,
    parts=Parts(
        MultilabelPart,
        "Table to print. models: accuracies and changes. kinds: images with several right labels, by an automatic "
        "rule. pairs: classes that are right on the same images. ambiguous: original classes by the share of "
        "images with another class.",
        lambda options, _result: None if options.min_images is None else MultilabelPart.AMBIGUOUS,
    ),
    chapters=chapters,
    head=40,
)
