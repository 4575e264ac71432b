"""Test sets of a workspace, their images and slices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regrade.core import (
    ClassSpace,
    InputError,
    SliceSet,
)
from regrade.core.names import member
from regrade.formats import SliceFormat, given_classes
from regrade.store import RegisteredTrainingSet, Removal, RemovalPlan, Store, Stored, keep_slices
from regrade.studies import Confusion
from regrade.studies.confusion.study import KeptHardSet, keep_hard_set
from regrade.studies.gate.ladder import LadderStatus
from regrade.studies.loading import resolve_class_space
from regrade.tables import Columns
from regrade.testsets import (
    Checked,
    Layout,
    check,
    contact_sheet,
)
from regrade.testsets.check import ProgressCallback as ImageProgress
from regrade.workspace.array_imports import add_labels, refuse_map
from regrade.workspace.imports import (
    ImportedSlices,
    import_slices,
)
from regrade.workspace.removal import carry_out, plan_test_set_removal
from regrade.workspace.renaming import Renamed, rename_test_set
from regrade.workspace.test_set_adding import AddedTestSet, MapFile, add_test_set, corrupt_test_set, listed_in_catalog
from regrade.workspace.verification import missing_images

if TYPE_CHECKING:
    from PIL.Image import Image


class TestSets:
    """Test sets of a workspace, their images and slices."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def names(self) -> tuple[str, ...]:
        """The names of the test sets."""
        return self.store.test_sets.names()

    def add(
        self,
        name: str,
        source: Any,
        *,
        classes: str | Path | ClassSpace | Sequence[str] | None = None,
        layout: Layout | str = Layout.PROVEN,
        columns: Columns | None = None,
        class_map: str | Path | None = None,
        map_source: str | Path | ClassSpace = "imagenet-1k",
    ) -> AddedTestSet:
        """Add a test set from images in any supported format, or without images from labels in a file or in memory.

        ``source`` is a path, a data frame or an Arrow table with a column of ids, or an array of labels as in
        `regrade.grade`, whose ids are the index of a pandas object or row numbers. ``classes`` may be a list of names;
        a name in the catalog implies its classes. Images of an existing test set, for example one created by importing
        predictions, are matched by id. ``class_map`` is a file that maps classes of ``map_source`` to those of the test
        set; it is stored with the test set and used to grade models that predict classes of ``map_source``.
        """
        stated = _stated_classes(self.store, name, classes)
        if not isinstance(source, str | Path):
            refuse_map(class_map)
            return add_labels(self.store, name, source, stated=stated, columns=columns or Columns())
        return add_test_set(
            self.store,
            name,
            Path(source),
            stated=stated,
            layout=member(Layout, layout),
            columns=columns,
            map_file=None
            if class_map is None
            else MapFile(Path(class_map), resolve_class_space(self.store, map_source)),
        )

    def register_training_set(self, name: str, training_set: str) -> Stored:
        """Register the set of images on which the models of a test set are trained, in place of an earlier one.

        It is a test set of the same workspace with labels in the same classes; its images show people what a class
        looks like (see `regrade.app`).
        """
        registered = RegisteredTrainingSet.of(self.store.test_set(name), self.store.test_set(training_set))
        return self.store.training_sets.add(registered, None)

    def remove_training_set(self, name: str) -> str:
        """Forget the registered training set of a test set, and return its name; its images stay."""
        registered = self.store.training_sets.read(self.store.test_set(name).name)
        if registered is None:
            raise InputError(f"{name} has no training set: register one with regrade testsets training-set {name} SET")
        self.store.training_sets.remove(name)
        return registered

    def ladder(self, name: str) -> LadderStatus:
        """Return the submissions to the ladder of a held-back test set, which `gate` with ``ladder`` begins."""
        test_set = self.store.test_set(name)
        ladder = self.store.ladders.read(test_set)
        if ladder is None:
            raise InputError(
                f"{name} has no ladder: begin one with regrade gate CANDIDATE -t {name} --ladder --baseline"
            )
        return LadderStatus.of(ladder, int(test_set.labeled.sum()))

    def plan_removal(self, name: str) -> RemovalPlan:
        """Return what `remove` would remove; nothing changes."""
        return plan_test_set_removal(self.store, name)

    def remove(self, name: str, *, expected: RemovalPlan | None = None) -> Removal:
        """Remove a test set with everything that is stored under its name, except images; see ``removed.restore``.

        A test set that a queue of the ledger or a build uses raises. Raises if ``expected``, a plan from
        `plan_removal`, no longer holds.
        """
        return carry_out(self.store, lambda: self.plan_removal(name), expected)

    def rename(self, old: str, new: str) -> Renamed:
        """Rename a test set with everything that is stored under its name; renaming it back restores every file.

        A test set that a queue of the ledger or a build uses raises, and so does a name that is taken or too similar.
        """
        return rename_test_set(self.store, old, new)

    def corrupt(
        self,
        test_set: str,
        *,
        name: str,
        corruptions: Sequence[str] = (),
        severities: Sequence[int] = (),
        images: int | None = None,
        seed: int = 0,
    ) -> AddedTestSet:
        """Create a test set with ImageNet-C corruptions of another test set; images are corrupted when they are read.

        Uses all 15 ``corruptions`` at all 5 ``severities`` by default, and all images or a random sample of ``images``
        images drawn with ``seed``. A corrupted image depends only on its id, the corruption and the severity.
        """
        return corrupt_test_set(
            self.store,
            test_set,
            name=name,
            corruptions=corruptions,
            severities=severities,
            images=images,
            seed=seed,
        )

    def missing_images(self) -> dict[str, Path]:
        """The test sets whose registered images are missing, with the expected path."""
        return missing_images(self.store)

    def check(self, name: str, *, workers: int = 2, progress: ImageProgress | None = None) -> Checked:
        """Read and decode every image of a test set, and compare its count with the catalog's."""
        test_set = self.store.test_set(name)
        listed = listed_in_catalog(name)
        expected = listed.examples if listed else None
        return check(test_set, self.store.images.read(test_set), expected=expected, workers=workers, watch=progress)

    def contact_sheet(self, name: str, *, rows: int = 5, columns: int = 8, seed: int = 0) -> Image:
        """Randomly drawn images of a test set with their labels, as one image."""
        test_set = self.store.test_set(name)
        rng = np.random.default_rng(seed)
        return contact_sheet(test_set, self.store.images.read(test_set), rng=rng, rows=rows, columns=columns)

    def import_slices(
        self,
        path: str | Path,
        *,
        test_set: str,
        name: str,
        form: SliceFormat | str = SliceFormat.TABLE,
        columns: Columns | None = None,
        chosen_hard: bool = False,
    ) -> ImportedSlices:
        """Import slices of an existing test set: subsets or group columns. The test set itself does not change.

        ``chosen_hard``: the images were selected because models get them wrong, so that findings do not report them.
        """
        return import_slices(
            self.store,
            Path(path),
            test_set=test_set,
            form=member(SliceFormat, form),
            name=name,
            columns=columns,
            chosen_hard=chosen_hard,
        )

    def keep_slices(self, slices: SliceSet) -> Stored:
        """Store slices from a study, for example the major mistakes, with their test set."""
        return keep_slices(self.store, slices)

    def keep_hard_set(self, result: Confusion, name: str) -> KeptHardSet:
        """Store a study's hard images as a test set of their own and as a slice of the source test set."""
        return keep_hard_set(self.store, result, name)

    def class_space(self, name: str | Path | ClassSpace) -> ClassSpace:
        """A class space by name, or read from a CSV file, a JSON file or a folder and stored in the workspace."""
        space = resolve_class_space(self.store, name)
        if space.name != name:
            self.store.class_spaces.add(space, None)
        return space


def _stated_classes(
    store: Store, test_set: str, classes: str | Path | ClassSpace | Sequence[str] | None
) -> ClassSpace | None:
    """The classes of a name, a file or a list of names, which are called as the test set."""
    if classes is None or isinstance(classes, str | Path | ClassSpace):
        return None if classes is None else resolve_class_space(store, classes)
    return given_classes(classes, name=test_set).space
