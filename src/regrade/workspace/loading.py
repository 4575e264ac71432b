"""Loading from the store what a study asks for: models, labels, and how each prediction is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from regrade.classes import class_map_from_file, class_space_from_file
from regrade.core import PERSON_PREFIX, ClassMap, ClassSpace, InputError, MapRule, Predictions, TestSet, UnknownName
from regrade.core.arguments import member, refuse_text
from regrade.metrics import MultilabelRule
from regrade.store import FIRST_MODEL, Store
from regrade.studies import CleanCorrectness, MultilabelScoring, ReviewedLabels, Scoring, scoring_for

ProgressCallback = Callable[[Sequence[str]], Iterable[str]]
"""Goes through names one by one, showing how far it is."""


def space_named(store: Store, name: str | Path | ClassSpace) -> ClassSpace:
    """A class space by name, or from a CSV, JSON or folder; one from a file is not stored yet."""
    if isinstance(name, ClassSpace):
        return name
    if str(name) in store.class_space_names() or not Path(name).exists():
        return store.class_space(str(name))
    return class_space_from_file(Path(name))


def chosen_models(store: Store, test_set: TestSet, models: Sequence[str]) -> tuple[str, ...]:
    """The models that were named, each known and once; all of the test set's if none was. People are not models."""
    store.check_manifests(test_set.name, models)
    return _chosen(models, store.model_names(test_set.name), "model", test_set)


def chosen_people(store: Store, test_set: TestSet, people: Sequence[str]) -> tuple[str, ...]:
    """The people that were named, with or without what their names begin with; all of the test set's if none was."""
    refuse_text(people, "people")
    full = [name if name.startswith(PERSON_PREFIX) else PERSON_PREFIX + name for name in people]
    store.check_manifests(test_set.name, full)
    return _chosen(full, store.people_names(test_set.name), "person", test_set)


def chosen_rows(store: Store, test_set: TestSet, names: Sequence[str]) -> tuple[str, ...]:
    """The models and people that were named; all models and all people of the test set if none was."""
    store.check_manifests(test_set.name, names)
    everyone = (*store.model_names(test_set.name), *store.people_names(test_set.name))
    return _chosen(names, everyone, "model", test_set)


def _chosen(names: Sequence[str], known: Sequence[str], what: str, test_set: TestSet) -> tuple[str, ...]:
    refuse_text(names, f"{what}s")
    for name in names:
        if name not in known:
            first = "regrade import people" if what == "person" else FIRST_MODEL
            raise UnknownName(f"{what} on {test_set.name}", name, known, first=first)
    if len(set(names)) < len(names):
        raise InputError(f"a {what} is named twice")
    return tuple(names) or tuple(known)


def multilabel_scoring(
    store: Store, test_set: TestSet, labels: str, *, rule: MultilabelRule | str | None, collapsed: bool
) -> MultilabelScoring:
    """How predictions are held against a label set; by images unless a rule is given."""
    also = test_set.class_space.collapsed if collapsed else None
    if collapsed and not also:
        raise InputError(f"class space {test_set.class_space.name} has no collapsed classes")
    chosen = member(MultilabelRule, rule or MultilabelRule.IMAGES)
    return MultilabelScoring(store.label_set(test_set, labels), chosen, also)


def reviewed_labels(
    store: Store,
    test_set: TestSet,
    labels: str,
    *,
    rule: MultilabelRule | str | None = None,
    collapsed: bool = False,
    half_width: float | None = None,
) -> ReviewedLabels:
    """A label set as in `multilabel_scoring`, with the verdicts on what is novel under it."""
    scoring = multilabel_scoring(store, test_set, labels, rule=rule, collapsed=collapsed)
    return ReviewedLabels(scoring, store.review(test_set, scoring.labels), half_width)


def scored_predictions(
    store: Store,
    test_set: TestSet,
    models: tuple[str, ...],
    *,
    within: str | ClassSpace | None = None,
    class_map: str | Path | None = None,
    watch: ProgressCallback = iter,
) -> Iterator[tuple[Predictions, Scoring]]:
    """Predictions one after another, each with its way of being scored; a map that no model needs raises.

    A map is that of a file, or else the one that is stored with the test set.
    """
    subset = space_named(store, within) if within else None
    stored = store.class_map(test_set)
    scorings: dict[str, Scoring] = {}
    for model in watch(models):
        predictions = store.predictions(test_set, model)
        if predictions.class_space not in scorings:
            predicted = store.class_space(predictions.class_space)
            chart = _class_map(class_map, predicted, test_set) or _stored_map(stored, predicted)
            if chart is not None and subset is not None:
                raise InputError(
                    f"{test_set.name} is scored through a class map, which says what counts: leave out --within"
                )
            scorings[predictions.class_space] = scoring_for(test_set, predicted, within=subset, class_map=chart)
        yield predictions, scorings[predictions.class_space]
    if class_map and not any(scoring.class_map for scoring in scorings.values()):
        raise InputError(f"no model needs the map {class_map}: all predict the classes of {test_set.name} itself")


def clean_answers(
    store: Store, test_set: TestSet, models: Sequence[str], *, watch: ProgressCallback = iter
) -> CleanCorrectness:
    """What those of the models that have predictions on a clean test set have right there; none at all raises."""
    both = tuple(model for model in models if model in store.model_names(test_set.name))
    if not both:
        raise InputError(f"none of these models has predictions on {test_set.name}")
    scored = scored_predictions(store, test_set, both, watch=watch)
    return CleanCorrectness(test_set, {answers.model: scoring.top_k(answers, 1).right for answers, scoring in scored})


def _class_map(path: str | Path | None, predicted: ClassSpace, test_set: TestSet) -> ClassMap | None:
    """The map of a file, for predictions in other classes than the labels."""
    if path is None or predicted.digest == test_set.class_space.digest:
        return None
    return class_map_from_file(Path(path), predicted, test_set.class_space, MapRule.ANY_IN_TOP_K)


def _stored_map(stored: ClassMap | None, predicted: ClassSpace) -> ClassMap | None:
    """The map that is stored with a test set, for predictions in the classes it speaks of."""
    return stored if stored is not None and predicted.digest == stored.source.digest else None
