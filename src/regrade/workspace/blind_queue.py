"""A queue of people's novel answers with models' seeded among them: nothing in it tells whose answer is whose."""

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
from regrade.workspace.queue_filling import Filling
from regrade.workspace.queue_result import QueueResult


def queue_people(
    store: Store,
    ledger: Ledger,
    test_set: str,
    labels: str,
    *,
    persons: Sequence[str],
    seed: int,
    name: str | None,
    overlap: int | None,
    watch: ProgressCallback,
) -> QueueResult:
    """Queue what people answered and no one has judged, and a random model's answer for each of its images.

    All enter at once and in random order, so that neither places nor numbers of items tell them apart.
    """
    target = store.test_set(test_set)
    scoring = multilabel_scoring(store, target, labels, rule=None, collapsed=False)
    full = scoring.labels.full_name
    title = name or f"people {test_set} {without_version(full)}"
    filling = Filling(ledger, title, Question.JUDGE, target, full, overlap)
    who, models = chosen_people(store, target, persons), chosen_models(store, target, ())
    if not who:
        raise InputError(f"no person has answers on {test_set} yet: regrade import people")
    if not models:
        raise InputError(f"no model has predictions on {test_set}: people's answers alone would not be judged blind")
    novel = all_novel(store, target, labels, who).without_judged(review_of_labels(store, target, labels))
    elsewhere, here = filling.asked_elsewhere(), filling.asked_here()
    new = ~filling.is_asked(novel.examples, novel.classes, np.concatenate([elsewhere, here]))
    if not new.any() and filling.queue is None:
        raise InputError(f"no answer of these people is left to judge on {test_set} under {full}")
    examples, classes = novel.examples[new], novel.classes[new]
    answers, preferred = _answers(store, filling, watch(models), scoring, filling.pairs_of(elsewhere, images=examples))
    # an image whose seed is in the queue already gets no second one
    there_examples, there_classes = filling.pairs_of(here, images=examples)
    rng = np.random.default_rng(seed)
    seeds = draw_seeds(
        np.concatenate([examples, there_examples]),
        np.concatenate([classes, there_classes]),
        answers,
        preferred=preferred,
        rng=rng,
    )
    order = rng.permutation(len(examples) + len(seeds.examples))
    return filling.add_pairs(
        np.concatenate([examples, seeds.examples])[order],
        np.concatenate([classes, seeds.classes])[order],
        notes=_notes(len(who), len(examples), seeds),
    )


def _notes(people: int, answers: int, seeds: Seeds) -> Iterator[str]:
    yield (
        f"novel answers of {amount(people, 'person', 'people')}: {answers:,}; "
        f"models' answers among them: {len(seeds.examples):,}"
    )
    if seeds.unanswered.size:
        yield f"without any model's answer, and so not blind: {amount(len(seeds.unanswered), 'image')}"


def _answers(
    store: Store,
    filling: Filling,
    models: Iterable[str],
    scoring: MultilabelScoring,
    asked: tuple[IntArray, IntArray],
) -> tuple[IntArray, IntArray]:
    """What models say (m, n), and how it is preferred (m, n): novel, novel but asked elsewhere, judged before."""
    target = filling.test_set
    frame = store.review(target, scoring.labels)
    (examples, classes), answers, preferred = asked, [], []
    for model in models:
        given = store.predictions(target, model)
        judged = apply_review(given, scoring.judge(given, target), frame, scoring.rule)
        level = np.where(judged.novel, 2, 0)
        level[examples[(given.top1[examples] == classes) & judged.novel[examples]]] = 1
        answers.append(given.top1)
        preferred.append(level)
    return np.stack(answers), np.stack(preferred)
