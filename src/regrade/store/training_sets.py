"""Which set of images the models of a test set are trained on, as a JSON file per test set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from regrade.core import InputError, TestSet
from regrade.store.checked_files import read_stored_json, stored_json
from regrade.store.collection import Collection
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction


@dataclass(frozen=True)
class RegisteredTrainingSet:
    """A test set and its training set, a set of labeled images in the same workspace, by their names."""

    test_set: str
    training_set: str

    @classmethod
    def of(cls, test_set: TestSet, training_set: TestSet) -> RegisteredTrainingSet:
        """Register a training set; raise if it is the test set, has other classes, or no labels."""
        if training_set.name == test_set.name:
            raise InputError(f"{test_set.name} cannot be its own training set")
        if training_set.class_space.name != test_set.class_space.name:
            raise InputError(
                f"{training_set.name} has the classes of {training_set.class_space.name}, but {test_set.name} those of "
                f"{test_set.class_space.name}: a training set has the classes of its test set"
            )
        if not training_set.labeled.any():
            raise InputError(f"no image of {training_set.name} has a label: a training set has labels")
        return cls(test_set.name, training_set.name)


class TrainingSetCollection(Collection[RegisteredTrainingSet, None]):
    """The registered training sets, at most one per test set; another one replaces it."""

    kind = "training_sets"

    def names_of(self, registered: RegisteredTrainingSet, _context: None) -> tuple[str, ...]:
        """The name of the test set."""
        return (registered.test_set,)

    def refusal(self, registered: RegisteredTrainingSet, _context: None) -> str:
        """The error for another training set of the same test set, which `may_replace` never raises."""
        return f"{registered.test_set} has another training set"

    def is_same(self, registered: RegisteredTrainingSet, _context: None) -> bool:
        """Whether the stored training set is the same."""
        return self.read(registered.test_set) == registered.training_set

    def may_replace(self, _registered: RegisteredTrainingSet, _context: None) -> bool:
        """Whether another training set may be registered: always."""
        return True

    def put(self, change: Transaction, registered: RegisteredTrainingSet, _context: None) -> None:
        """Stage a training set in place of the stored one."""
        change.replace_at(self.path(registered.test_set), lambda file: self.write(registered, None, file))

    def write(self, registered: RegisteredTrainingSet, _context: None, file: BinaryIO) -> None:
        """Write both names."""
        content = {"test_set": registered.test_set, "training_set": registered.training_set}
        file.write(stored_json(content, place=place_of(self.kind, registered.test_set)))

    def read(self, test_set: str) -> str | None:
        """The name of the training set of a test set, which may have been removed; None if none is registered."""
        path = self.path(test_set)
        return str(read_stored_json(path)["training_set"]) if path.is_file() else None

    def trained_on(self, training_set: str) -> tuple[str, ...]:
        """The test sets whose training set this is."""
        return tuple(name for name in self.names() if self.read(name) == training_set)
