"""The record of the class-map study: its options, the maps to compare, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.classes import class_map_from_file
from regrade.core import ClassMap, ClassSpace, InputError, MapRule, TestSet
from regrade.studies.class_map.alternatives import NamedMap, check_maps, systematic_maps
from regrade.studies.class_map.analysis import class_map_audit
from regrade.studies.class_map.figure import class_map_figure
from regrade.studies.class_map.findings import class_map_findings, class_map_verdicts
from regrade.studies.class_map.model_audit import AuditSetting
from regrade.studies.class_map.result import ClassMapAudit, ClassMapPart
from regrade.studies.geography.group_frame import grouping
from regrade.studies.group_columns import PLACE_COLUMNS
from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.loading import chosen_models
from regrade.studies.report_data import ReportData
from regrade.studies.study import (
    Chapter,
    Parts,
    Study,
    StudyOptions,
    class_map_option,
    models_option,
    option,
    parts_of,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store

STORED = "the stored map"
"""The name of the map that is stored with a test set."""


@dataclass(frozen=True)
class ClassMapOptions(StudyOptions):
    """The map to audit, the maps to compare it with, and the groups whose conclusion may depend on it."""

    test_set: str = test_set_option()
    class_map: str | Path | None = class_map_option("--map")
    alternatives: Sequence[str | Path] = option(
        "CSV or JSON file of another map to compare with. May be repeated.",
        (),
        names=("--alternative",),
        metavar="FILE",
        kind=list[str],
    )
    by: str | None = option(
        "Column of the groups (default: region, continent, country or income, the first that there is).", None
    )
    models: Sequence[str] = models_option()
    top: int = option("Compute top-N accuracy.", 1, metavar="N", minimum=1)
    clusters: str | None = clusters_option()


def run(store: Store, options: ClassMapOptions) -> ClassMapAudit:
    """Audit a map between class spaces: which classes carry the errors, and what other maps would change.

    ``class_map`` is a file (default: the map stored with the test set), ``alternatives`` are files of other maps. They
    are joined by systematic ones: the first class only, siblings accepted too, and each accepted class left out.
    """
    test_set = store.test_set(options.test_set)
    models = chosen_models(store, test_set, options.models)
    predicted = _predicted_classes(store, test_set, models)
    first = _first_map(store, test_set, predicted, options.class_map)
    given = [NamedMap(Path(path).name, _read(path, predicted, test_set)) for path in options.alternatives]
    check_maps(first, given)
    taken = {each.class_map.digest for each in given}
    systematic = [each for each in systematic_maps(first.class_map) if each.class_map.digest not in taken]
    column = options.by or next((name for name in PLACE_COLUMNS if name in test_set.group_columns), None)
    setting = AuditSetting(
        test_set,
        None if column is None else grouping(test_set, column),
        image_clusters(test_set, options.clusters),
        options.top,
        store.config.confidence,
    )
    if column is not None and setting.clusters is not None and setting.clusters.column == column:
        setting = replace(setting, clusters=None)
    predictions = (store.predictions.read(test_set, model) for model in options.progress(models))
    return class_map_audit(predictions, first, (*given, *systematic), setting)


def _predicted_classes(store: Store, test_set: TestSet, models: Sequence[str]) -> ClassSpace:
    """The class space that all models predict, which differs from that of the labels."""
    names = {store.predictions.manifest(test_set.name, model).class_space for model in models}
    if not names:
        raise InputError(f"no model has predictions on {test_set.name} yet: regrade import predictions")
    spaces = {space.digest: space for space in map(store.class_spaces.read, sorted(names))}
    mapped = [space for digest, space in spaces.items() if digest != test_set.class_space.digest]
    if not mapped:
        raise InputError(f"all models predict the classes of {test_set.name}: there is no class map to audit")
    if len(spaces) > 1:
        raise InputError(
            f"models on {test_set.name} predict several class spaces ({', '.join(sorted(names))}): name those of one "
            "with --model"
        )
    return mapped[0]


def _first_map(store: Store, test_set: TestSet, predicted: ClassSpace, path: str | Path | None) -> NamedMap:
    if path is not None:
        return NamedMap(Path(path).name, _read(path, predicted, test_set))
    stored = store.class_maps.read(test_set)
    if stored is None or stored.source.digest != predicted.digest:
        raise InputError(f"no map from {test_set.name} to {predicted.name} is stored: give one with --map FILE")
    return NamedMap(STORED, replace(stored, source=predicted))


def _read(path: str | Path, predicted: ClassSpace, test_set: TestSet) -> ClassMap:
    return class_map_from_file(Path(path), predicted, test_set.class_space, MapRule.ANY_IN_TOP_K)


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set with a stored class map whose models all predict its source classes."""
    for test_set in data.sets:
        stored = data.store.class_maps.read(test_set)
        models = data.store.predictions.model_names(test_set.name)
        manifests = [data.store.predictions.manifest(test_set.name, model) for model in models]
        if stored is not None and models and {m.class_space_digest for m in manifests} == {stored.source.digest}:
            tables = parts_of(ClassMapPart.MAPS, ClassMapPart.CLASSES)
            yield Chapter(test_set.name, ClassMapOptions(test_set.name), tables)


CLASS_MAP = Study(
    name="class_map",
    question="Does the conclusion depend on the class map?",
    summary="Audit the map between label classes and predicted classes: errors by class, and other maps.",
    options=ClassMapOptions,
    result=ClassMapAudit,
    run=run,
    figure=class_map_figure,
    findings=class_map_findings,
    verdicts=class_map_verdicts,
    parts=Parts(
        ClassMapPart,
        "maps: one row per model and map. classes: errors by class. omissions: without each accepted class.",
    ),
    chapters=chapters,
)
