"""The store: reads and writes everything in the folder of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from regrade.classes import BUILT_IN, class_space, class_space_as_json, class_space_from_json
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
    MismatchError,
    MistakeAnnotations,
    NovelSample,
    Predictions,
    ScoreKind,
    Signatures,
    SliceSet,
    StoreError,
    TestSet,
    UnknownName,
)
from regrade.core.arrays import IntArray
from regrade.core.names import check_distinct_names
from regrade.store.checked_json import read_stored_json, stored_json
from regrade.store.checkpoint_folder import (
    CHECKPOINT_MANIFEST,
    CheckpointManifest,
    read_checkpoint_manifest,
    read_checkpoints,
)
from regrade.store.checkpoint_writer import CheckpointWriter
from regrade.store.class_map_file import class_map_content, read_class_map
from regrade.store.config import CONFIG, TEMPLATE, Config, read_config
from regrade.store.contents import missing_listed_files, removed
from regrade.store.error_contexts import write_errors
from regrade.store.image_file import inside_workspace, read_images, write_images
from regrade.store.label_file import read_label_set, write_label_set
from regrade.store.layout import (
    folder_of_checkpoints,
    folder_of_predictions,
    folder_of_review,
    folder_of_signatures,
    place_of_class_map,
    place_of_class_space,
    place_of_images,
    place_of_labels,
    place_of_mistakes,
    place_of_slices,
    place_of_test_set,
)
from regrade.store.lost_files import LostFiles, filled_folders, is_filled, lost
from regrade.store.mistake_file import read_mistake_review, write_mistake_review
from regrade.store.names import file_name, original_name
from regrade.store.parquet import read_meta, stored_digest
from regrade.store.partial_predictions import PartialPredictions
from regrade.store.partial_signatures import PartialSignatures
from regrade.store.prediction_folder import (
    MANIFEST,
    Manifest,
    read_manifest,
    read_predictions,
    stage_predictions,
)
from regrade.store.review_files import (
    AddedDecisions,
    ReviewDecisions,
    add_decisions,
    add_verdicts,
    begin_review,
    draw_more,
    has_review,
    read_frame,
    read_verdict_file,
    rows_drawn_for,
    stored_frame_digest,
    with_decisions,
)
from regrade.store.signature_folder import TABLE, SignatureKey, read_signatures, reusable_from_folder, stage_signatures
from regrade.store.slice_file import read_slice_set, write_slice_set
from regrade.store.test_set_file import read_test_set, stored_class_space, write_test_set
from regrade.store.transaction import Transaction, recover, transaction
from regrade.store.work_folder import remove_abandoned_work, work_folder
from regrade.tables import Columns

FIRST_MODEL = "regrade predict, or regrade import predictions"
"""The commands that add the first predictions on a test set."""

FIRST_LABELS = "regrade import labels, or from the images' own labels with regrade labels create"
"""The commands that add the first label set of a test set."""


def _has_no_root(source: ImageSource) -> bool:
    return not source.path.exists()


@dataclass(frozen=True)
class Stored:
    """The result of storing: the names that are new, and those that were stored before with the same content."""

    new: tuple[str, ...]
    unchanged: tuple[str, ...]


class Store:
    """A workspace on disk. Files are written atomically and not changed afterwards.

    Use `Store.create` or `Store.open`.
    """

    def __init__(self, root: Path, config: Config) -> None:
        self.root = root
        self.config = config
        self._lost_files = LostFiles(root)

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

    # Class spaces

    def class_space_names(self) -> tuple[str, ...]:
        """The names of the built-in class spaces and the stored ones."""
        return (*BUILT_IN, *_stems(self.root / "classes", ".json"))

    def class_space(self, name: str) -> ClassSpace:
        """A built-in or stored class space."""
        path = self.root / place_of_class_space(name)
        if path.is_file():
            return class_space_from_json(read_stored_json(path))
        if name not in BUILT_IN:
            raise UnknownName("class space", name, self.class_space_names())
        return class_space(name)

    def add_class_space(self, space: ClassSpace) -> Stored:
        """Store a user's own class space."""
        with self.transaction() as change:
            return self._place_class_space(change, space)

    def _place_class_space(self, change: Transaction, space: ClassSpace) -> Stored:
        place = place_of_class_space(space.name)
        path = self.root / place
        if change.will_place(path):
            return Stored((), (space.name,))
        if space.name in self.class_space_names():
            if self.class_space(space.name).digest != space.digest:
                raise AlreadyStored(f"a class space {space.name!r} with other classes exists: choose another name")
            return Stored((), (space.name,))
        content = stored_json(class_space_as_json(space), place=place)
        change.write_at(path, lambda file: file.write(content))
        return Stored((space.name,), ())

    # Test sets

    def test_set_names(self) -> tuple[str, ...]:
        """The names of the stored test sets."""
        return _stems(self.root / "testsets", ".parquet")

    def test_set(self, name: str) -> TestSet:
        """Read a test set and the slice sets that were added to it."""
        path = self._test_set_path(name)
        if not path.is_file():
            raise UnknownName("test set", name, self.test_set_names(), first=f"regrade testsets add {name} PATH")
        test_set = read_test_set(path, self.class_space(stored_class_space(path)))
        self._lost_files.warn(self.root / place_of_slices(name, lost_name) for lost_name in self._lost_slice_sets(name))
        paths = sorted(self._slice_folder(name).glob("*.parquet"))
        slice_sets = tuple(read_slice_set(slice_path, test_set) for slice_path in paths)
        return replace(test_set, slice_sets=slice_sets) if slice_sets else test_set

    def add_test_set(self, test_set: TestSet, class_map: ClassMap | None = None) -> Stored:
        """Store a test set, its class space and its class map if it has one; raise if another has its name."""
        with self.transaction() as change:
            placed = [self._place_test_set(change, test_set), *self._place_class_map(change, test_set, class_map)]
        return _together(test_set.name, placed)

    def _place_test_set(self, change: Transaction, test_set: TestSet) -> Stored:
        if change.will_place(self._test_set_path(test_set.name)):
            return Stored((), (test_set.name,))
        if self.has_test_set(test_set.name):
            if stored_digest(self._test_set_path(test_set.name)) != test_set.digest:
                raise AlreadyStored(
                    f"test set {test_set.name!r} is stored with other examples, labels or groups: choose another name"
                )
            return Stored((), (test_set.name,))
        check_distinct_names("test set", [test_set.name], self.test_set_names())
        self._place_class_space(change, test_set.class_space)
        change.write_at(self._test_set_path(test_set.name), lambda file: write_test_set(test_set, file))
        return Stored((test_set.name,), ())

    def has_test_set(self, name: str) -> bool:
        """Whether a test set of this name is stored."""
        return self._test_set_path(name).is_file()

    # Class maps

    def class_map(self, test_set: TestSet) -> ClassMap | None:
        """The map from the classes that models predict to those of a test set; None if it has no map."""
        path = self._class_map_path(test_set.name)
        return read_class_map(path, test_set, self.class_space) if path.is_file() else None

    def _place_class_map(self, change: Transaction, test_set: TestSet, class_map: ClassMap | None) -> list[Stored]:
        if class_map is None:
            return []
        path = self._class_map_path(test_set.name)
        if path.is_file():
            stored = self.class_map(test_set)
            if stored is None or stored.digest != class_map.digest:
                raise AlreadyStored(
                    f"another class map is stored with {test_set.name}: remove {path} to replace it, or give this one "
                    "to regrade grade with --map"
                )
            return [Stored((), (test_set.name,))]
        content = class_map_content(class_map, test_set)
        self._place_class_space(change, class_map.source)
        change.write_at(path, lambda file: file.write(content))
        return [Stored((test_set.name,), ())]

    def _class_map_path(self, test_set: str) -> Path:
        return self.root / place_of_class_map(test_set)

    # Slice sets

    def add_slice_set(self, slices: SliceSet, test_set: TestSet) -> Stored:
        """Store a slice set of a test set; storing it again is allowed, another one with its name raises."""
        with self.transaction() as change:
            return self._place_slice_set(change, slices, test_set)

    def _place_slice_set(self, change: Transaction, slices: SliceSet, test_set: TestSet) -> Stored:
        path = self.root / place_of_slices(test_set.name, slices.name)
        if path.is_file():
            if read_slice_set(path, test_set).digest != slices.digest:
                raise AlreadyStored(
                    f"other slices are stored as {slices.name} of {test_set.name}: choose another name, or remove "
                    f"{path} first"
                )
            return Stored((), (slices.name,))
        change.write_at(path, lambda file: write_slice_set(slices, test_set, file))
        return Stored((slices.name,), ())

    def _lost_slice_sets(self, test_set: str) -> list[str]:
        return missing_listed_files(self.root, f"slices/{file_name(test_set)}")

    def _slice_folder(self, test_set: str) -> Path:
        return self.root / "slices" / file_name(test_set)

    # Predictions

    def model_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the models with stored predictions on a test set, without people."""
        return tuple(name for name in self._answerer_names(test_set) if not name.startswith(PERSON_PREFIX))

    def people_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the people with stored answers on a test set."""
        return tuple(name for name in self._answerer_names(test_set) if name.startswith(PERSON_PREFIX))

    def _answerer_names(self, test_set: str) -> tuple[str, ...]:
        return self._folders_with(MANIFEST, self.root / "predictions" / file_name(test_set))

    def _folders_with(self, name: str, base: Path) -> tuple[str, ...]:
        """The names of the folders that contain a file; warn of folders that contain only other files."""
        folders = sorted(base.glob("*"))
        complete = {folder for folder in folders if (folder / name).is_file()}
        self._lost_files.warn(folder / name for folder in folders if folder not in complete and is_filled(folder))
        return tuple(sorted(original_name(folder.name) for folder in complete))

    def check_manifests(self, test_set: str, names: Iterable[str]) -> None:
        """Raise if one of these models or people has predictions without a manifest."""
        for folder in (self.prediction_folder(test_set, name) for name in names):
            if not (folder / MANIFEST).is_file() and is_filled(folder):
                raise lost(folder / MANIFEST)

    def predictions(self, test_set: TestSet, model: str) -> Predictions:
        """Read the predictions of a model; raise if they were made for another version of the test set."""
        folder = self.prediction_folder(test_set.name, model)
        self.check_manifests(test_set.name, [model])
        if not (folder / MANIFEST).is_file():
            names = self.model_names(test_set.name)
            raise UnknownName(f"model on {test_set.name}", model, names, first=FIRST_MODEL)
        if read_manifest(folder).test_set_digest != test_set.digest:
            raise MismatchError(f"{folder} was made for another version of test set {test_set.name!r}")
        return read_predictions(folder)

    def manifest(self, test_set: TestSet, model: str) -> Manifest:
        """The manifest of a model's stored predictions."""
        return read_manifest(self.prediction_folder(test_set.name, model))

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
            new, unchanged = self._split([manifest for _, manifest in entries])
            check_distinct_names("model or person", new, self._answerer_names(test_set.name))
            chosen = set(new)
            self._place_class_space(change, space)
            self._place_test_set(change, test_set)
            for predictions, manifest in entries:
                if manifest.model.name in chosen:
                    folder = change.new_folder()
                    stage_predictions(change, folder, predictions, test_set, manifest)
                    change.replace(folder, self.prediction_folder(test_set.name, manifest.model.name))
        return Stored(new, unchanged)

    def replace_predictions(self, test_set: TestSet, predictions: Predictions, manifest: Manifest) -> None:
        """Replace the stored predictions of a model atomically."""
        with self.transaction() as change:
            folder = change.new_folder()
            stage_predictions(change, folder, predictions, test_set, manifest)
            change.replace(folder, self.prediction_folder(test_set.name, manifest.model.name))

    def remove_answers(self, test_set: str, person: str) -> None:
        """Remove the answers of a person from a ledger, when none of them is left there."""
        with self.transaction() as change:
            change.remove(self.prediction_folder(test_set, person))

    def _split(self, manifests: Iterable[Manifest]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        new, unchanged = [], []
        for manifest in manifests:
            folder = self.prediction_folder(manifest.test_set, manifest.model.name)
            stored = read_manifest(folder) if (folder / MANIFEST).is_file() else None
            if stored is not None and stored.digest == manifest.digest:
                unchanged.append(manifest.model.name)
            elif stored is None or (manifest.queues and stored.queues):
                new.append(manifest.model.name)
            else:
                raise AlreadyStored(
                    f"other predictions of {manifest.model.name!r} on {manifest.test_set} are stored: import under "
                    f"another name (--model or --name, --prefix for many), or remove {folder} first"
                )
        return tuple(new), tuple(unchanged)

    def partial_predictions(
        self, test_set: TestSet, model: str, *, part_size: int, plan: dict[str, Any]
    ) -> PartialPredictions:
        """Unfinished predictions; they become visible once they are finished and added.

        Raises if the name is too similar to that of another model, before anything is computed.
        """
        check_distinct_names("model or person", [model], self._answerer_names(test_set.name))
        folder = self.root / ".partial" / file_name(test_set.name) / file_name(model)
        return PartialPredictions(folder, len(test_set), part_size, {**plan, "test_set_digest": test_set.digest})

    # Checkpoints of ensembles

    def ensemble_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the ensembles with stored checkpoints on a test set."""
        return self._folders_with(CHECKPOINT_MANIFEST, self.root / "checkpoints" / file_name(test_set))

    def checkpoints(self, test_set: TestSet, ensemble: str) -> Checkpoints:
        """The checkpoints of an ensemble; raise if they were made for another version of the test set."""
        folder = self._checkpoint_folder(test_set.name, ensemble)
        if not (folder / CHECKPOINT_MANIFEST).is_file():
            if is_filled(folder):
                raise lost(folder / CHECKPOINT_MANIFEST)
            names = self.ensemble_names(test_set.name)
            raise UnknownName(f"ensemble on {test_set.name}", ensemble, names, first="regrade import checkpoints")
        if read_checkpoint_manifest(folder).test_set_digest != test_set.digest:
            raise MismatchError(f"{folder} was made for another version of test set {test_set.name!r}")
        return read_checkpoints(folder)

    def checkpoint_manifest(self, test_set: TestSet, ensemble: str) -> CheckpointManifest:
        """The manifest of an ensemble's checkpoints."""
        return read_checkpoint_manifest(self._checkpoint_folder(test_set.name, ensemble))

    def checkpoint_writer(
        self, test_set: TestSet, ensemble: str, kind: ScoreKind, space: ClassSpace | None = None
    ) -> CheckpointWriter:
        """A writer that collects an ensemble's scores epoch by epoch and stores them once they are complete."""
        base = self.root / ".partial" / ".checkpoints" / file_name(test_set.name) / file_name(ensemble)
        own_space = space or test_set.class_space
        place = partial(self._place_checkpoints, space=own_space)
        return CheckpointWriter(ensemble, test_set, own_space, kind, base, place)

    @contextmanager
    def temporary_checkpoint_writer(
        self, test_set: TestSet, ensemble: str, kind: ScoreKind, space: ClassSpace | None = None
    ) -> Iterator[CheckpointWriter]:
        """A writer with an empty folder of its own: it does not resume a stopped run, and leaves nothing behind."""
        with work_folder(self.root) as folder:
            yield replace(self.checkpoint_writer(test_set, ensemble, kind, space), base=folder / "checkpoints")

    def _place_checkpoints(self, folder: Path, manifest: CheckpointManifest, *, space: ClassSpace) -> bool:
        final = self._checkpoint_folder(manifest.test_set, manifest.ensemble)
        with self.transaction() as change:
            if (final / CHECKPOINT_MANIFEST).is_file():
                if read_checkpoint_manifest(final).digest != manifest.digest:
                    raise AlreadyStored(
                        f"other checkpoints of {manifest.ensemble!r} on {manifest.test_set} are stored: choose another "
                        f"name, or remove {final} first"
                    )
                return False
            self._place_class_space(change, space)
            change.place(folder, final)
        return True

    def _checkpoint_folder(self, test_set: str, ensemble: str) -> Path:
        return self.root / folder_of_checkpoints(test_set, ensemble)

    # Label sets

    def label_set_names(self, test_set: str) -> tuple[str, ...]:
        """The label sets of a test set as ``name@version``, oldest version first."""
        self._lost_files.warn(self._label_path(test_set, full) for full in self._lost_label_sets(test_set))
        return _by_version(_stems(self._label_folder(test_set), ".parquet"))

    def _lost_label_sets(self, test_set: str) -> tuple[str, ...]:
        """The label sets that are missing although contents.json lists them or a review of them is stored."""
        folders = filled_folders(self.root / "reviews" / file_name(test_set))
        reviewed = [original_name(folder.name) for folder in folders]
        missing = [full for full in reviewed if not self._label_path(test_set, full).is_file()]
        return tuple({*missing, *missing_listed_files(self.root, f"labels/{file_name(test_set)}")})

    def label_set(self, test_set: TestSet, name: str) -> LabelSet:
        """Read a label set by ``name`` (its newest version) or ``name@version``."""
        missing = self._lost_label_sets(test_set.name)
        all_versions = _by_version((*_stems(self._label_folder(test_set.name), ".parquet"), *missing))
        matching = [full for full in all_versions if name in (full, full.rpartition("@")[0])]
        if not matching:
            raise self._unknown_labels(test_set.name, name)
        path = self._label_path(test_set.name, matching[-1])
        if matching[-1] in missing:
            review = folder_of_review(test_set.name, matching[-1])
            raise lost(path, f"{review} is a review of it") if is_filled(self.root / review) else removed(path)
        return read_label_set(path, test_set)

    def add_label_set(self, labels: LabelSet, test_set: TestSet, slices: SliceSet | None = None) -> Stored:
        """Store one version of a label set and the slice set that comes with it.

        Storing the same again is allowed; other content under the same names raises.
        """
        full = labels.full_name
        path = self._label_path(test_set.name, full)
        with self.transaction() as change:
            if slices is not None:
                self._place_slice_set(change, slices, test_set)
            if path.is_file():
                if stored_digest(path) != labels.digest:
                    raise AlreadyStored(
                        f"other labels are stored as {full} of {test_set.name}: choose another --name, or keep both "
                        "with --new-version"
                    )
                return Stored((), (full,))
            change.write_at(path, lambda file: write_label_set(labels, test_set, file))
        return Stored((full,), ())

    def newest_version(self, test_set: str, name: str) -> int:
        """The newest version of a label set; 0 if there is none."""
        split = (full.rpartition("@") for full in (*self.label_set_names(test_set), *self._lost_label_sets(test_set)))
        return max((int(version) for base, _, version in split if base == name), default=0)

    def newest_without_decisions(self, test_set: str, name: str) -> str:
        """The newest version of a label set, as ``name@version``, without decisions from a ledger."""
        for full in reversed(self.label_set_names(test_set)):
            if full.rpartition("@")[0] == name and not read_meta(self._label_path(test_set, full)).get("queues"):
                return full
        raise self._unknown_labels(test_set, name)

    def _unknown_labels(self, test_set: str, name: str) -> UnknownName:
        names = sorted({full.rpartition("@")[0] for full in self.label_set_names(test_set)})
        return UnknownName(f"label set of {test_set}", name, names, first=FIRST_LABELS)

    # Images

    def add_images(
        self,
        test_set: TestSet,
        source: ImageSource,
        class_map: ClassMap | None = None,
        *,
        is_missing: Callable[[ImageSource], bool] = _has_no_root,
    ) -> Stored:
        """Store where the images of a test set are, and also the test set and its class map if they are new.

        Raises if other locations are stored, unless ``is_missing`` says that the images there are gone.
        """
        with self.transaction() as change:
            self._place_test_set(change, test_set)
            placed = [*self._place_class_map(change, test_set, class_map)]
            placed.append(self._place_images(change, test_set, source, is_missing))
        return _together(test_set.name, placed)

    def _place_images(
        self,
        change: Transaction,
        test_set: TestSet,
        source: ImageSource,
        is_missing: Callable[[ImageSource], bool],
    ) -> Stored:
        path, new_source = self._image_path(test_set.name), inside_workspace(source, self.root)
        if path.is_file():
            stored = read_images(path, test_set, self.root)
            if stored == new_source:
                return Stored((), (test_set.name,))
            if not is_missing(stored):
                raise AlreadyStored(
                    f"the images of {test_set.name} are registered at {stored.path}, which exists: remove {path} to "
                    f"read them from {new_source.path} instead"
                )
        staged = change.new_folder() / path.name
        change.replace(change.write(staged, lambda file: write_images(new_source, test_set, file)), path)
        return Stored((test_set.name,), ())

    def images(self, test_set: TestSet) -> ImageSource:
        """Where the images of a test set are; raise if it has none."""
        self.check_images(test_set)
        return read_images(self._image_path(test_set.name), test_set, self.root)

    def check_images(self, test_set: TestSet) -> None:
        """Raise if a test set has no images, with the command that adds them."""
        if not self.has_images(test_set.name):
            raise InputError(f"test set {test_set.name} has no images: regrade testsets add {test_set.name} PATH")

    def has_images(self, test_set: str) -> bool:
        """Whether the locations of a test set's images are stored."""
        return self._image_path(test_set).is_file()

    def _image_path(self, test_set: str) -> Path:
        return self.root / place_of_images(test_set)

    # Signatures of images

    def signatures(self, name: str, key: SignatureKey) -> Signatures | None:
        """The stored signatures of a set of images; None if there are none."""
        folder = self.root / folder_of_signatures(name, key.digest)
        return read_signatures(folder) if (folder / TABLE).is_file() else None

    def signature_sizes(self, name: str) -> frozenset[int]:
        """The image sizes for which signatures of a set are stored."""
        return frozenset(int(read_meta(table)["size"]) for table in self._signature_folder(name).glob(f"*/{TABLE}"))

    def reusable_signatures(self, name: str, key: SignatureKey) -> Iterator[tuple[Signatures, dict[str, int]]]:
        """Stored signatures computed in the same way for more or fewer images, with the row of each location."""
        for table in sorted(self._signature_folder(name).glob(f"*/{TABLE}")):
            if (reusable := reusable_from_folder(table.parent, key)) is not None:
                yield reusable

    def partial_signatures(self, name: str, key: SignatureKey, *, part_size: int) -> PartialSignatures:
        """Unfinished signatures; they become visible once they are finished and added."""
        folder = self.root / ".partial" / ".signatures" / file_name(name) / key.digest[:16]
        return PartialSignatures(folder, len(key.source.locations), part_size)

    def add_signatures(self, name: str, key: SignatureKey, parts: Iterable[Signatures]) -> None:
        """Store the signatures of a set, given in consecutive parts."""
        with self.transaction() as change:
            staged = change.new_folder()
            stage_signatures(change, staged, name, key, parts)
            change.place(staged, self.root / folder_of_signatures(name, key.digest))

    def _signature_folder(self, name: str) -> Path:
        return self.root / "neighbors" / file_name(name)

    # Reviews of novel predictions

    def add_review(self, frame: NovelSample, test_set: TestSet) -> Stored:
        """Store the frame of a review; storing it again is allowed, another one for the same labels raises."""
        folder = self._review_folder(test_set.name, frame.labels)
        with self.transaction() as change:
            if has_review(folder):
                if stored_frame_digest(folder) != frame.digest:
                    raise AlreadyStored(
                        f"a sample for {frame.labels} of {test_set.name} was drawn already, and drawing again would "
                        f"bias it: judge that one, or remove {folder} first"
                    )
                return Stored((), (frame.labels,))
            begin_review(change, folder, frame, test_set)
        return Stored((frame.labels,), ())

    def review(self, test_set: TestSet, labels: LabelSet) -> NovelSample | None:
        """The review of the novel predictions under a label set, with its verdicts; None if there is none."""
        folder = self._review_folder(test_set.name, labels.full_name)
        return read_frame(folder, test_set) if has_review(folder) else None

    def draw_more(self, frame: NovelSample, size: int, *, queue: str = "") -> NovelSample:
        """Draw the next predictions of a review, optionally for a queue."""
        with self.transaction() as change:
            return draw_more(change, self._review_folder(frame.test_set, frame.labels), frame, size, queue=queue)

    def rows_drawn_for(self, frame: NovelSample, queue: str) -> IntArray:
        """The rows of a review that were drawn for a queue, in the order of drawing."""
        return rows_drawn_for(self._review_folder(frame.test_set, frame.labels), frame, queue)

    def import_decisions(
        self, path: Path, test_set: TestSet, labels: LabelSet, columns: Columns, *, correction: str = ""
    ) -> AddedDecisions:
        """Add the verdicts of a file to a review; with ``correction``, the reason, they may replace others."""
        with self.transaction() as change:
            frame = self.review(test_set, labels)
            if frame is None:
                raise InputError(f"no sample was drawn for {labels.name}: draw one with regrade labels sample")
            verdicts = read_verdict_file(path, test_set, columns)
            folder = self._review_folder(test_set.name, frame.labels)
            return add_verdicts(change, folder, frame, test_set, verdicts, correction=correction)

    def with_decisions(
        self, frame: NovelSample, test_set: TestSet, verdicts: ReviewDecisions, *, queue: str
    ) -> NovelSample:
        """A review with the present decisions of a queue in place of its earlier ones."""
        folder = self._review_folder(test_set.name, frame.labels)
        return with_decisions(folder, frame, test_set, verdicts, queue=queue)

    def add_decisions(self, before: NovelSample, after: NovelSample, test_set: TestSet, *, queue: str) -> None:
        """Store the changes of a review that the decisions of a queue made."""
        folder = self._review_folder(test_set.name, before.labels)
        with self.transaction() as change:
            add_decisions(change, folder, before, after, test_set, queue=queue)

    def _review_folder(self, test_set: str, labels: str) -> Path:
        return self.root / folder_of_review(test_set, labels)

    # Reviews of mistakes

    def mistake_review_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the models whose mistakes on a test set were reviewed."""
        self._lost_files.warn(self.root / place_of_mistakes(test_set, model) for model in self._lost_reviews(test_set))
        return _stems(self._mistake_folder(test_set), ".parquet")

    def mistake_review(self, test_set: TestSet, model: str) -> MistakeAnnotations:
        """Read the review of a model's mistakes."""
        path = self.root / place_of_mistakes(test_set.name, model)
        if not path.is_file():
            if model in self._lost_reviews(test_set.name):
                raise removed(path)
            names = self.mistake_review_names(test_set.name)
            raise UnknownName(f"review of mistakes on {test_set.name}", model, names, first="regrade review mistakes")
        return read_mistake_review(path, test_set)

    def add_mistake_review(self, review: MistakeAnnotations, test_set: TestSet) -> Stored:
        """Store a review of mistakes; storing it again is allowed, another one for the same model raises.

        Decisions from a ledger may replace earlier ones, which the ledger still has.
        """
        path = self.root / place_of_mistakes(test_set.name, review.model)
        with self.transaction() as change:
            if path.is_file():
                meta = read_meta(path)
                if meta["digest"] == review.digest:
                    return Stored((), (review.model,))
                if not (review.queues and meta["queues"]):
                    raise AlreadyStored(
                        f"another review of the mistakes of {review.model!r} on {test_set.name} is stored: choose "
                        f"another --model, or remove {path} first"
                    )
            staged = change.new_folder() / path.name
            change.replace(change.write(staged, lambda file: write_mistake_review(review, test_set, file)), path)
        return Stored((review.model,), ())

    def remove_mistake_review(self, test_set: str, model: str) -> None:
        """Remove a review of mistakes from a ledger, when none of its decisions is left there."""
        with self.transaction() as change:
            change.remove(self.root / place_of_mistakes(test_set, model))

    def _lost_reviews(self, test_set: str) -> list[str]:
        return missing_listed_files(self.root, f"mistakes/{file_name(test_set)}")

    def _mistake_folder(self, test_set: str) -> Path:
        return self.root / "mistakes" / file_name(test_set)

    def _test_set_path(self, name: str) -> Path:
        return self.root / place_of_test_set(name)

    def prediction_folder(self, test_set: str, model: str) -> Path:
        """The folder of a model's predictions on a test set, which may not exist."""
        return self.root / folder_of_predictions(test_set, model)

    def _label_folder(self, test_set: str) -> Path:
        return self.root / "labels" / file_name(test_set)

    def _label_path(self, test_set: str, full: str) -> Path:
        return self.root / place_of_labels(test_set, full)


def _together(name: str, placed: Iterable[Stored]) -> Stored:
    """The result of storing several parts under one name, which is new if any part is new."""
    return Stored((name,), ()) if any(part.new for part in placed) else Stored((), (name,))


def _by_version(names: Iterable[str]) -> tuple[str, ...]:
    """Full names of label sets, ``name@version``, oldest version first; other names are left out."""
    split = (full.rpartition("@") for full in names)
    versions = sorted((name, int(version)) for name, _, version in split if name and version.isdigit())
    return tuple(f"{name}@{version}" for name, version in versions)


def _stems(folder: Path, suffix: str) -> tuple[str, ...]:
    return tuple(sorted(original_name(p.name.removesuffix(suffix)) for p in folder.glob(f"*{suffix}")))
