"""Loading what a study of mistakes asks for: models or their reviews, labels, verdicts and what the triage needs."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.classes import superclasses
from regrade.core import InputError, LabelSet, MistakeReview, Predictions, TestSet, UnknownName
from regrade.core.arguments import refuse_text
from regrade.store import FIRST_MODEL, Store
from regrade.studies import MistakeReviews, Mistakes, TriageSources, mistakes
from regrade.workspace.loading import ProgressCallback, reviewed_labels

_USUAL_PAIRS = "real"  # the label set that shows which classes occur together, if it is here


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
    watch: ProgressCallback,
) -> Mistakes:
    """Study the mistakes of the named models, or of all that have predictions; a name may be that of a review only."""
    refuse_text(other_sets, "other_sets")
    store.check_manifests(test_set.name, [*models, *([against] if against else [])])
    known, reviewed = store.model_names(test_set.name), store.mistake_review_names(test_set.name)
    if not models and not known and not reviewed:
        raise InputError(f"{test_set.name} has neither predictions nor reviews of mistakes yet: {FIRST_MODEL}")
    wanted = _chosen(models, known, reviewed, test_set)
    by_review = tuple(name for name in wanted if name not in known)
    if least_major is not None and not reviewed:
        raise InputError("a slice of major mistakes needs people's reviews of mistakes: regrade import mistakes")
    names = [name for name in wanted if name in known]
    reviews = _reviews(reviewed, models, against)
    source = None if against is None else _source(store, test_set, against)
    if against is not None:
        _check_others(against, models, names if against in known else reviews, by_review=against not in known)
    return mistakes(
        test_set,
        (store.predictions(test_set, name) for name in watch(names)),
        labels=reviewed_labels(store, test_set, labels, collapsed=collapsed),
        relabeled=None if relabeled is None else reviewed_labels(store, test_set, relabeled, collapsed=collapsed),
        reviews=MistakeReviews(
            [store.mistake_review(test_set, name) for name in reviews],
            _elsewhere(store, other_sets),
            by_review,
            least_major,
        ),
        triage=TriageSources(superclasses(test_set.class_space), pair_labels(store, test_set, labels, pairs_from)),
        against=source,
        confidence=store.config.confidence,
    )


def _reviews(reviewed: Sequence[str], models: Sequence[str], against: str | None) -> list[str]:
    """The reviews of the models that were named, all of them if none was or none of these has one."""
    named = [name for name in reviewed if name in (*models, against)] if models else []
    return named or list(reviewed)


def _check_others(against: str, models: Sequence[str], others: Sequence[str], *, by_review: bool) -> None:
    """Raise where there is nothing to hold against a model: predictions go with predictions, reviews with reviews."""
    if any(name != against for name in others):
        return
    if list(models) == [against]:
        raise InputError(f"{against} cannot be held against itself: name another model beside it")
    kind = "review of its mistakes, and there is no other review" if by_review else "predictions, and no other model is"
    raise InputError(f"nothing can be held against {against}: it is known by its {kind} here")


def _chosen(models: Sequence[str], known: Sequence[str], reviewed: Sequence[str], test_set: TestSet) -> Sequence[str]:
    refuse_text(models, "models")
    everyone = [*known, *reviewed]
    for name in models:
        if name not in everyone:
            raise UnknownName(f"model on {test_set.name}", name, everyone)
    if len(set(models)) < len(models):
        raise InputError("a model is named twice")
    return models or known or reviewed


def _elsewhere(store: Store, names: Sequence[str]) -> list[MistakeReview]:
    """The reviews of other test sets; one without any raises."""
    found = []
    for name in names:
        other = store.test_set(name)
        reviewed = store.mistake_review_names(name)
        if not reviewed:
            raise InputError(f"{name} has no reviews of mistakes: regrade import mistakes")
        found += [store.mistake_review(other, model) for model in reviewed]
    return found


def _source(store: Store, test_set: TestSet, name: str) -> Predictions | MistakeReview:
    """A model's predictions, or the review of its mistakes where there are none."""
    known, reviewed = store.model_names(test_set.name), store.mistake_review_names(test_set.name)
    if name in known:
        return store.predictions(test_set, name)
    if name in reviewed:
        return store.mistake_review(test_set, name)
    raise UnknownName(f"model on {test_set.name}", name, [*known, *reviewed])


def pair_labels(store: Store, test_set: TestSet, labels: str, wanted: str | None = None) -> LabelSet:
    """The labels that show which classes occur together: as named, ReaL's, or those of the study itself."""
    if wanted is not None:
        return store.label_set(test_set, wanted)
    stored = {full.rpartition("@")[0] for full in store.label_set_names(test_set.name)}
    return store.label_set(test_set, _USUAL_PAIRS if _USUAL_PAIRS in stored else labels)
