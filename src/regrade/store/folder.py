"""The store: the collections in the folder of a workspace, and changes that concern several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from regrade.core import (
    PERSON_PREFIX,
    AlreadyStored,
    Answerer,
    Checkpoints,
    ClassMap,
    ClassSpace,
    ImageSource,
    InputError,
    LabelSet,
    MistakeAnnotations,
    Predictions,
    Signatures,
    SliceSet,
    StoreError,
    TestSet,
)
from regrade.core.names import check_distinct_names
from regrade.store.checkpoints import EnsembleCollection
from regrade.store.class_spaces import ClassMapCollection, ClassSpaceCollection
from regrade.store.collection import Stored
from regrade.store.config import CONFIG, TEMPLATE, Config, read_config
from regrade.store.file_errors import write_errors
from regrade.store.label_sets import LabelSetCollection
from regrade.store.layout import file_name
from regrade.store.locks import remove_abandoned_work
from regrade.store.mistake_reviews import MistakeReviewCollection
from regrade.store.partial_predictions import PartialPredictions
from regrade.store.predictions import Manifest, PredictionCollection
from regrade.store.reviews import ReviewCollection
from regrade.store.signatures import PartialSignatures, SignatureCollection, SignatureKey
from regrade.store.testsets import (
    ImageSourceCollection,
    SliceSetCollection,
    TestSetCollection,
    check_slice_name,
    has_no_root,
)
from regrade.store.transaction import Transaction, recover, transaction


class Store:
    """A workspace on disk: collections of records that are written atomically, and not changed afterwards.

    Use `Store.create` or `Store.open`.
    """

    def __init__(self, root: Path, config: Config) -> None:
        self.root = root
        self.config = config
        self.slices = SliceSetCollection(root)
        self.labels = LabelSetCollection(root)
        self.reviews = ReviewCollection(root)
        self.mistakes = MistakeReviewCollection(root)
        self._class_spaces = ClassSpaceCollection(root)
        self.ensembles = EnsembleCollection(root, self._class_spaces)
        self._test_sets = TestSetCollection(root, self._class_spaces)
        self._class_maps = ClassMapCollection(root, self._class_spaces)
        self._predictions = PredictionCollection(root)
        self._images = ImageSourceCollection(root)
        self._signatures = SignatureCollection(root)

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
            raise StoreError(f"{root} is not a workspace (no {CONFIG}): create one with regrade init {root}")
        config = read_config(root / CONFIG)
        recover(root)
        remove_abandoned_work(root)
        return cls(root, config)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Make several changes atomically, while other writers wait."""
        return transaction(self.root)

    # Test sets with their classes and images

    def class_space_names(self) -> tuple[str, ...]:
        """The names of the built-in class spaces and the stored ones."""
        return self._class_spaces.names()

    def class_space(self, name: str) -> ClassSpace:
        """A built-in or stored class space."""
        return self._class_spaces.read(name)

    def add_class_space(self, space: ClassSpace) -> Stored:
        """Store a user's own class space."""
        return self._class_spaces.add(space, None)

    def test_set_names(self) -> tuple[str, ...]:
        """The names of the stored test sets."""
        return self._test_sets.names()

    def has_test_set(self, name: str) -> bool:
        """Whether a test set of this name is stored."""
        return self._test_sets.has(name)

    def test_set(self, name: str) -> TestSet:
        """Read a test set and the slice sets that were added to it."""
        test_set = self._test_sets.read(name)
        slice_sets = self.slices.read_all(test_set)
        return replace(test_set, slice_sets=slice_sets) if slice_sets else test_set

    def add_test_set(self, test_set: TestSet, class_map: ClassMap | None = None) -> Stored:
        """Store a test set, its class space and its class map if it has one; raise if another has its name."""
        with self.transaction() as change:
            placed = [self._test_sets.place(change, test_set, None)]
            if class_map is not None:
                placed.append(self._class_maps.place(change, class_map, test_set))
        return _together(test_set.name, placed)

    def class_map(self, test_set: TestSet) -> ClassMap | None:
        """The map from the classes that models predict to those of a test set; None if it has no map."""
        return self._class_maps.read(test_set)

    def has_images(self, test_set: str) -> bool:
        """Whether the locations of a test set's images are stored."""
        return self._images.has(test_set)

    def check_images(self, test_set: TestSet) -> None:
        """Raise if a test set has no images, with the command that adds them."""
        self._images.check(test_set)

    def images(self, test_set: TestSet) -> ImageSource:
        """Where the images of a test set are; raise if it has none."""
        return self._images.read(test_set)

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
            self._test_sets.place(change, test_set, None)
            placed = [] if class_map is None else [self._class_maps.place(change, class_map, test_set)]
            placed.append(ImageSourceCollection(self.root, is_missing).place(change, source, test_set))
        return _together(test_set.name, placed)

    # Predictions of models and answers of people

    def model_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the models with stored predictions on a test set, without people."""
        return self._predictions.model_names(test_set)

    def people_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the people with stored answers on a test set."""
        return self._predictions.people_names(test_set)

    def check_manifests(self, test_set: str, names: Iterable[str]) -> None:
        """Raise if one of these models or people has predictions without a manifest."""
        self._predictions.check_manifests(test_set, names)

    def predictions(self, test_set: TestSet, model: str) -> Predictions:
        """Read the predictions of a model; raise if they were made for another version of the test set."""
        return self._predictions.read(test_set, model)

    def manifest(self, test_set: TestSet, model: str) -> Manifest:
        """The manifest of a model's stored predictions."""
        return self._predictions.manifest(test_set.name, model)

    def prediction_folder(self, test_set: str, model: str) -> Path:
        """The folder of a model's predictions on a test set, which may not exist."""
        return self._predictions.path(test_set, model)

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
            new = {entry[1].model.name: entry for entry in entries if self._predictions.is_new(entry, test_set)}
            check_distinct_names("model or person", new, self._predictions.names(test_set.name))
            self._class_spaces.place(change, space, None)
            self._test_sets.place(change, test_set, None)
            for entry in new.values():
                self._predictions.put(change, entry, test_set)
        unchanged = (manifest.model.name for _, manifest in entries if manifest.model.name not in new)
        return Stored(tuple(new), tuple(unchanged))

    def replace_predictions(self, test_set: TestSet, predictions: Predictions, manifest: Manifest) -> None:
        """Replace the stored predictions of a model atomically."""
        with self.transaction() as change:
            self._predictions.put(change, (predictions, manifest), test_set)

    def remove_answers(self, test_set: str, person: str) -> None:
        """Remove the answers of a person from a ledger, when none of them is left there."""
        self._predictions.remove(test_set, person)

    def partial_predictions(
        self, test_set: TestSet, model: str, *, part_size: int, plan: dict[str, Any]
    ) -> PartialPredictions:
        """Unfinished predictions; they become visible once they are finished and added.

        Raises if the name is too similar to that of another model, before anything is computed.
        """
        check_distinct_names("model or person", [model], self._predictions.names(test_set.name))
        folder = self.root / ".partial" / file_name(test_set.name) / file_name(model)
        return PartialPredictions(folder, len(test_set), part_size, {**plan, "test_set_digest": test_set.digest})

    # Reading by name; the rest is in the collections

    def ensemble_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the ensembles with stored checkpoints on a test set."""
        return self.ensembles.names(test_set)

    def checkpoints(self, test_set: TestSet, ensemble: str) -> Checkpoints:
        """The checkpoints of an ensemble; raise if they were made for another version of the test set."""
        return self.ensembles.read(test_set, ensemble)

    def label_set_names(self, test_set: str) -> tuple[str, ...]:
        """The label sets of a test set as ``name@version``, oldest version first."""
        return self.labels.names(test_set)

    def label_set(self, test_set: TestSet, name: str) -> LabelSet:
        """Read a label set by ``name`` (its newest version) or ``name@version``."""
        return self.labels.read(test_set, name)

    def mistake_review_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the models whose mistakes on a test set were reviewed."""
        return self.mistakes.names(test_set)

    def mistake_review(self, test_set: TestSet, model: str) -> MistakeAnnotations:
        """Read the review of a model's mistakes."""
        return self.mistakes.read(test_set, model)

    # Signatures of images

    def signatures(self, name: str, key: SignatureKey) -> Signatures | None:
        """The stored signatures of a set of images; None if there are none."""
        return self._signatures.read(name, key)

    def signature_sizes(self, name: str) -> frozenset[int]:
        """The image sizes for which signatures of a set are stored."""
        return self._signatures.sizes(name)

    def reusable_signatures(self, name: str, key: SignatureKey) -> Iterator[tuple[Signatures, dict[str, int]]]:
        """Stored signatures computed in the same way for more or fewer images, with the row of each location."""
        return self._signatures.reusable(name, key)

    def partial_signatures(self, name: str, key: SignatureKey, *, part_size: int) -> PartialSignatures:
        """Unfinished signatures; they become visible once they are finished and added."""
        return self._signatures.unfinished(name, key, part_size=part_size)

    def add_signatures(self, name: str, key: SignatureKey, parts: Iterable[Signatures]) -> None:
        """Store the signatures of a set, given in consecutive parts."""
        self._signatures.add(parts, (name, key))


def keep_slices(store: Store, slices: SliceSet) -> Stored:
    """Store slices that a study found; raise if others have their name."""
    target = store.test_set(slices.test_set)
    check_slice_name(slices.name, target)
    return store.slices.add(slices, target)


def _together(name: str, placed: Iterable[Stored]) -> Stored:
    """The result of storing several parts under one name, which is new if any part is new."""
    return Stored((name,), ()) if any(part.new for part in placed) else Stored((), (name,))
