"""Queue of people's novel answers mixed with models' predictions, so that reviewers judge without knowing which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from regrade.core import InputError
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.core.label_set import without_version
from regrade.ledger import Ledger, Question
from regrade.store import Store
from regrade.studies import MultilabelScoring, Seeds, apply_review, draw_seeds
from regrade.workspace.loading import ProgressCallback, chosen_models, chosen_people, multilabel_scoring
from regrade.workspace.novel_review import all_novel, review_of_labels
from regrade.workspace.queue_filling import QueueFiller
from regrade.workspace.queue_result import QueueResult


def queue_people(
    store: Store,
    ledger: Ledger,
    test_set: str,
    labels: str,
    *,
    people: Sequence[str],
    seed: int,
    name: str | None,
    overlap: int | None,
    progress: ProgressCallback,
) -> QueueResult:
    """Queue people's unjudged answers, and for each of their images the prediction of a random model.

    Both are added together in random order, so that neither position nor item number tells them apart.
    """
    target = store.test_set(test_set)
    scoring = multilabel_scoring(store, target, labels, rule=None, collapsed=False)
    full = scoring.labels.full_name
    title = name or f"people {test_set} {without_version(full)}"
    filler = QueueFiller(ledger, title, Question.JUDGE, target, full, overlap)
    persons, models = chosen_people(store, target, people), chosen_models(store, target, ())
    if not persons:
        raise InputError(f"no person has answers on {test_set} yet: run regrade import people")
    if not models:
        raise InputError(
            f"no model has predictions on {test_set}: a blind review needs predictions to mix with people's answers"
        )
    novel = all_novel(store, target, labels, persons).without_judged(review_of_labels(store, target, labels))
    keys_in_other_queues, keys_in_queue = filler.keys_in_other_queues(), filler.keys_in_queue()
    new = ~filler.is_among(novel.examples, novel.classes, np.concatenate([keys_in_other_queues, keys_in_queue]))
    if not new.any() and filler.queue is None:
        raise InputError(f"all answers of these people on {test_set} are judged under {full} or in a queue already")
    examples, classes = novel.examples[new], novel.classes[new]
    predicted_classes, preferred = _predictions_with_preference(
        store, filler, progress(models), scoring, filler.pairs_of(keys_in_other_queues, images=examples)
    )
    # an image with a model's prediction in the queue gets no second one
    queued_examples, queued_classes = filler.pairs_of(keys_in_queue, images=examples)
    rng = np.random.default_rng(seed)
    seeds = draw_seeds(
        np.concatenate([examples, queued_examples]),
        np.concatenate([classes, queued_classes]),
        predicted_classes,
        preferred=preferred,
        rng=rng,
    )
    order = rng.permutation(len(examples) + len(seeds.examples))
    return filler.add_pairs(
        np.concatenate([examples, seeds.examples])[order],
        np.concatenate([classes, seeds.classes])[order],
        notes=_notes(len(persons), len(examples), seeds),
    )


def _notes(people: int, answers: int, seeds: Seeds) -> Iterator[str]:
    yield (
        f"novel answers of {amount(people, 'person', 'people')}: {answers:,}; "
        f"models' answers among them: {len(seeds.examples):,}"
    )
    if seeds.unanswered.size:
        yield f"without any model's answer, and so not blind: {amount(len(seeds.unanswered), 'image')}"


def _predictions_with_preference(
    store: Store,
    filler: QueueFiller,
    models: Iterable[str],
    scoring: MultilabelScoring,
    asked_pairs: tuple[IntArray, IntArray],
) -> tuple[IntArray, IntArray]:
    """Top-1 predictions (m, n) and their preference (m, n): 2 novel, 1 novel but in another queue, 0 judged."""
    target = filler.test_set
    review = store.reviews.read(target, scoring.labels)
    (examples, classes), predicted_classes, preferred = asked_pairs, [], []
    for model in models:
        predictions = store.predictions(target, model)
        judged = apply_review(predictions, scoring.judge(predictions, target), review, scoring.rule)
        level = np.where(judged.novel, 2, 0)
        level[examples[(predictions.top1[examples] == classes) & judged.novel[examples]]] = 1
        predicted_classes.append(predictions.top1)
        preferred.append(level)
    return np.stack(predicted_classes), np.stack(preferred)
