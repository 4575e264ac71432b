"""The study of mistakes: which are mistakes, of what kind, how grave, and whose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.classes import Superclasses
from regrade.core import LabelSet, MistakeReview, Predictions, TestSet
from regrade.core.amounts import amount
from regrade.stats import proportion
from regrade.studies.mistakes.agreement import TriageAgreement, model_agreement, review_agreement
from regrade.studies.mistakes.categories import categories_of
from regrade.studies.mistakes.changes import Change, change_between
from regrade.studies.mistakes.distances import DistanceCount, distances_of, reviewed_distances
from regrade.studies.mistakes.flow import Flow, flow_of
from regrade.studies.mistakes.major import MajorScore, MajorSlice, major_slice
from regrade.studies.mistakes.mistake_labels import MistakeLabels, MistakeList, reviewed_mistakes
from regrade.studies.mistakes.pairs import PairCounter
from regrade.studies.mistakes.result import Mistakes
from regrade.studies.mistakes.triage import Triage, TriageRow, triage_against
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import problem_notes


@dataclass(frozen=True, eq=False)
class MistakeReviews:
    """What people said of mistakes: on this test set, of other models than those studied too, and on ``other_sets``.

    ``studied`` names the models that are studied by their reviews, since they have no predictions; ``least_major`` is
    how many reviews must call an image's mistake major for it to enter the slice of major mistakes.
    """

    here: Sequence[MistakeReview] = ()
    other_sets: Sequence[MistakeReview] = ()
    studied: Sequence[str] = ()
    least_major: int | None = None


@dataclass(frozen=True, eq=False)
class TriageSources:
    """What the triage needs beside the labels: superclasses, and labels that show which classes occur together."""

    superclasses: Superclasses
    pairs_from: LabelSet | None = None


def mistakes(
    test_set: TestSet,
    predictions: Iterable[Predictions],
    *,
    labels: ReviewedLabels,
    triage: TriageSources,
    relabeled: ReviewedLabels | None = None,
    reviews: MistakeReviews | None = None,
    against: Predictions | MistakeReview | None = None,
    confidence: float = 0.95,
) -> Mistakes:
    """Study the mistakes of models, taken one after another.

    ``labels`` come with the verdicts of their review; ``relabeled`` is a later version of them, if there is one, and
    ``against`` the model whose mistakes the others' are held against.
    """
    said = reviews or MistakeReviews()
    ground = MistakeLabels(test_set, replace(labels, review=None), relabeled or labels)
    pass_ = _Pass(
        ground,
        triage_against(ground, superclasses=triage.superclasses, pairs_from=triage.pairs_from, reviews=said.here),
        said,
        None if against is None else _listed(against, ground),
        confidence,
        PairCounter(ground),
    )
    for answers in predictions:
        pass_.add(answers)
    for review in said.here:
        if review.model in said.studied:
            pass_.add_list(reviewed_mistakes(review))
    return pass_.result(triage, relabeled)


@dataclass
class _Pass:
    """One walk through the models, gathering each part of the result."""

    ground: MistakeLabels
    triage: Triage
    reviews: MistakeReviews
    against: MistakeList | None
    confidence: float
    pairs: PairCounter
    flows: list[Flow] = field(default_factory=list)
    triaged: list[TriageRow] = field(default_factory=list)
    agreement: list[TriageAgreement] = field(default_factory=list)
    distances: list[DistanceCount] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    scores: list[MajorScore] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        here = self.reviews.here
        self.major: MajorSlice | None = major_slice(here, least=self.reviews.least_major) if here else None

    def add(self, predictions: Predictions) -> None:
        """Take in one model's predictions."""
        look = self.ground.look(predictions)
        self.flows.append(flow_of(predictions, self.ground, look, confidence=self.confidence))
        self.triaged.append(self.triage.row(predictions, confidence=self.confidence))
        for review in self.reviews.here:
            self._hold_against(predictions, review)
        if self.major is not None:
            counted = look.after.scored & self.major.inside
            right, images = int((look.after.right & counted).sum()), int(counted.sum())
            share = proportion(right, images, confidence=self.confidence) if images else None
            self.scores.append(MajorScore(predictions.model, share))
        self.add_list(self.ground.mistakes_of(predictions, look))

    def add_list(self, found: MistakeList) -> None:
        """Take in a list of mistakes, from predictions or from a review."""
        self.pairs.add(found)
        if self.ground.test_set.class_space.hierarchy is not None and not found.by_people:
            self.distances += distances_of(found, self.ground, confidence=self.confidence)
        if not found.by_people:
            self._compare(found)

    def _compare(self, found: MistakeList) -> None:
        """Hold mistakes against the other model's where both are known in the same way."""
        other = self.against
        if other is not None and found.source != other.source and found.by_people == other.by_people:
            self.changes.append(change_between(found, other, confidence=self.confidence))

    def _hold_against(self, predictions: Predictions, review: MistakeReview) -> None:
        if review.model == predictions.model:
            if (predictions.top1[review.examples] != review.classes).any():
                self.stale.append(review.model)
            return
        row = model_agreement(predictions, review, self.triage, confidence=self.confidence)
        self.agreement += [row] if row else []

    def result(self, sources: TriageSources, relabeled: ReviewedLabels | None) -> Mistakes:
        """Everything that was gathered, best models first."""
        here, home = self.reviews.here, self.ground.test_set
        for review in here:
            self._compare(reviewed_mistakes(review))
        ranked = [flow.model for flow in sorted(self.flows, key=_best_first)]
        order = {model: place for place, model in enumerate(dict.fromkeys([*ranked, *(r.model for r in here)]))}
        own = [review_agreement(review, self.triage, confidence=self.confidence) for review in here]
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
            categories_of([*here, *self.reviews.other_sets], home=home.name, confidence=self.confidence),
            (*distances, *sorted(self.distances, key=lambda count: order[count.source])),
            self.pairs.tail(),
            tuple(sorted(self.changes, key=lambda change: order[change.model])),
            None if self.major is None else replace(self.major, scores=scores),
            self.confidence,
            self._notes(),
            self._triage_notes(sources),
        )

    def _reviewed_distances(self) -> list[DistanceCount]:
        return [
            count
            for review in self.reviews.here
            for count in reviewed_distances(review, self.ground, confidence=self.confidence)
        ]

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if any(flow.open for flow in self.flows):
            notes.append("novel: predictions that no one has judged; they count as wrong until someone does")
        if self.against is not None and self.against.by_people:
            notes.append(f"{self.against.source} is known by its review: only reviews are held against it")
        if self.stale:
            notes.append(f"reviewed answers of {', '.join(self.stale)} are not those of the stored predictions")
        notes += problem_notes(self.ground.after.review)
        before, after = self.ground.before.scored, self.ground.after.scored
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
            "out-of-vocabulary: left out, it needs embeddings of images",
        )


def _listed(source: Predictions | MistakeReview, ground: MistakeLabels) -> MistakeList:
    if isinstance(source, MistakeReview):
        return reviewed_mistakes(source)
    return ground.mistakes_of(source, ground.look(source))


def _best_first(flow: Flow) -> tuple[float, str]:
    return -flow.after.over_images.value, flow.model
