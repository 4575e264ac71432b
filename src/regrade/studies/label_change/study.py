"""The record of the study of a label change: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regrade.metrics import MultilabelRule
from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.image_slice import image_slices
from regrade.studies.label_change.analysis import LabelChange, LabelChangePart, label_change
from regrade.studies.label_change.figure import label_change_figure
from regrade.studies.label_change.findings import label_change_findings
from regrade.studies.loading import chosen_rows, reviewed_labels, scored_predictions
from regrade.studies.study import (
    Parts,
    Study,
    StudyOptions,
    models_option,
    option,
    rule_option,
    slices_option,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class LabelChangeOptions(StudyOptions):
    """The two label sets, and the models and people whose accuracies are compared."""

    before: str = option("First label set, such as own@1.", is_argument=True)
    after: str = option("Second label set; a name without a version means the newest version.", is_argument=True)
    test_set: str = test_set_option()
    models: Sequence[str] = models_option("Use only this model or person. May be repeated (default: all).")
    rule: MultilabelRule | str | None = rule_option()
    slices: Sequence[str] = slices_option()
    clusters: str | None = clusters_option()


def run(store: Store, options: LabelChangeOptions) -> LabelChange:
    """Compare two label sets, and the accuracies of the named models and people (default: all models) under each.

    ``slices`` are compared as well, each on its own: differences there have intervals for all slices together.
    ``clusters`` is the column of the sampling clusters (default: households).
    """
    test_set, names = store.test_set(options.test_set), options.models
    before, after = (
        reviewed_labels(store, test_set, labels, rule=options.rule) for labels in (options.before, options.after)
    )
    rows = chosen_rows(store, test_set, names) if names else store.predictions.model_names(test_set.name)
    scored = scored_predictions(store, test_set, rows, progress=options.progress)
    return label_change(
        test_set,
        scored,
        before=before,
        after=after,
        slices=image_slices(test_set, options.slices),
        clusters=image_clusters(test_set, options.clusters),
        confidence=store.config.confidence,
    )


LABEL_CHANGE = Study(
    name="label_change",
    question="What did the new labels change?",
    summary="Show the changes between two versions of a label set, and their effect on every model.\n\nDifferences are "
    "computed over the images that both versions score, with a paired confidence interval; --json prints all tables.",
    options=LabelChangeOptions,
    result=LabelChange,
    run=run,
    figure=label_change_figure,
    findings=label_change_findings,
    parts=Parts(LabelChangePart, "models: accuracy under both. counts: number of changes. pairs: every change."),
    head=40,
)
