"""The record of the study of classes: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regrade.core import MismatchError, TestSet, UndefinedError
from regrade.studies.classes.analysis import PredictedClasses, class_study
from regrade.studies.classes.figure import class_figure
from regrade.studies.classes.findings import class_findings
from regrade.studies.classes.result import ClassesPart, ClassGrades, ClassOrder
from regrade.studies.image_clusters import ImageClusters, clusters_option, image_clusters, numbers_of
from regrade.studies.loading import chosen_models, scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.study import Chapter, Parts, Study, StudyOptions, models_option, option, parts_of, test_set_option

if TYPE_CHECKING:
    from regrade.store import Store

_MOST_CLASSES = 2_000  # of a chapter: a matrix of all pairs of classes is kept in memory
_PER_CLASS = 20  # images of a chapter: with fewer, little can be said about a class


@dataclass(frozen=True)
class ClassOptions(StudyOptions):
    """Which models on which test set, and how confusions are shown."""

    test_set: str = test_set_option()
    models: Sequence[str] = models_option()
    order: ClassOrder | str | None = option(
        "Order of the confusion matrix (default: the hierarchy of the classes, clusters if they have none).", None
    )
    most: int = option("Number of confused pairs per model.", 10, minimum=1)
    clusters: str | None = clusters_option()


def run(store: Store, options: ClassOptions) -> ClassGrades:
    """Grade each class: precision, recall and F1 of models by the original labels, averages, and confused classes.

    ``order`` is that of the confusion matrix: by hierarchy or by clusters. ``most`` is the number of confused pairs per
    model. ``clusters`` is the column of images that belong together (default: ``household`` if present).
    """
    test_set = store.test_set(options.test_set)
    if not test_set.labeled.any():
        raise UndefinedError(f"{test_set.name} has no labels: a class cannot be graded")
    models = chosen_models(store, test_set, options.models)
    order = options.order
    assert not isinstance(order, str)
    clusters = image_clusters(test_set, options.clusters)
    return class_study(
        test_set.name,
        test_set.class_space,
        _predicted(store, test_set, models, options, clusters),
        order=order,
        most=options.most,
        confidence=store.config.confidence,
        notes=() if clusters is None else clusters.notes(test_set.labeled),
    )


def _predicted(
    store: Store, test_set: TestSet, models: tuple[str, ...], options: ClassOptions, clusters: ImageClusters | None
) -> Iterator[PredictedClasses]:
    for predictions, scoring in scored_predictions(store, test_set, models, progress=options.progress):
        if scoring.class_map is not None:
            raise MismatchError(
                f"{predictions.model!r} predicts {predictions.class_space} classes, and {test_set.name} is labeled in "
                f"{test_set.class_space.name}: a confusion matrix needs the same classes; leave it out with --model"
            )
        counted = scoring.counted & predictions.counted
        members = numbers_of(clusters, counted)
        yield PredictedClasses(predictions.model, scoring.labels[counted], predictions.top1[counted], members)


def chapters(data: ReportData) -> Iterator[Chapter]:
    """The original set, if it has enough images per class and all its models predict its classes."""
    original = data.original
    if len(original) < _PER_CLASS * len(original.class_space):
        return
    names = data.store.predictions.model_names(original.name)
    digests = {data.store.predictions.manifest(original.name, name).class_space_digest for name in names}
    if digests == {original.class_space.digest} and 2 < len(original.class_space) <= _MOST_CLASSES:
        tables = parts_of(ClassesPart.AVERAGES, ClassesPart.PAIRS)
        yield Chapter(original.name, ClassOptions(original.name, most=3), tables)


CLASSES = Study(
    name="classes",
    question="Which classes are confused?",
    summary="Grade each class: precision, recall and F1 with intervals, averages over classes, and confused classes.",
    options=ClassOptions,
    result=ClassGrades,
    run=run,
    figure=class_figure,
    findings=class_findings,
    parts=Parts(
        ClassesPart,
        "Table to print. averages: of each model (default with several models). pairs: the most confused. matrix: of "
        "the most accurate model.",
        chosen=lambda _, result: ClassesPart.AVERAGES if len(result.averages) > 1 else ClassesPart.CLASSES,
    ),
    chapters=chapters,
)
