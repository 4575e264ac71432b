"""The record of the search for the nearest training images: its options, how its data are loaded, and storing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from regrade.core import Distance, InputError, TestSet
from regrade.core.training_neighbors import TrainingNeighbors
from regrade.neighbors import NEIGHBORS, Decoder, NeighborEngine, no_progress
from regrade.store import RegisteredTrainingSet
from regrade.studies.leakage.search import search_for
from regrade.studies.leakage.signatures import ImageProgress, decoder_of
from regrade.studies.leakage.study import thresholds_option
from regrade.studies.neighbors.result import NeighborSearch, neighbor_search
from regrade.studies.neighbors.search import find_neighbors
from regrade.studies.study import Study, StudyOptions, option, test_set_option

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class TrainingNeighborsOptions(StudyOptions):
    """The test set, its training set, and the model whose embeddings are compared."""

    test_set: str = test_set_option()
    against: str | None = option(
        "With -t: training set, a labeled test set of the workspace (default: the registered one, see regrade testsets "
        "training-set).",
        None,
        metavar="NAME",
    )
    model: str | None = option(
        "With -t: compare the embeddings of this model (default: the only one with embeddings of both sets).", None
    )
    most: int = option("Maximum number of near duplicates, or of nearest training images, per image.", NEIGHBORS)
    engine: NeighborEngine | str = option(
        "Search library; cuda and torch require torch, faiss requires faiss.", NeighborEngine.NUMPY
    )
    near: Mapping[str, float] | None = thresholds_option()
    image_progress: ImageProgress = field(default=no_progress, compare=False, repr=False)


def run(store: Store, options: TrainingNeighborsOptions) -> NeighborSearch:
    """Find the training images nearest to each image of a test set, by a model's embeddings, and store them.

    ``against`` is the training set (default: the registered one) and ``model`` the one whose embeddings are compared
    (default: the only one with embeddings of both sets). Pairs within the threshold of `Distance.FEATURES`, which
    ``near`` overrides, are compared by their pixels, which marks exact and near duplicates. The same search again reads
    what is stored.
    """
    sets = search_sets(store, options.test_set, options.against)
    model = options.model or _only_model(store, sets)
    if options.most < 1:
        raise InputError(f"the number of training images per image must be at least 1, got {options.most}")
    if unused := sorted({*(options.near or {})} - {Distance.FEATURES.value}):
        raise InputError(f"training images are compared by features: give --near features=0.05, not {unused[0]}")
    search = search_for([Distance.FEATURES], options.near or {}, engine=options.engine, model=model)
    threshold = search.thresholds[Distance.FEATURES]
    question = store.training_neighbors.question(sets, model, neighbors=options.most, threshold=threshold)
    stored = store.training_neighbors.stored(question, sets)
    neighbors = stored or find_neighbors(
        tuple(store.predictions.read(each, model).features for each in sets),  # type: ignore[arg-type]
        question,
        decoders=_decoders(store, sets),
        engine=search.engine,
        progress=options.image_progress,
    )
    store.training_neighbors.add(neighbors, sets)
    return neighbor_search(*sets, neighbors, new=stored is None, confidence=store.config.confidence)


def search_sets(store: Store, test_set: str, against: str | None) -> tuple[TestSet, TestSet]:
    """A test set, and the training set ``against`` (default: the registered one), which must have labels."""
    target = store.test_set(test_set)
    training = store.training_set_of(target.name) if against is None else against
    if training is None:
        raise InputError(
            f"{test_set} has no training set: give --against NAME, or register it once with regrade testsets "
            f"training-set {test_set} NAME"
        )
    reference = store.test_set(training)
    RegisteredTrainingSet.of(target, reference)  # raises if it is no training set of the test set
    return target, reference


def models_with_embeddings(store: Store, test_set: TestSet) -> list[str]:
    """The models with stored embeddings of a set."""
    names = store.predictions.model_names(test_set.name)
    return [name for name in names if store.predictions.manifest(test_set.name, name).features]


def stored_neighbors(
    store: Store, test_set: TestSet, *, training_set: str | None = None, model: str = ""
) -> tuple[TestSet, TrainingNeighbors]:
    """A training set of a test set, and the stored nearest images, with what people decided about pairs.

    The training set is ``training_set`` (default: the registered one, otherwise the only one that was searched). The
    embeddings are those of ``model`` if these were searched by, otherwise of the first model by name.
    """
    searches = store.training_neighbors.searches(test_set.name)
    name = training_set or store.training_set_of(test_set.name) or _only_training_set(test_set, searches)
    sets = test_set, store.test_set(name)
    models = [searched for training, searched in searches if training == name]
    if not models:
        raise InputError(
            f"no nearest images of {test_set.name} in {name} are stored: run regrade neighbors -t {test_set.name} "
            f"--against {name}"
        )
    neighbors = store.training_neighbors.read(sets, model if model in models else models[0])
    return sets[1], neighbors.decided(sets, store.pair_decisions.standing(sets))


def _only_training_set(test_set: TestSet, searches: Sequence[tuple[str, str]]) -> str:
    names = sorted({training for training, _ in searches})
    if not names:
        raise InputError(
            f"no nearest training images of {test_set.name} are stored: run regrade neighbors -t {test_set.name} "
            "--against TRAINING_SET"
        )
    if len(names) > 1:
        raise InputError(
            f"the nearest images of {test_set.name} were searched in {' and in '.join(names)}: register one as its "
            f"training set with regrade testsets training-set {test_set.name} NAME"
        )
    return names[0]


def _only_model(store: Store, sets: tuple[TestSet, TestSet]) -> str:
    own, training = (models_with_embeddings(store, each) for each in sets)
    names = [name for name in own if name in training]
    if len(names) == 1:
        return names[0]
    if names:
        raise InputError(f"several models have embeddings of both sets: name one with --model ({', '.join(names)})")
    lacking = [each.name for each, models in zip(sets, (own, training), strict=True) if not models] or [sets[1].name]
    raise InputError(
        f"no model has embeddings of both {sets[0].name} and {sets[1].name}, which nearest images are found by: run "
        f"regrade predict MODEL -t {' -t '.join(lacking)} --keep features"
    )


def _decoders(store: Store, sets: tuple[TestSet, TestSet]) -> tuple[Decoder, Decoder] | None:
    if not all(store.images.has(each.name) for each in sets):
        return None
    first, second = (decoder_of(store.images.read(each)) for each in sets)
    return first, second


TRAINING_NEIGHBORS = Study(
    name="training_neighbors",
    question="Which training images are nearest?",
    summary="Find the training images nearest to each image of a test set, by a model's embeddings, mark exact and "
    "near duplicates, and store them.",
    requires="Requires embeddings of both sets: regrade predict --keep features.",
    options=TrainingNeighborsOptions,
    result=NeighborSearch,
    run=run,
    most=1000,
)
