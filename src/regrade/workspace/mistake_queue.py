"""Queues of mistakes: those that people have not given a category and a severity yet, of a model or of a slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.core.label_set import without_version
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Item, Ledger, NewItem, Question, Queue
from regrade.store import Store
from regrade.studies import RemainingMistakes, ReviewedLabels, remaining_mistakes
from regrade.studies.image_slice import image_slice
from regrade.studies.loading import chosen_models, reviewed_labels
from regrade.studies.mistakes.pair_annotations import Pair, PairAnnotation
from regrade.workspace.mistake_reuse import OtherReviews, other_reviews
from regrade.workspace.queue_filling import MAX_NAME_LENGTH, QueueFiller
from regrade.workspace.queue_result import QueueResult


def queue_mistakes(
    store: Store,
    ledger: Ledger,
    test_set: TestSet,
    labels: str,
    *,
    model: str,
    slice_name: str | None,
    name: str | None,
    overlap: int | None,
) -> QueueResult:
    """Queue the mistakes of a model that are not reviewed yet, all or those on a slice.

    A novel prediction is not a mistake until someone has judged it. A pair of image and class that people categorized
    as a mistake of another model is not asked again.
    """
    judged = mistake_labels(store, test_set, labels)
    full = judged.scoring.labels.full_name
    chosen_models(store, test_set, [model])
    filler = QueueFiller(
        ledger, name or f"mistakes {test_set.name} {model}", Question.MISTAKE, test_set, full, overlap, model
    )
    mistakes = model_mistakes(store, test_set, judged, model, slice_name)
    reviewed = _reviewed(store, test_set, model, mistakes)
    asked_before = filler.is_among(
        mistakes.examples, mistakes.classes, np.concatenate([filler.keys_in_other_queues(), filler.keys_in_queue()])
    )
    open_mistakes = ~reviewed & ~asked_before & (mistakes.classes != NO_ANSWER)
    split = _Split.of(mistakes, open_mistakes, other_reviews(store, ledger, test_set, full, model))
    where = full if slice_name is None else f"{full} in slice {slice_name}"
    if not (split.new.any() or split.reused) and filler.queue is None:
        raise InputError(
            f"no mistake of {model} is left to review on {test_set.name} under {where}{split.why(mistakes)}"
        )
    notes = [
        f"mistakes of {model} under {where}: {len(mistakes.examples):,}, reviewed before: {reviewed.sum():,}",
        *split.notes(),
        *_left_out(mistakes),
    ]
    return filler.add_pairs(
        mistakes.examples[split.new], mistakes.classes[split.new], notes=notes, reused=len(split.reused) or None
    )


def mistake_labels(store: Store, test_set: TestSet, labels: str) -> ReviewedLabels:
    """The labels that decide which predictions are mistakes: collapsed classes are none."""
    return reviewed_labels(store, test_set, labels, collapsed=bool(test_set.class_space.collapsed))


def model_mistakes(
    store: Store, test_set: TestSet, labels: ReviewedLabels, model: str, slice_name: str | None = None
) -> RemainingMistakes:
    """The remaining mistakes of a model, all or those on a slice."""
    predictions = store.predictions.read(test_set, model)
    if slice_name is not None:
        part = image_slice(test_set, slice_name)
        part.check_scored(labels.scored, labels.scoring.labels.full_name)
        predictions = predictions.within(part.inside)
    return remaining_mistakes(predictions, test_set, labels)


def reusable(mistakes: RemainingMistakes, reviews: OtherReviews) -> dict[Pair, PairAnnotation]:
    """The mistakes that people categorized for another model, with what they said, where all reviews agree."""
    pairs = zip(mistakes.examples.tolist(), mistakes.classes.tolist(), strict=True)
    settled = {pair: reviews.pairs.settled(pair) for pair in pairs if pair not in reviews.no_mistakes}
    return {pair: annotation for pair, annotation in settled.items() if annotation is not None}


def origins_in_words(annotations: Iterator[PairAnnotation]) -> str:
    """How many annotations come from the review of each model, most first."""
    counts = Counter(annotation.origin.model for annotation in annotations)
    return ", ".join(f"{model} {number:,}" for model, number in counts.most_common())


def _reviewed(store: Store, test_set: TestSet, model: str, mistakes: RemainingMistakes) -> BoolArray:
    """Mask (r,) of the mistakes that people categorized for this model."""
    if model not in store.mistakes.names(test_set.name):
        return np.zeros(len(mistakes.examples), dtype=bool)
    review, base = store.mistakes.read(test_set, model).own, len(test_set.class_space)
    keys = review.examples.astype(np.int64) * base + review.classes
    return np.isin(mistakes.examples * base + mistakes.classes, keys)


def _left_out(mistakes: RemainingMistakes) -> Iterator[str]:
    if mistakes.novel:
        yield f"novel, to be judged first (regrade review queue): {mistakes.novel:,}"
    if unanswered := int((mistakes.classes == NO_ANSWER).sum()):
        yield f"without an answer, and so of no kind: {unanswered:,}"


@dataclass(frozen=True, eq=False)
class _Split:
    """Mistakes to review: ``new`` (r,) are queued; people said something about the others as mistakes of other models.

    ``disputed`` of the new ones were categorized differently in several reviews.
    """

    new: BoolArray
    reused: dict[Pair, PairAnnotation]
    no_mistakes: int
    disputed: int

    @classmethod
    def of(cls, mistakes: RemainingMistakes, chosen: BoolArray, reviews: OtherReviews) -> _Split:
        """Split the chosen mistakes (r,) by what is said about them in the reviews of other models."""
        pairs = list(zip(mistakes.examples.tolist(), mistakes.classes.tolist(), strict=True))
        settled = reusable(mistakes, reviews)
        is_settled = np.array([pair in settled for pair in pairs], dtype=bool)
        is_none = np.array([pair in reviews.no_mistakes for pair in pairs], dtype=bool)
        is_disputed = np.array([reviews.pairs.is_disputed(pair) for pair in pairs], dtype=bool)
        new = chosen & ~is_none & ~is_settled
        reused = {pairs[row]: settled[pairs[row]] for row in np.flatnonzero(chosen & is_settled)}
        return cls(new, reused, int((chosen & is_none).sum()), int((new & is_disputed).sum()))

    def notes(self) -> Iterator[str]:
        """What is not asked again, and why some are."""
        if self.reused:
            origins = origins_in_words(iter(self.reused.values()))
            yield f"categorized for other models, and not asked again: {len(self.reused):,} ({origins})"
        if self.disputed:
            yield f"categorized differently for other models, and asked again: {self.disputed:,}"
        if self.no_mistakes:
            yield f"found to be no mistakes of other models, to be judged again there: {self.no_mistakes:,}"

    def why(self, mistakes: RemainingMistakes) -> str:
        """Why nothing is left to review; empty if all was reviewed."""
        parts = [f"to be judged first: {amount(mistakes.novel, 'novel prediction')}"] if mistakes.novel else []
        return "".join(f"; {part}" for part in (*parts, *self.notes()))


def judge_again(ledger: Ledger, queue: Queue, item: Item) -> Item:
    """The item that asks whether the class of a mistake decided as "no mistake" is correct.

    This is the existing item for the same labels, which can be reopened, otherwise a new one with the same overlap.
    """
    decided = ledger.decisions.current(item.id)
    if decided is None or decided.answer != NO_MISTAKE:
        raise InputError("only a mistake that was decided to be no mistake can be judged again")
    discussions = ledger.discussions
    same = (Question.JUDGE, queue.test_set, without_version(queue.labels))
    judging = [
        candidate
        for candidate in ledger.queues.all()
        if (candidate.question, candidate.test_set, without_version(candidate.labels)) == same
    ]
    existing = discussions.items_about_same_pair(item, judging)
    if existing:
        return existing[-1]
    name = f"second look {queue.name}"[:MAX_NAME_LENGTH].rstrip()
    again = next((candidate for candidate in judging if candidate.name == name), None) or ledger.queues.create(
        name, Question.JUDGE, test_set=queue.test_set, labels=queue.labels, overlap=queue.overlap
    )
    ledger.items.add(again, [NewItem(item.example, item.class_id)])
    (added,) = discussions.items_about_same_pair(item, [again])
    return added
