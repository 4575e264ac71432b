"""Mistakes study on the data of a workspace."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.classes import superclasses
from regrade.core import InputError, LabelSet, MistakeAnnotations, Predictions, TestSet, UnknownName
from regrade.core.arguments import refuse_text
from regrade.store import FIRST_MODEL, Store
from regrade.studies import MistakeReviews, Mistakes, TriageSources, mistakes
from regrade.workspace.loading import ProgressCallback, reviewed_labels

_DEFAULT_PAIRS = "real"  # default label set for which classes occur together


def study_mistakes(
    store: Store,
    test_set: TestSet,
    *,
    labels: str,
    relabeled: str | None,
    collapsed: bool,
    models: Sequence[str],
    against: str | None,
    other_sets: Sequence[str],
    least_major: int | None,
    pairs_from: str | None,
    progress: ProgressCallback,
) -> Mistakes:
    """Study the mistakes of the named models (default: all with predictions); a model may have only a review."""
    refuse_text(other_sets, "other_sets")
    store.check_manifests(test_set.name, [*models, *([against] if against else [])])
    with_predictions, reviewed = store.model_names(test_set.name), store.mistake_review_names(test_set.name)
    if not models and not with_predictions and not reviewed:
        raise InputError(f"{test_set.name} has neither predictions nor reviews of mistakes yet: run {FIRST_MODEL}")
    chosen = _chosen(models, with_predictions, reviewed, test_set)
    by_review = tuple(name for name in chosen if name not in with_predictions)
    if least_major is not None and not reviewed:
        raise InputError("a slice of major mistakes requires reviews of mistakes: run regrade import mistakes")
    names = [name for name in chosen if name in with_predictions]
    reviews = _reviews(reviewed, models, against)
    source = None if against is None else _source(store, test_set, against)
    if against is not None:
        _check_comparable(
            against,
            models,
            names if against in with_predictions else reviews,
            by_review=against not in with_predictions,
        )
    return mistakes(
        test_set,
        (store.predictions(test_set, name) for name in progress(names)),
        labels=reviewed_labels(store, test_set, labels, collapsed=collapsed),
        relabeled=None if relabeled is None else reviewed_labels(store, test_set, relabeled, collapsed=collapsed),
        reviews=MistakeReviews(
            [store.mistake_review(test_set, name) for name in reviews],
            _reviews_of(store, other_sets),
            by_review,
            least_major,
        ),
        triage=TriageSources(superclasses(test_set.class_space), pair_labels(store, test_set, labels, pairs_from)),
        against=source,
        confidence=store.config.confidence,
    )


def _reviews(reviewed: Sequence[str], models: Sequence[str], against: str | None) -> list[str]:
    """The reviews of the named models; all reviews if none is named or none of these has a review."""
    named = [name for name in reviewed if name in (*models, against)] if models else []
    return named or list(reviewed)


def _check_comparable(against: str, models: Sequence[str], candidates: Sequence[str], *, by_review: bool) -> None:
    """Raise if no model can be compared with ``against``: both need predictions, or both need reviews."""
    if any(name != against for name in candidates):
        return
    if list(models) == [against]:
        raise InputError(f"{against} cannot be compared with itself: name another model too")
    kind = "a review of its mistakes" if by_review else "predictions"
    raise InputError(f"no model to compare with {against}: no other model has {kind}")


def _chosen(
    models: Sequence[str], with_predictions: Sequence[str], reviewed: Sequence[str], test_set: TestSet
) -> Sequence[str]:
    refuse_text(models, "models")
    everyone = [*with_predictions, *reviewed]
    for name in models:
        if name not in everyone:
            raise UnknownName(f"model on {test_set.name}", name, everyone)
    if len(set(models)) < len(models):
        raise InputError("a model is named twice")
    return models or with_predictions or reviewed


def _reviews_of(store: Store, names: Sequence[str]) -> list[MistakeAnnotations]:
    """The reviews of other test sets; a test set without reviews raises."""
    reviews = []
    for name in names:
        test_set = store.test_set(name)
        reviewed = store.mistake_review_names(name)
        if not reviewed:
            raise InputError(f"{name} has no reviews of mistakes: run regrade import mistakes")
        reviews += [store.mistake_review(test_set, model) for model in reviewed]
    return reviews


def _source(store: Store, test_set: TestSet, name: str) -> Predictions | MistakeAnnotations:
    """A model's predictions, or the review of its mistakes if it has none."""
    with_predictions, reviewed = store.model_names(test_set.name), store.mistake_review_names(test_set.name)
    if name in with_predictions:
        return store.predictions(test_set, name)
    if name in reviewed:
        return store.mistake_review(test_set, name)
    raise UnknownName(f"model on {test_set.name}", name, [*with_predictions, *reviewed])


def pair_labels(store: Store, test_set: TestSet, labels: str, pairs_from: str | None = None) -> LabelSet:
    """The labels that show which classes occur together: as named, otherwise ReaL, otherwise the study's labels."""
    if pairs_from is not None:
        return store.label_set(test_set, pairs_from)
    stored = {full.rpartition("@")[0] for full in store.label_set_names(test_set.name)}
    return store.label_set(test_set, _DEFAULT_PAIRS if _DEFAULT_PAIRS in stored else labels)
