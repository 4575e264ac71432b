"""Load the inputs of a study from the store: models, labels, and the scoring of each prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regrade.classes import class_map_from_file, class_space_from_file
from regrade.core import (
    ATTRIBUTES,
    PERSON_PREFIX,
    ClassMap,
    ClassSpace,
    InputError,
    MapRule,
    ModelAttributes,
    Predictions,
    TestSet,
    UnknownName,
)
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.names import member, refuse_text
from regrade.metrics import MultilabelRule
from regrade.store import FIRST_MODEL
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.scoring import MultilabelScoring, Scoring, scoring_for
from regrade.studies.shared_images import shared_images
from regrade.studies.study import ProgressCallback

if TYPE_CHECKING:
    from regrade.store import Store

_NO_HASH = 0  # the hash of an image that was not read


def resolve_class_space(store: Store, name: str | Path | ClassSpace) -> ClassSpace:
    """A class space by name, or read from a CSV file, a JSON file or a folder; nothing is stored."""
    if isinstance(name, ClassSpace):
        return name
    if str(name) in store.class_spaces.names() or not Path(name).exists():
        return store.class_spaces.read(str(name))
    return class_space_from_file(Path(name))


def chosen_models(store: Store, test_set: TestSet, models: Sequence[str]) -> tuple[str, ...]:
    """The named models (default: all models of the test set, without people), checked to exist and to be distinct."""
    store.predictions.check_manifests(test_set.name, models)
    return _chosen(models, store.predictions.model_names(test_set.name), "model", test_set)


def model_attributes(store: Store, test_set: TestSet, models: Iterable[str]) -> dict[str, ModelAttributes]:
    """The attributes of models: those in their manifests, those that users state, and those derived from names."""
    specs = store.model_specs(test_set.name, models)
    return {
        model: ModelAttributes(**{name: getattr(spec, name) for name in ATTRIBUTES}) for model, spec in specs.items()
    }


def chosen_people(store: Store, test_set: TestSet, people: Sequence[str]) -> tuple[str, ...]:
    """The named people, with or without the prefix ``person:`` (default: all people of the test set)."""
    refuse_text(people, "people")
    full = [name if name.startswith(PERSON_PREFIX) else PERSON_PREFIX + name for name in people]
    store.predictions.check_manifests(test_set.name, full)
    return _chosen(full, store.predictions.people_names(test_set.name), "person", test_set)


def chosen_rows(store: Store, test_set: TestSet, names: Sequence[str]) -> tuple[str, ...]:
    """The named models and people (default: all models and people of the test set)."""
    store.predictions.check_manifests(test_set.name, names)
    everyone = (*store.predictions.model_names(test_set.name), *store.predictions.people_names(test_set.name))
    return _chosen(names, everyone, "model", test_set)


def _chosen(names: Sequence[str], stored_names: Sequence[str], what: str, test_set: TestSet) -> tuple[str, ...]:
    refuse_text(names, f"{what}s")
    for name in names:
        if name not in stored_names:
            first = "regrade import people" if what == "person" else FIRST_MODEL
            raise UnknownName(f"{what} on {test_set.name}", name, stored_names, first=first)
    if len(set(names)) < len(names):
        raise InputError(f"a {what} is named twice")
    return tuple(names) or tuple(stored_names)


def multilabel_scoring(
    store: Store, test_set: TestSet, labels: str, *, rule: MultilabelRule | str | None, collapsed: bool
) -> MultilabelScoring:
    """The scoring of predictions against a label set, by ``rule`` (default: mean over images)."""
    also = test_set.class_space.collapsed if collapsed else None
    if collapsed and not also:
        raise InputError(f"class space {test_set.class_space.name} has no collapsed classes")
    chosen = member(MultilabelRule, rule or MultilabelRule.IMAGES)
    return MultilabelScoring(store.labels.read(test_set, labels), chosen, also)


def reviewed_labels(
    store: Store,
    test_set: TestSet,
    labels: str,
    *,
    rule: MultilabelRule | str | None = None,
    collapsed: bool = False,
    half_width: float | None = None,
) -> ReviewedLabels:
    """A label set as in `multilabel_scoring`, with the decisions of its review of novel predictions."""
    scoring = multilabel_scoring(store, test_set, labels, rule=rule, collapsed=collapsed)
    return ReviewedLabels(scoring, store.reviews.read(test_set, scoring.labels), half_width)


def scored_predictions(
    store: Store,
    test_set: TestSet,
    models: tuple[str, ...],
    *,
    within: str | ClassSpace | None = None,
    class_map: str | Path | None = None,
    progress: ProgressCallback = iter,
) -> Iterator[tuple[Predictions, Scoring]]:
    """Yield the predictions of each model with their scoring; a class map that no model needs raises.

    The class map is read from a file (default: the map stored with the test set).
    """
    subset = resolve_class_space(store, within) if within else None
    stored = store.class_maps.read(test_set)
    scorings: dict[str, Scoring] = {}
    for model in progress(models):
        predictions = store.predictions.read(test_set, model)
        if predictions.class_space not in scorings:
            predicted = store.class_spaces.read(predictions.class_space)
            mapping = _class_map(class_map, predicted, test_set) or _stored_map(stored, predicted)
            if mapping is not None and subset is not None:
                raise InputError(
                    f"{test_set.name} is scored through a class map, which selects the classes: leave out --within"
                )
            scorings[predictions.class_space] = scoring_for(test_set, predicted, within=subset, class_map=mapping)
        yield predictions, scorings[predictions.class_space]
    if class_map and not any(scoring.class_map for scoring in scorings.values()):
        raise InputError(f"no model needs the class map {class_map}: all models predict the classes of {test_set.name}")


def _class_map(path: str | Path | None, predicted: ClassSpace, test_set: TestSet) -> ClassMap | None:
    """The map of a file, for predictions in other classes than those of the test set."""
    if path is None or predicted.digest == test_set.class_space.digest:
        return None
    return class_map_from_file(Path(path), predicted, test_set.class_space, MapRule.ANY_IN_TOP_K)


def _stored_map(stored: ClassMap | None, predicted: ClassSpace) -> ClassMap | None:
    """The map stored with a test set, if the predictions are in its source classes."""
    return stored if stored is not None and predicted.digest == stored.source.digest else None


def images_in_both(store: Store, first: TestSet, second: TestSet) -> tuple[BoolArray, BoolArray]:
    """Masks of the images of a first (n,) and a second (m,) test set that are in the other set, too."""
    contents = _content(store, first), _content(store, second)
    shared = np.intersect1d(contents[0], contents[1])
    by_content = [np.isin(content, shared[shared != _NO_HASH]) for content in contents]
    by_id = shared_images(first, second)
    if by_id is None:
        return by_content[0], by_content[1]
    return by_content[0] | np.isin(by_id.first, by_id.second), by_content[1] | (by_id.second >= 0)


def _content(store: Store, test_set: TestSet) -> NDArray[np.uint64]:
    """Content hashes (n,) of the images, as stored by `predict` for any model."""
    for model in store.predictions.model_names(test_set.name):
        manifest = store.predictions.manifest(test_set.name, model)
        if manifest.fingerprints and manifest.test_set_digest == test_set.digest:
            fingerprints = store.predictions.read(test_set, model).fingerprints
            assert fingerprints is not None
            return np.asarray(fingerprints["digest"])
    return np.full(len(test_set), _NO_HASH, dtype=np.uint64)


def has_embeddings(store: Store, test_sets: Sequence[TestSet], model: str) -> bool:
    """Whether embeddings of a model are stored for all of these sets."""
    return all(
        model in store.predictions.model_names(test_set.name)
        and store.predictions.manifest(test_set.name, model).features
        for test_set in test_sets
    )


def stored_embeddings(store: Store, test_set: TestSet, model: str, positions: IntArray) -> FloatArray:
    """The embeddings (n, d) of a model for the images at these ``positions`` (n,)."""
    features = store.predictions.read(test_set, model).features
    return np.asarray(features)[positions].astype(np.float32)
