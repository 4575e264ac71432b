"""Effective robustness of interventions and of their base models, relative to the line through standard models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from regrade.core import Estimate
from regrade.stats import Scale
from regrade.studies.generalization.rows import robustness_to
from regrade.studies.geography.group_frame import ModelCorrectness
from regrade.studies.image_clusters import ImageClusters
from regrade.studies.remedies.result import EffectivePair, Remedies, RemedyMeasure, RemedyRow
from regrade.studies.seeded_methods import MethodPair
from regrade.studies.set_counts import ClusterWorth, ModelCounts, SetCounts

FEWEST_STANDARD = 5
"""The fewest standard models that a line is fitted through."""


def accuracy_counts(test_set: str, models: Sequence[ModelCorrectness], clusters: ImageClusters | None) -> SetCounts:
    """Count correct predictions over the images that count for each model; models without such images are left out."""
    worth = ClusterWorth(test_set, clusters)
    counts = {}
    for model in models:
        worth.add(model.model, model.right, model.counted)
        if model.counted.any():
            counts[model.model] = ModelCounts(int((model.right & model.counted).sum()), int(model.counted.sum()))
    return worth.added_to(SetCounts(test_set, counts))


def with_effective_robustness(
    result: Remedies, counts: Sequence[SetCounts], pairs: Sequence[MethodPair], standard: Sequence[str]
) -> Remedies:
    """Add effective robustness to the accuracies on all sets but the first, which is the original.

    The line is fitted through ``standard`` models on the logit scale (Taori et al. 2020). With fewer than five of them,
    or equal accuracies of all on the original, a note says so. Methods with several seeds have none.
    """
    original, *shifted = counts
    if not shifted:
        return result
    usable = [model for model in standard if all(model in data.models for data in counts)]
    if len(usable) < FEWEST_STANDARD:
        note = f"effective robustness needs {FEWEST_STANDARD} standard models (without base model), got {len(usable)}"
        return replace(result, notes=(*result.notes, note))
    if np.ptp(original.shares(usable).values) == 0:
        note = f"effective robustness needs standard models of different accuracy on {original.test_set}"
        return replace(result, notes=(*result.notes, note))
    effective = {
        (data.test_set, pair.remedy.name): estimates
        for data in shifted
        for pair, estimates in _effective_pairs(original, data, pairs, usable, result.confidence)
    }
    return replace(result, rows=tuple(_with_effective(row, effective) for row in result.rows))


def _with_effective(row: RemedyRow, effective: Mapping[tuple[str, str], EffectivePair]) -> RemedyRow:
    is_overall = row.measure is RemedyMeasure.ACCURACY and row.slice is None
    return replace(row, effective=effective.get((row.test_set, row.remedy))) if is_overall else row


def _effective_pairs(
    original: SetCounts,
    shifted: SetCounts,
    pairs: Sequence[MethodPair],
    standard: Sequence[str],
    confidence: float,
) -> Iterator[tuple[MethodPair, EffectivePair]]:
    single = [pair for pair in pairs if len(pair.rows) == 1]
    compared = (model for pair in single for model in pair.rows[0])
    models = tuple(dict.fromkeys((*standard, *compared)))
    _, estimates = robustness_to(
        original.shares(models),
        shifted.shares(models),
        standard=np.array([model in standard for model in models]),
        scale=Scale.LOGIT,
        confidence=confidence,
    )
    by_model: dict[str, Estimate] = dict(zip(models, estimates, strict=True))
    for pair in single:
        baseline, remedy = pair.rows[0]
        yield pair, EffectivePair(by_model[baseline], by_model[remedy], original.test_set, len(standard))
