"""The mistakes study: mistakes of models by flow, triage, category, distance, confused pairs and severity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from regrade.classes import Superclasses
from regrade.core import Estimate, LabelSet, MistakeAnnotations, Predictions, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.studies.hard_slices import hard_slice, hard_slice_caution, took_part
from regrade.studies.image_slice import ImageSlice
from regrade.studies.mistakes.categories import MajorScore, MajorSlice, categories_of, major_slice
from regrade.studies.mistakes.confused_classes import DistanceCount, PairCounter, distances_of, reviewed_distances
from regrade.studies.mistakes.explanations import (
    ExplainedMistake,
    ExplainedModel,
    Explanations,
    ExplanationSources,
    explain,
    spurious_mistakes,
)
from regrade.studies.mistakes.flow import Change, Flow, change_between, flow_of, share_of
from regrade.studies.mistakes.flow_paths import FlowPaths, flow_paths, judged_mistakes
from regrade.studies.mistakes.mistake_labels import (
    MistakeLabels,
    MistakeList,
    ReviewedPredictions,
    reviewed_mistakes,
)
from regrade.studies.mistakes.out_of_vocabulary import OutOfVocabulary
from regrade.studies.mistakes.result import Mistakes
from regrade.studies.mistakes.severity import ModelSeverity, SeveritySources, severe_images, severity_of
from regrade.studies.mistakes.triage import (
    Triage,
    TriageAgreement,
    TriageRow,
    make_triage,
    model_agreement,
    review_agreement,
)
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import problem_notes


@dataclass(frozen=True, eq=False)
class MistakeReviews:
    """Reviews of mistakes on this test set (also of models that are not studied) and on ``other_sets``.

    ``for_severities`` are the reviews on this test set that say how severe a prediction is, of any model (default:
    ``on_test_set``). ``studied`` names the models without predictions that are studied by their reviews.
    ``least_major`` is the number of reviews with a major mistake that puts an image into the slice of major mistakes.
    """

    on_test_set: Sequence[MistakeAnnotations] = ()
    other_sets: Sequence[MistakeAnnotations] = ()
    studied: Sequence[str] = ()
    least_major: int | None = None
    for_severities: Sequence[MistakeAnnotations] | None = None


@dataclass(frozen=True, eq=False)
class TriageSources:
    """Inputs of the triage besides the labels: superclasses, and labels that show which classes occur together.

    ``without_class`` recognizes objects that no class stands for.
    """

    superclasses: Superclasses
    pairs_from: LabelSet | None = None
    without_class: OutOfVocabulary | None = None


def mistakes(
    test_set: TestSet,
    predictions: Iterable[Predictions],
    *,
    labels: ReviewedLabels,
    triage: TriageSources,
    relabeled: ReviewedLabels | None = None,
    reviews: MistakeReviews | None = None,
    against: Predictions | MistakeAnnotations | None = None,
    within: ImageSlice | None = None,
    explained_by: ExplanationSources | None = None,
    clusters: Mapping[str, IntArray] | None = None,
    confidence: float = 0.95,
) -> Mistakes:
    """Study the mistakes of models; predictions are read one model at a time.

    ``labels`` include the decisions of their review; ``relabeled`` is a later version of the labels, if there is one.
    The mistakes of the other models are compared with those of ``against``, and spurious ones are explained by near
    training images. ``within`` restricts the study to the images of a slice; the reviews of other test sets are used as
    they are. ``clusters`` are those of the images (n,) of each test set that has any, by name: images of one cluster
    are dependent.
    """
    reviews, by_set = reviews or MistakeReviews(), clusters or {}
    ground = MistakeLabels(test_set, replace(labels, review=None), relabeled or labels, by_set.get(test_set.name))
    if within is not None:
        within.check_scored(ground.before.scored | ground.after.scored, labels.scoring.labels.full_name)
        reviews = replace(reviews, on_test_set=[review.within(within.inside) for review in reviews.on_test_set])
        against = None if against is None else against.within(within.inside)
    on_test_set = reviews.on_test_set
    collector = _Collector(
        ground,
        make_triage(
            ground,
            superclasses=triage.superclasses,
            pairs_from=triage.pairs_from,
            reviews=on_test_set,
            without_class=triage.without_class,
        ),
        reviews,
        None if against is None else _listed(against, ground),
        confidence,
        PairCounter(ground),
        within,
        explained_by=explained_by,
        clusters=by_set,
    )
    for model in predictions:
        collector.add(model)
    for review in on_test_set:
        if review.model in reviews.studied:
            collector.add_list(reviewed_mistakes(review))
            collector.explain(reviewed_mistakes(review))
    return collector.result(triage, relabeled)


@dataclass
class _Collector:
    """Collects each part of the result, one model at a time."""

    ground: MistakeLabels
    triage: Triage
    reviews: MistakeReviews
    against: MistakeList | None
    confidence: float
    pairs: PairCounter
    within: ImageSlice | None = None
    flows: list[Flow] = field(default_factory=list)
    triaged: list[TriageRow] = field(default_factory=list)
    agreement: list[TriageAgreement] = field(default_factory=list)
    distances: list[DistanceCount] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    scores: list[MajorScore] = field(default_factory=list)
    paths: list[FlowPaths] = field(default_factory=list)
    severities: list[ModelSeverity] = field(default_factory=list)
    coverage: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    explained_by: ExplanationSources | None = None
    clusters: Mapping[str, IntArray] = field(default_factory=dict)
    explained: list[tuple[ExplainedModel, tuple[ExplainedMistake, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        reviews, least = self.reviews.on_test_set, self.reviews.least_major
        name = None if self.within is None else self.within.name
        self.major: MajorSlice | None = major_slice(reviews, least=least, within=name) if reviews else None

    def add(self, predictions: Predictions) -> None:
        """Add one model's predictions, on the slice if there is one."""
        top1 = self._top1(predictions)
        if self.within is not None:
            predictions = predictions.within(self.within.inside)
        judged = self.ground.grade(predictions)
        self._add_severity(predictions, judged, top1)
        self.flows.append(flow_of(predictions, self.ground, judged, confidence=self.confidence))
        self.triaged.append(self.triage.row(predictions, confidence=self.confidence))
        for review in self.reviews.on_test_set:
            self._add_agreement(predictions, review)
        if self.major is not None:
            counted = judged.after.scored & self.major.inside
            share = share_of(judged.after.right, counted, self.ground.clusters, self.confidence)
            self.scores.append(MajorScore(predictions.model, share))
        listed = self.ground.mistakes_of(predictions, judged)
        self.add_list(listed)
        self.explain(listed, (predictions, judged.after.right & judged.after.scored))

    def explain(self, listed: MistakeList, correct: tuple[Predictions, BoolArray] | None = None) -> None:
        """Explain the spurious ones of a model's mistakes by near training images, if there are any to explain by."""
        if self.explained_by is None:
            return
        review = next((each for each in self.reviews.on_test_set if each.model == listed.source), None)
        spurious = spurious_mistakes(listed, self.triage, review)
        self.explained.append(
            explain(
                spurious,
                correct,
                self.ground.test_set,
                self.explained_by,
                self.ground.clusters,
                confidence=self.confidence,
            )
        )

    def _explanations(self, order: dict[str, int]) -> Explanations | None:
        if self.explained_by is None:
            return None
        ranked = sorted(self.explained, key=lambda entry: order[entry[0].model])
        return Explanations(
            self.explained_by.training_set.name,
            max((self.explained_by.neighbors(row.model).question.neighbors for row, _ in ranked), default=0),
            tuple(row for row, _ in ranked),
            tuple(mistake for _, mistakes in ranked for mistake in mistakes),
        )

    @cached_property
    def _severity_sources(self) -> SeveritySources:
        reviews = self.reviews
        return SeveritySources.of(reviews.on_test_set if reviews.for_severities is None else reviews.for_severities)

    def _top1(self, predictions: Predictions) -> Estimate | None:
        """Accuracy on all images of the test set under the original labels; None if none is labeled."""
        counted = predictions.counted & self.ground.test_set.labeled
        is_label = predictions.top1 == self.ground.test_set.labels
        return share_of(is_label, counted, self.ground.clusters, self.confidence)

    def _add_severity(self, predictions: Predictions, judged: ReviewedPredictions, top1: Estimate | None) -> None:
        paths = flow_paths(predictions, self.ground, judged, self._severity_sources)
        row = severity_of(
            predictions,
            judged.after,
            paths.categories,
            severe_images(predictions, judged_mistakes(predictions, judged), self._severity_sources),
            self.ground.clusters,
            top1=top1,
            confidence=self.confidence,
        )
        chosen_by = hard_slice(self.ground.test_set, None if self.within is None else self.within.name)
        self.paths.append(paths)
        self.severities.append(replace(row, chose=chosen_by is not None and took_part(chosen_by, row.model)))
        self._add_coverage(predictions, judged)

    def _add_coverage(self, predictions: Predictions, judged: ReviewedPredictions) -> None:
        """Note a review that reuses others and does not cover all mistakes: what it has is what models share."""
        review = next((review for review in self.reviews.on_test_set if review.model == predictions.model), None)
        if review is None or not any(review.reused):
            return
        mistakes = judged_mistakes(predictions, judged)
        covered = int((mistakes[review.examples] & (predictions.top1[review.examples] == review.classes)).sum())
        if covered < mistakes.sum():
            self.coverage.append(
                f"caution: the review of {review.model} covers {covered:,} of its {int(mistakes.sum()):,} mistakes "
                f"(reused from other models: {len(review) - len(review.own):,}): mistakes that models share are "
                "overrepresented until the rest is reviewed"
            )

    def add_list(self, listed: MistakeList) -> None:
        """Add a list of mistakes, from predictions or from a review."""
        self.pairs.add(listed)
        if self.ground.test_set.class_space.hierarchy is not None and not listed.by_people:
            self.distances += distances_of(listed, self.ground, confidence=self.confidence)
        if not listed.by_people:
            self._compare(listed)

    def _compare(self, listed: MistakeList) -> None:
        """Compare mistakes with those of ``against``, if both are from predictions or both from reviews."""
        against = self.against
        if against is not None and listed.source != against.source and listed.by_people == against.by_people:
            self.changes.append(change_between(listed, against, self.ground.clusters, confidence=self.confidence))

    def _add_agreement(self, predictions: Predictions, review: MistakeAnnotations) -> None:
        if review.model == predictions.model:
            if (predictions.top1[review.examples] != review.classes).any():
                self.stale.append(review.model)
            return
        row = model_agreement(predictions, review, self.triage, confidence=self.confidence)
        self.agreement += [row] if row else []

    def result(self, sources: TriageSources, relabeled: ReviewedLabels | None) -> Mistakes:
        """Return the collected result, best models first."""
        reviews, home = self.reviews.on_test_set, self.ground.test_set
        for review in reviews:
            self._compare(reviewed_mistakes(review))
        ranked = [flow.model for flow in sorted(self.flows, key=_best_first)]
        models = dict.fromkeys([*ranked, *(review.model for review in reviews)])
        order = {model: place for place, model in enumerate(models)}
        own = [review_agreement(review, self.triage, confidence=self.confidence) for review in reviews]
        distances = [] if home.class_space.hierarchy is None else self._reviewed_distances()
        scores = tuple(sorted(self.scores, key=lambda score: order[score.model]))
        return Mistakes(
            home.name,
            self.ground.before.scoring.labels.full_name,
            relabeled.scoring.labels.full_name if relabeled else None,
            tuple(sorted(self.flows, key=lambda flow: order[flow.model])),
            tuple(sorted(self.triaged, key=lambda row: order[row.model])),
            (
                *(row for row in own if row),
                *sorted(self.agreement, key=lambda row: (row.review, order[row.source])),
            ),
            categories_of(
                [*reviews, *self.reviews.other_sets], self.clusters, home=home.name, confidence=self.confidence
            ),
            (*distances, *sorted(self.distances, key=lambda count: order[count.source])),
            self.pairs.tail(),
            tuple(sorted(self.changes, key=lambda change: order[change.model])),
            None if self.major is None else replace(self.major, scores=scores),
            self.confidence,
            self._notes(),
            self._triage_notes(sources),
            None if self.within is None else self.within.name,
            self._explanations(order),
            tuple(sorted(self.severities, key=lambda row: order[row.model])),
            self._slice_notes(ranked),
            tuple(sorted(self.paths, key=lambda row: order[row.model])),
            tuple(reviews),
            tuple(self.coverage),
        )

    def _slice_notes(self, models: Sequence[str]) -> tuple[str, ...]:
        """How many images of the slice are scored, and a caution if they were chosen because models fail on them."""
        if self.within is None:
            return ()
        part, labels = self.within, self.ground.after
        scored, notes = int((labels.scored & part.inside).sum()), []
        if scored < part.images:
            name = labels.scoring.labels.full_name
            notes.append(f"{name} scores {scored:,} of the {amount(part.images, 'image')} of slice {part.name}")
        if (slice_set := hard_slice(self.ground.test_set, part.name)) is not None:
            notes.append(f"caution: {hard_slice_caution(slice_set, part.name, models)}")
        return tuple(notes)

    def _reviewed_distances(self) -> list[DistanceCount]:
        return [
            count
            for review in self.reviews.on_test_set
            for count in reviewed_distances(review, self.ground, confidence=self.confidence)
        ]

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if any(flow.open for flow in self.flows):
            notes.append("novel: predictions that no one has judged; they count as wrong until someone does")
        if self.against is not None and self.against.by_people:
            notes.append(f"{self.against.source} is known by its review: only reviews are compared with it")
        if self.stale:
            notes.append(f"reviewed answers of {', '.join(self.stale)} are not those of the stored predictions")
        notes += problem_notes(self.ground.after.review)
        inside = True if self.within is None else self.within.inside
        before, after = self.ground.before.scored & inside, self.ground.after.scored & inside
        if self.flows and (before != after).any():
            notes.append(
                f"multi-label accuracies are over the images that each version scores: {before.sum():,} before and "
                f"{after.sum():,} after, {(before & after).sum():,} of them the same"
            )
        return tuple(notes)

    def _triage_notes(self, sources: TriageSources) -> tuple[str, ...]:
        rule, pairs = sources.superclasses.rule, sources.pairs_from
        together = "left out, no label set says which classes occur together"
        if pairs is not None:
            count = int(np.triu(self.triage.together, k=1).sum())
            together = f"{amount(count, 'pair')} of classes that {pairs.full_name} has in at least 2 images"
        return (
            f"same superclass: {rule or 'left out, none is known for these classes'}",
            f"co-occurring class: {together}",
            _vocabulary_note(sources.without_class),
        )


def _vocabulary_note(source: OutOfVocabulary | None) -> str:
    if source is None:
        return "object without a class: left out, it needs embeddings of images and of texts (--vocabulary)"
    return (
        f"object without a class: of related WordNet concepts, the embeddings of {source.model} match one that is no "
        f"class ({len(source.vocabulary.ids):,} concepts have a text embedding)"
    )


def _listed(source: Predictions | MistakeAnnotations, ground: MistakeLabels) -> MistakeList:
    if isinstance(source, MistakeAnnotations):
        return reviewed_mistakes(source)
    return ground.mistakes_of(source, ground.grade(source))


def _best_first(flow: Flow) -> tuple[float, str]:
    return -flow.after.over_images.value, flow.model
