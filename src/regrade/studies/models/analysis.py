"""How accuracy, its drop to a new set, robustness and disparity go with the attributes of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import Estimate, InputError, ModelAttributes, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.display.wording import listed
from regrade.stats import (
    MeasuredModels,
    Scale,
    attribute_effect,
    bonferroni_confidence,
    mark_simultaneous,
    noise_on_scale,
)
from regrade.studies.attribute_trends import (
    FEWEST_MODELS,
    families_to_compare,
    family_clusters,
    simultaneous_rows,
)
from regrade.studies.generalization.result import ModelShift
from regrade.studies.lines import clip_to_scale
from regrade.studies.models.result import (
    DescribedModel,
    FamilyDifference,
    ModelAttribute,
    ModelMeasure,
    ModelTrend,
    ModelTrends,
)
from regrade.studies.set_counts import SetCounts

_COMPARED = (ModelMeasure.ACCURACY, ModelMeasure.ROBUSTNESS, ModelMeasure.DISPARITY)  # between families
_LISTED = 5
_REASONS = 2  # reasons that an error names


@dataclass(frozen=True, eq=False)
class ModelSets:
    """The counts of models on the test set and the original, and their disparities by the groups of a column.

    ``shifts`` are the rows of `generalization` for these two sets, by model.
    """

    test_set: SetCounts
    original: SetCounts | None = None
    disparities: Mapping[str, Estimate] | None = None
    by: str | None = None
    shifts: Mapping[str, ModelShift] = field(default_factory=dict)

    def over_clusters(self, measure: ModelMeasure) -> bool:
        """Whether the images behind a measure come in clusters."""
        sets = (self.test_set,) if measure is ModelMeasure.ACCURACY else (self.test_set, self.original)
        return any(counts is not None and counts.noise is not None and counts.noise.clusters for counts in sets)


def model_trends(
    sets: ModelSets,
    attributes: Mapping[str, ModelAttributes],
    *,
    chosen: Sequence[ModelAttribute] = (),
    scale: Scale = Scale.LOGIT,
    confidence: float = 0.95,
) -> ModelTrends:
    """Study how measures go with the stated attributes (default: all that vary), over the models.

    Effective robustness is adjusted for accuracy on the original on ``scale``. Trends need four models with different
    values (five for effective robustness), families three models each and three others. Models without the attribute
    are left out and named. Raises if nothing can be studied, with the reasons.
    """
    models = [_described(name, attributes[name], sets, confidence) for name in sets.test_set.models]
    kept = [model for model in models if not sets.original or model.original]
    study = _Study(kept, sets, scale, confidence)
    reasons: list[str] = []
    trends, families = study.trends(chosen, reasons), list[FamilyDifference]()
    if not chosen or ModelAttribute.FAMILY in chosen:
        families = study.families(reasons)
    if not trends and not families:
        raise InputError(_nothing(sets.test_set.test_set, reasons))
    notes = (*_notes(study, trends, families), *reasons, *_missing(models, kept, chosen, sets))
    return ModelTrends(
        sets.test_set.test_set,
        sets.original.test_set if sets.original else None,
        sets.by,
        confidence,
        tuple(sorted(kept, key=lambda model: (-model.accuracy.value, model.model))),
        tuple(trends),
        tuple(sorted(families, key=lambda row: (list(ModelMeasure).index(row.measure), -row.difference.value))),
        notes,
    )


def _described(name: str, stated: ModelAttributes, sets: ModelSets, confidence: float) -> DescribedModel:
    counts = sets.test_set.models[name]
    old = sets.original.models.get(name) if sets.original else None
    shift = sets.shifts.get(name)
    return DescribedModel(
        name,
        stated.family,
        stated.year,
        stated.parameters,
        stated.training_images,
        counts.accuracy(confidence),
        old.accuracy(confidence) if old else None,
        shift.gap if shift else None,
        shift.robustness if shift else None,
        disparity=sets.disparities.get(name) if sets.disparities else None,
    )


@dataclass(frozen=True)
class _Study:
    """The models, and what is measured of them."""

    models: Sequence[DescribedModel]
    sets: ModelSets
    scale: Scale
    confidence: float

    @property
    def measures(self) -> tuple[ModelMeasure, ...]:
        """The measures that the data have."""
        shifted = (ModelMeasure.DROP, ModelMeasure.ROBUSTNESS) if self.sets.original else ()
        disparity = (ModelMeasure.DISPARITY,) if self.sets.disparities is not None else ()
        return (ModelMeasure.ACCURACY, *shifted, *disparity)

    def trends(self, chosen: Sequence[ModelAttribute], reasons: list[str]) -> list[ModelTrend]:
        """All trends that can be computed, with simultaneous intervals; reasons for the others are added."""
        numeric = [
            attribute
            for attribute in chosen or tuple(ModelAttribute)
            if attribute is not ModelAttribute.FAMILY and (chosen or any(map(attribute.of, self.models)))
        ]
        cells = [(measure, attribute) for attribute in numeric for measure in self.measures]
        return simultaneous_rows(cells, self._trend, reasons, _named)

    def families(self, reasons: list[str]) -> list[FamilyDifference]:
        """All family differences that can be computed, with simultaneous intervals."""
        compared = families_to_compare([model.family for model in self.models], reasons)
        cells = [(measure, name) for measure in self.measures if measure in _COMPARED for name in compared]
        return simultaneous_rows(cells, self._family, reasons, _named)

    def _trend(self, measure: ModelMeasure, attribute: ModelAttribute, comparisons: int) -> ModelTrend:
        inside = [
            model for model in self.models if attribute.of(model) is not None and _has(model, measure)
        ]  # fmt: skip
        numbers = np.array([attribute.of(model) for model in inside], dtype=np.float64)
        clusters = _clusters(inside)
        slope = self._effect(
            measure, inside, np.log10(numbers) if attribute.is_count else numbers, clusters, comparisons
        )
        return ModelTrend(
            measure, attribute, len(inside), None if clusters is None else int(clusters.max()) + 1, slope
        )  # fmt: skip

    def _family(self, measure: ModelMeasure, family: str, comparisons: int) -> FamilyDifference:
        inside = [model for model in self.models if _has(model, measure)]
        members = np.array([model.family == family for model in inside])
        difference = self._effect(measure, inside, members.astype(np.float64), None, comparisons)
        return FamilyDifference(measure, family, int(members.sum()), difference)

    def _effect(
        self,
        measure: ModelMeasure,
        models: Sequence[DescribedModel],
        attribute: FloatArray,
        clusters: IntArray | None,
        comparisons: int,
    ) -> Estimate:
        """The effect of an attribute on a measure in points, one of so many comparisons."""
        names = tuple(model.model for model in models)
        if len(names) < FEWEST_MODELS:
            raise UndefinedError(f"a trend needs at least {FEWEST_MODELS} models, got {len(names)}")
        level = bonferroni_confidence(comparisons, self.confidence)
        scale = self.scale if measure is ModelMeasure.ROBUSTNESS else Scale.LINEAR
        if measure is ModelMeasure.DISPARITY:
            values = [model.disparity.value for model in models if model.disparity]
            measured, adjusted = MeasuredModels(np.array(values)), None
        else:
            measured, adjusted = self._on_sets(measure, names, scale)
        effect = attribute_effect(measured, attribute, adjusted_for=adjusted, clusters=clusters, confidence=level)
        if measured.noise is not None and self.sets.over_clusters(measure):
            effect = replace(effect, method=effect.method.replace("models and images", "models and clusters of images"))
        return mark_simultaneous(_in_points(effect, measured, scale), comparisons, confidence=self.confidence)

    def _on_sets(
        self, measure: ModelMeasure, names: Sequence[str], scale: Scale
    ) -> tuple[MeasuredModels, MeasuredModels | None]:
        new = _measured(self.sets.test_set, names, scale)
        if measure is ModelMeasure.ACCURACY or self.sets.original is None:
            return new, None
        old = _measured(self.sets.original, names, scale)
        if measure is ModelMeasure.ROBUSTNESS:
            return new, old
        noise = None if old.noise is None or new.noise is None else old.noise + new.noise
        return MeasuredModels(old.values - new.values, noise), None


def _named(measure: ModelMeasure, key: ModelAttribute | str) -> str:
    return f"{measure.value} and {key.value if isinstance(key, ModelAttribute) else key}"


def _measured(counts: SetCounts, names: Sequence[str], scale: Scale) -> MeasuredModels:
    """The accuracies of models on a scale, with their sampling noise if it is known."""
    right, images = np.array([(counts.models[name].right, counts.models[name].images) for name in names]).T
    accuracies = clip_to_scale(right / images, images, scale)
    noise = counts.noise.of(names).top1 if counts.noise and counts.noise.covers(names) else None
    return MeasuredModels(
        scale.transform(accuracies), None if noise is None else noise_on_scale(noise, accuracies, scale)
    )  # fmt: skip


def _in_points(effect: Estimate, measured: MeasuredModels, scale: Scale) -> Estimate:
    """An effect on a scale as a difference of accuracies, for a model of average accuracy on the scale."""
    if scale is Scale.LINEAR:
        return effect
    center = float(measured.values.mean())
    base = float(scale.inverse(np.array(center)))
    value, low, high = (
        float(scale.inverse(np.array(center + part))) - base for part in (effect.value, effect.low, effect.high)
    )
    return replace(effect, value=value, low=low, high=high)


def _has(model: DescribedModel, measure: ModelMeasure) -> bool:
    """Whether a model is measured: its disparity may be undefined."""
    return measure is not ModelMeasure.DISPARITY or model.disparity is not None


def _clusters(models: Sequence[DescribedModel]) -> IntArray | None:
    return family_clusters([model.model for model in models], [model.family for model in models])


def _notes(
    study: _Study, trends: Sequence[ModelTrend], families: Sequence[FamilyDifference]
) -> Iterator[str]:  # fmt: skip
    yield (
        "associations over these models, not effects: year, size, data and family go together, and models are no "
        "random sample of those that could be trained"
    )
    if trends:
        dependent = any(trend.families is not None for trend in trends)
        how = "models of one family as dependent" if dependent else "all models as independent"
        yield f"intervals treat {how}, and hold for {amount(len(trends), 'trend')} together"
    if families:
        yield (
            "intervals of families treat models as independent, and hold for "
            f"{amount(len(families), 'difference')} together"
        )
    if ModelMeasure.ROBUSTNESS in study.measures:
        yield (
            f"effective robustness: accuracy at equal accuracy on the original, on the {study.scale.value} scale, in "
            "points for a model of average accuracy"
        )
    if ModelMeasure.DISPARITY in study.measures:
        yield f"disparity by {study.sets.by}: intervals are over models, for these images; small ones are biased upward"


def _missing(
    models: Sequence[DescribedModel], kept: Sequence[DescribedModel], chosen: Sequence[ModelAttribute], sets: ModelSets
) -> Iterator[str]:
    """Which models lack predictions on the original, or attributes."""
    if sets.original and (absent := [model.model for model in models if model.original is None]):
        yield f"without predictions on {sets.original.test_set}, left out: {listed(absent, most=_LISTED)}"
    for attribute in chosen or tuple(ModelAttribute):
        unstated = [model.model for model in kept if not getattr(model, attribute.field)]
        if unstated and (chosen or len(unstated) < len(kept)):
            place = ", among the others of every family" if attribute is ModelAttribute.FAMILY else ""
            count = amount(len(unstated), "model")
            yield f"{count} without {attribute.value}{place}: {listed(unstated, most=_LISTED)}"


def _nothing(test_set: str, reasons: Sequence[str]) -> str:
    distinct = tuple(dict.fromkeys(reasons))
    further = (f"{len(distinct) - _REASONS} more",) if len(distinct) > _REASONS else ()
    why = f" ({'; '.join((*distinct[:_REASONS], *further))})" if distinct else ""
    return (
        f"too little is stated about the models with predictions on {test_set}{why}: state year, parameters, "
        "training_images or family with regrade models describe FILE.csv, or --from-zoo for models of zoos"
    )
