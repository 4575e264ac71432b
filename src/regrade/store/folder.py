"""The store: the collections in the folder of a workspace, and changes that concern several of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from regrade.core import (
    PERSON_PREFIX,
    AlreadyStored,
    Answerer,
    ClassMap,
    ClassSpace,
    ImageSource,
    InputError,
    ModelSpec,
    Predictions,
    SliceSet,
    StoreError,
    TestSet,
)
from regrade.core.names import check_distinct_names
from regrade.store.checkpoints import EnsembleCollection
from regrade.store.class_spaces import ClassMapCollection, ClassSpaceCollection
from regrade.store.collection import Stored
from regrade.store.config import CONFIG, TEMPLATE, Config, read_config
from regrade.store.described_models import DescribedModelsCollection
from regrade.store.file_errors import write_errors
from regrade.store.image_pairs import PairDecisionCollection, PairSearchCollection
from regrade.store.label_audits import LabelAuditCollection
from regrade.store.label_sets import LabelSetCollection
from regrade.store.ladders import LadderCollection
from regrade.store.layout import file_name
from regrade.store.locks import remove_abandoned_work
from regrade.store.mistake_reviews import MistakeReviewCollection
from regrade.store.partial_predictions import PartialPredictions
from regrade.store.predictions import Manifest, PredictionCollection
from regrade.store.removals import Removals
from regrade.store.reviews import ReviewCollection
from regrade.store.signatures import SignatureCollection
from regrade.store.testsets import (
    ImageSourceCollection,
    SliceSetCollection,
    TestSetCollection,
    check_slice_name,
    has_no_root,
)
from regrade.store.training_neighbors import TrainingNeighborCollection
from regrade.store.training_sets import TrainingSetCollection
from regrade.store.transaction import Transaction, recover, transaction

_SHOWN = 6  # workspaces that a message lists


class Store:
    """A workspace on disk: collections of records that are written atomically, and not changed afterwards.

    Use `Store.create` or `Store.open`.
    """

    def __init__(self, root: Path, config: Config) -> None:
        self.root = root
        self.config = config
        self.class_spaces = ClassSpaceCollection(root)
        self.test_sets = TestSetCollection(root, self.class_spaces)
        self.class_maps = ClassMapCollection(root, self.class_spaces)
        self.training_sets = TrainingSetCollection(root)
        self.slices = SliceSetCollection(root)
        self.images = ImageSourceCollection(root)
        self.signatures = SignatureCollection(root)
        self.predictions = PredictionCollection(root)
        self.training_neighbors = TrainingNeighborCollection(root, self.predictions)
        self.described_models = DescribedModelsCollection(root)
        self.ensembles = EnsembleCollection(root, self.class_spaces)
        self.labels = LabelSetCollection(root)
        self.reviews = ReviewCollection(root)
        self.audits = LabelAuditCollection(root)
        self.mistakes = MistakeReviewCollection(root)
        self.ladders = LadderCollection(root)
        self.pair_searches = PairSearchCollection(root)
        self.pair_decisions = PairDecisionCollection(root)
        self.removals = Removals(root)

    @classmethod
    def create(cls, root: Path) -> Store:
        """Create a workspace in a folder, which may contain other files; raise if it is a workspace already."""
        if (root / CONFIG).exists():
            raise AlreadyStored(f"{root} is a workspace already")
        if root.exists() and not root.is_dir():
            raise InputError(f"{root} is a file: a workspace is a folder")
        with write_errors(root):
            root.mkdir(parents=True, exist_ok=True)
        with transaction(root) as change:
            change.write_at(root / CONFIG, lambda file: file.write(TEMPLATE.encode()))
        return cls.open(root)

    @classmethod
    def open(cls, root: Path) -> Store:
        """Open a workspace; raise if the folder is not a workspace."""
        if not (root / CONFIG).is_file():
            place = root if root.is_dir() else root.parent
            workspaces = [file.parent for file in sorted(place.glob(f"*/{CONFIG}"))[:_SHOWN]]
            choice = f"name one with -w: {', '.join(map(str, workspaces))}; or " if workspaces else ""
            raise StoreError(f"{root} is not a workspace (no {CONFIG}): {choice}create one with regrade init {root}")
        config = read_config(root / CONFIG)
        recover(root)
        remove_abandoned_work(root)
        return cls(root, config)

    def hiding(self, models: Iterable[str]) -> Store:
        """The same workspace, in which these models are not listed."""
        view = copy.copy(self)
        view.predictions = PredictionCollection(self.root, frozenset(models))
        return view

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Make several changes atomically, while other writers wait."""
        return transaction(self.root)

    # Test sets with their classes and images

    def test_set(self, name: str) -> TestSet:
        """Read a test set and the slice sets that were added to it."""
        test_set = self.test_sets.read(name)
        slice_sets = self.slices.read_all(test_set)
        return replace(test_set, slice_sets=slice_sets) if slice_sets else test_set

    def training_set_of(self, name: str) -> str | None:
        """The name of the registered training set of a test set; None if there is none, or if it was removed."""
        training_set = self.training_sets.read(name)
        return training_set if training_set is not None and self.test_sets.has(training_set) else None

    def add_test_set(self, test_set: TestSet, class_map: ClassMap | None = None) -> Stored:
        """Store a test set, its class space and its class map if it has one; raise if another has its name."""
        with self.transaction() as change:
            placed = [self.test_sets.place(change, test_set, None)]
            if class_map is not None:
                placed.append(self.class_maps.place(change, class_map, test_set))
        return _together(test_set.name, placed)

    def add_images(
        self,
        test_set: TestSet,
        source: ImageSource,
        class_map: ClassMap | None = None,
        *,
        is_missing: Callable[[ImageSource], bool] = has_no_root,
    ) -> Stored:
        """Store where the images of a test set are, and also the test set and its class map if they are new.

        Raises if other locations are stored, unless ``is_missing`` says that the images there are gone.
        """
        with self.transaction() as change:
            self.test_sets.place(change, test_set, None)
            placed = [] if class_map is None else [self.class_maps.place(change, class_map, test_set)]
            placed.append(ImageSourceCollection(self.root, is_missing).place(change, source, test_set))
        return _together(test_set.name, placed)

    # Predictions of models and answers of people

    def add_predictions(
        self, test_set: TestSet, entries: Sequence[tuple[Predictions, Manifest]], space: ClassSpace
    ) -> Stored:
        """Store predictions of any number of models in one class space atomically.

        The test set and the class space are stored too if they are new. Raises if a model has the name of a person, or
        if other predictions are stored under its name; only answers from a ledger may replace earlier answers, which
        the ledger still has.
        """
        for predictions, _ in entries:
            if predictions.model.startswith(PERSON_PREFIX) and predictions.by is not Answerer.PERSON:
                raise InputError(
                    f"{predictions.model!r} is the name of a person: import people with regrade import people"
                )
        with self.transaction() as change:
            new = {entry[1].model.name: entry for entry in entries if self.predictions.is_new(entry, test_set)}
            check_distinct_names("model or person", new, self.predictions.names(test_set.name))
            self.class_spaces.place(change, space, None)
            self.test_sets.place(change, test_set, None)
            for entry in new.values():
                self.predictions.put(change, entry, test_set)
        unchanged = (manifest.model.name for _, manifest in entries if manifest.model.name not in new)
        return Stored(tuple(new), tuple(unchanged))

    def model_specs(self, test_set: str, models: Iterable[str]) -> dict[str, ModelSpec]:
        """The record of each model in the manifest of its predictions, completed by `DescribedModels`.

        What users state about a model wins; what is derived from its name counts where neither states a value.
        """
        described = self.described_models.read()
        return {
            model: self.predictions.manifest(test_set, model).model.described(
                described.of(model), described.derived_of(model)
            )
            for model in models
        }

    def replace_predictions(self, test_set: TestSet, predictions: Predictions, manifest: Manifest) -> None:
        """Replace the stored predictions of a model atomically."""
        with self.transaction() as change:
            self.predictions.put(change, (predictions, manifest), test_set)

    def partial_predictions(
        self, test_set: TestSet, model: str, *, part_size: int, plan: dict[str, Any]
    ) -> PartialPredictions:
        """Unfinished predictions; they become visible once they are finished and added.

        Raises if the name is too similar to that of another model, before anything is computed.
        """
        check_distinct_names("model or person", [model], self.predictions.names(test_set.name))
        folder = self.root / ".partial" / file_name(test_set.name) / file_name(model)
        return PartialPredictions(folder, len(test_set), part_size, {**plan, "test_set_digest": test_set.digest})


def keep_slices(store: Store, slices: SliceSet) -> Stored:
    """Store slices that a study found; raise if others have their name."""
    target = store.test_set(slices.test_set)
    check_slice_name(slices.name, target)
    return store.slices.add(slices, target)


def _together(name: str, placed: Iterable[Stored]) -> Stored:
    """The result of storing several parts under one name, which is new if any part is new."""
    return Stored((name,), ()) if any(part.new for part in placed) else Stored((), (name,))
