"""The audit of a class map: errors by class, and every number under other maps on the same images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from regrade.core import InputError, Predictions
from regrade.core.amounts import amount
from regrade.studies.class_map.alternatives import NamedMap, ambiguous, check_maps, omissions
from regrade.studies.class_map.model_audit import AuditSetting, ModelAudit
from regrade.studies.class_map.result import ClassMapAudit


def class_map_audit(
    predictions: Iterable[Predictions],
    first: NamedMap,
    alternatives: Sequence[NamedMap],
    setting: AuditSetting,
) -> ClassMapAudit:
    """Audit the ``first`` map of a test set against ``alternatives``, and without each of its classes.

    Models, read one at a time, predict the source classes of the maps. All changes are paired: on the images that count
    under both maps. Those of a model are simultaneous for all alternatives, and so are its conclusions.
    """
    check_maps(first, alternatives)
    without = omissions(first.class_map)
    models = [ModelAudit(each, first, setting) for each in predictions]
    if not models:
        raise InputError(f"no model has predictions on {setting.test_set.name}")
    models.sort(key=lambda model: (-model.first_row.accuracy.value, model.predictions.model))
    return ClassMapAudit(
        setting.test_set.name,
        first.name,
        None if setting.grouping is None else setting.grouping.column,
        None if setting.clusters is None else setting.clusters.column,
        setting.top,
        setting.confidence,
        tuple(row for model in models for row in (model.first_row, *model.under(alternatives))),
        tuple(row for model in models for row in model.classes()),
        tuple(row for model in models for row in model.omitting(without)),
        tuple(_notes(models, first, alternatives, setting, len(without))),
    )


def _notes(
    models: Sequence[ModelAudit],
    first: NamedMap,
    alternatives: Sequence[NamedMap],
    setting: AuditSetting,
    without: int,
) -> Iterator[str]:
    yield from (f"{each.name}: {each.rule}" for each in alternatives if each.rule)
    yield from sorted({model.correctness.rule for model in models} - {""})
    if shared := ambiguous(first.class_map):
        yield f"{first.name} accepts {amount(shared, 'predicted class', 'predicted classes')} for several classes"
    labeled = setting.test_set.labeled
    before = np.append(first.class_map.scorable, False)[setting.test_set.labels] & labeled
    for each in alternatives:
        lost = before & ~np.append(each.class_map.scorable, False)[setting.test_set.labels]
        if lost.any():
            yield f"{each.name} maps nothing to the classes of {amount(int(lost.sum()), 'image')}: compared on the rest"
    if alternatives:
        yield (
            "changes are against the first map on the same images, with intervals for all other maps of a model "
            "together; conclusions about groups are corrected for all pairs of groups and maps, not for models"
        )
    if without:
        yield f"without one accepted class: all {without} of classes that keep another; intervals hold together"
    if setting.clusters is not None:
        yield from setting.clusters.notes(before)
    if setting.grouping is not None:
        yield from setting.grouping.notes
