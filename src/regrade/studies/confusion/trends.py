"""How closely the confusion score goes with the errors of models, by their accuracy, size, data, year and family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from regrade.core import Estimate, ModelAttributes, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.record import Record
from regrade.display.wording import listed
from regrade.stats import (
    MeasuredModels,
    attribute_effect,
    biserial_correlations,
    bonferroni_confidence,
    error_correlations,
    mark_simultaneous,
)
from regrade.studies.attribute_trends import FEWEST_MODELS, families_to_compare, family_clusters, simultaneous_rows
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.image_clusters import numbers_in
from regrade.studies.models.result import ModelAttribute, TrendVerdict

ACCURACY = "accuracy"
"""The attribute of models that is measured, not stated."""

_FEWEST_OF_EACH = 10  # errors, and right predictions, of a model on every second image
_SAME = 1e-6  # scores this close are equal up to rounding
_POINTS = 0.1  # of accuracy, the unit of a slope
_LISTED = 5


class ScoreRelation(Enum):
    """How the relation of the score and a model's errors is measured."""

    CORRELATION = "correlation"
    """Pearson's r over images, which also depends on the error rate."""
    BISERIAL = "biserial correlation"
    """The correlation with the latent tendency to err, which does not, if it and the score are jointly normal."""

    def of(self, scores: FloatArray, wrong: BoolArray, counted: BoolArray, clusters: IntArray | None) -> MeasuredModels:
        """The relation for each of the models (m, n), with the covariance over images or clusters (n,) of them."""
        relation = error_correlations if self is ScoreRelation.CORRELATION else biserial_correlations
        return relation(scores, wrong, counted, clusters)


@dataclass(frozen=True)
class ScoreTrend(Record):
    """How a relation goes with an attribute of models: the slope ``per`` unit, or a family minus the others.

    ``family`` is None for a slope. ``models`` is the number of models, for a family that of its members; ``families``
    is the number of families whose models are treated as dependent, None if all are independent.
    """

    relation: ScoreRelation
    attribute: str
    per: str
    models: int
    families: int | None
    effect: Estimate
    family: str | None = None

    @property
    def is_per_tenfold(self) -> bool:
        """Whether the slope is per tenfold count."""
        return self.per.startswith("tenfold")

    @property
    def verdict(self) -> TrendVerdict:
        """The conclusion from the interval; for a family, whether it is above or below the others."""
        if self.effect.low > 0:
            return TrendVerdict.RISES
        return TrendVerdict.FALLS if self.effect.high < 0 else TrendVerdict.NOT_DETECTED

    @property
    def verdict_in_words(self) -> str:
        """The verdict; a family is higher or lower than the others."""
        words = {TrendVerdict.RISES: "higher", TrendVerdict.FALLS: "lower"}
        return self.verdict.value if self.family is None else words.get(self.verdict, "no difference detected")

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the verdict."""
        return {**super().json_fields(), "verdict": self.verdict_in_words}


@dataclass(frozen=True)
class TrendModel(Record):
    """A model of the trends: its attributes, its accuracy, and its biserial correlation over all images."""

    model: str
    family: str
    accuracy: float
    year: int | None
    parameters: int | None
    training_images: int | None
    biserial: float

    def value_of(self, attribute: str) -> float | None:
        """The attribute of a trend; None if it is not stated."""
        number: float | None = getattr(self, attribute.replace(" ", "_"))
        return number


@dataclass(frozen=True)
class ScoreTrends(Record):
    """The trends of the relation of the score and errors over models outside the ensemble."""

    models: tuple[TrendModel, ...]
    rows: tuple[ScoreTrend, ...]
    notes: tuple[str, ...]


def score_trends(
    scores: FloatArray,
    models: Mapping[str, GradedModel],
    attributes: Mapping[str, ModelAttributes],
    clusters: IntArray | None = None,
    *,
    confidence: float,
) -> ScoreTrends | None:
    """Study how the relation of ``scores`` (n,) and errors goes with the attributes of the models; None for few models.

    The intervals of all slopes hold together, and those of all families. Images of one of the ``clusters`` (n,) are
    dependent, and in the same half of the images.
    """
    first = _first_half(len(scores), clusters)
    usable = {name: model for name, model in models.items() if _is_usable(scores, model, first)}
    if len(usable) < FEWEST_MODELS:
        return None
    study = _Study(
        scores,
        tuple(usable),
        np.stack([model.wrong & model.counted for model in usable.values()]),
        np.stack([model.counted for model in usable.values()]),
        [attributes.get(name, ModelAttributes()) for name in usable],
        confidence,
        first,
        clusters,
    )
    reasons: list[str] = []
    slopes, families = study.slopes(reasons), study.families(reasons)
    units = "image" if clusters is None else "cluster of images"
    notes = (*_notes(slopes, families, units), *reasons, *_left_out(models, usable))
    return ScoreTrends(study.models(), (*slopes, *families), notes)


def _first_half(images: int, clusters: IntArray | None) -> BoolArray:
    """Shape (n,): every second image, from the first one on, or every second cluster in the order of the images."""
    if clusters is None:
        return np.arange(images) % 2 == 0
    _, first_places, numbers = np.unique(clusters, return_index=True, return_inverse=True)
    in_order = np.argsort(np.argsort(first_places))
    is_first: BoolArray = in_order[numbers] % 2 == 0
    return is_first


def _is_usable(scores: FloatArray, model: GradedModel, first: BoolArray) -> bool:
    """Whether scores vary, and errors and right predictions are enough, on the ``first`` half and on the rest."""
    for half in (first, ~first):
        wrong, own = model.wrong[half][model.counted[half]], scores[half][model.counted[half]]
        if min(wrong.sum(), (~wrong).sum()) < _FEWEST_OF_EACH or np.ptp(own) < _SAME:
            return False
    return True


@dataclass(frozen=True, eq=False)
class _Axis:
    """What a relation may go with: the models at ``places`` with their values, and the relations of all models."""

    per: str
    places: Sequence[int]
    values: FloatArray
    relations: Mapping[ScoreRelation, MeasuredModels]


@dataclass(frozen=True, eq=False)
class _Study:
    """The errors (m, n) of models on the images that count (m, n), and what is stated about the models."""

    scores: FloatArray
    names: tuple[str, ...]
    wrong: BoolArray
    counted: BoolArray
    stated: Sequence[ModelAttributes]
    confidence: float
    first: BoolArray
    image_clusters: IntArray | None

    @property
    def _families(self) -> list[str]:
        return [stated.family for stated in self.stated]

    def slopes(self, reasons: list[str]) -> list[ScoreTrend]:
        """The slopes on accuracy, and on each attribute that is stated for some model."""
        numeric = (ModelAttribute.YEAR, ModelAttribute.PARAMETERS, ModelAttribute.TRAINING_IMAGES)
        shown = [part for part in numeric if any(getattr(stated, part.field) for stated in self.stated)]
        cells = [(relation, part) for part in (None, *shown) for relation in ScoreRelation]
        return simultaneous_rows(cells, self._slope, reasons, lambda row, part: f"{row.value} and {_name(part)}")

    def families(self, reasons: list[str]) -> list[ScoreTrend]:
        """The families with enough models, each minus the others."""
        compared = families_to_compare(self._families, reasons)
        cells = [(relation, family) for family in compared for relation in ScoreRelation]
        return simultaneous_rows(cells, self._family, reasons, lambda row, family: f"{row.value} and {family}")

    def models(self) -> tuple[TrendModel, ...]:
        """The models with their measured values over all images."""
        values = self._on_all[ScoreRelation.BISERIAL].values
        accuracies = 1 - self.wrong.sum(axis=1) / self.counted.sum(axis=1)
        return tuple(
            TrendModel(
                name,
                stated.family,
                float(accuracy),
                stated.year,
                stated.parameters,
                stated.training_images,
                float(own),
            )
            for name, stated, accuracy, own in zip(self.names, self.stated, accuracies, values, strict=True)
        )

    def _slope(self, relation: ScoreRelation, part: ModelAttribute | None, comparisons: int) -> ScoreTrend:
        axis = self._on_accuracy() if part is None else self._on_attribute(part)
        names, families = ([row[place] for place in axis.places] for row in (self.names, self._families))
        clusters = family_clusters(names, families)
        effect = self._effect(relation, axis, clusters, comparisons)
        number = None if clusters is None else int(clusters.max()) + 1
        return ScoreTrend(relation, _name(part), axis.per, len(axis.places), number, effect)

    def _family(self, relation: ScoreRelation, family: str, comparisons: int) -> ScoreTrend:
        members = np.array([name == family for name in self._families], dtype=np.float64)
        axis = _Axis("minus the others", range(len(members)), members, self._on_all)
        effect = self._effect(relation, axis, None, comparisons)
        return ScoreTrend(relation, "family", axis.per, int(members.sum()), None, effect, family)

    def _on_attribute(self, part: ModelAttribute) -> _Axis:
        places = [place for place, stated in enumerate(self.stated) if getattr(stated, part.field)]
        numbers = np.array([getattr(self.stated[place], part.field) for place in places], dtype=np.float64)
        return _Axis(part.unit, places, np.log10(numbers) if part.is_count else numbers, self._on_all)

    def _on_accuracy(self) -> _Axis:
        """Accuracy on the second half of the images, and the relations on the first: no error by chance is in both."""
        second = ~self.first
        accuracies = 1 - (self.wrong & second).sum(axis=1) / (self.counted & second).sum(axis=1)
        return _Axis("10 points", range(len(accuracies)), accuracies / _POINTS, self._on_first)

    @cached_property
    def _on_all(self) -> dict[ScoreRelation, MeasuredModels]:
        parts = self.scores, self.wrong, self.counted, self.image_clusters
        return {relation: relation.of(*parts) for relation in ScoreRelation}

    @cached_property
    def _on_first(self) -> dict[ScoreRelation, MeasuredModels]:
        """The relations on the first half of the images."""
        first = self.first
        numbers = numbers_in(self.image_clusters, first)
        parts = self.scores[first], self.wrong[:, first], self.counted[:, first], numbers
        return {relation: relation.of(*parts) for relation in ScoreRelation}

    def _effect(self, relation: ScoreRelation, axis: _Axis, clusters: IntArray | None, comparisons: int) -> Estimate:
        places = list(axis.places)
        if len(places) < FEWEST_MODELS:
            raise UndefinedError(f"a trend needs at least {FEWEST_MODELS} models, got {len(places)}")
        every = axis.relations[relation]
        noise = None if every.noise is None else every.noise[np.ix_(places, places)]
        level = bonferroni_confidence(comparisons, self.confidence)
        measured = MeasuredModels(every.values[places], noise)
        effect = attribute_effect(measured, axis.values, clusters=clusters, confidence=level)
        return mark_simultaneous(effect, comparisons, confidence=self.confidence)


def _name(part: ModelAttribute | None) -> str:
    return ACCURACY if part is None else part.value.replace("-", " ")


def _notes(slopes: Sequence[ScoreTrend], families: Sequence[ScoreTrend], unit: str) -> Iterator[str]:
    yield (
        "associations over these models, not effects: accuracy, year, size, data and family go together, and models "
        "are no random sample of those that could be trained"
    )
    yield (
        "correlation: Pearson's r of score and error, which also depends on the error rate; biserial: with the latent "
        "tendency to err, from the ranks of the scores, which does not if both are jointly normal"
    )
    yield f"accuracy is measured on every second {unit}, and its trend on the others: no error by chance is in both"
    dependent = any(row.families is not None for row in slopes)
    how = "models of one family as dependent" if dependent else "all models as independent"
    yield f"intervals treat {how}, and hold for {amount(len(slopes), 'trend')} together"
    if families:
        yield (
            "a family: its mean minus that of the others; these intervals treat models as independent, and hold for "
            f"{amount(len(families), 'difference')} together"
        )


def _left_out(models: Mapping[str, GradedModel], usable: Mapping[str, GradedModel]) -> Iterator[str]:
    if absent := [name for name in models if name not in usable]:
        yield (
            f"with fewer than {_FEWEST_OF_EACH} errors or right predictions, or equal scores, on half of the images, "
            f"left out: {listed(absent, most=_LISTED)}"
        )
