"""The workspace's folder: what is stored, and the only way in and out of it."""

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
    MistakeReview,
    Predictions,
    ReviewFrame,
    ScoreKind,
    Signatures,
    SliceSet,
    StoreError,
    TestSet,
    UnknownName,
)
from regrade.core.arrays import IntArray
from regrade.core.similar_names import check_distinct_names
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
from regrade.store.refusals import refusals_as_errors
from regrade.store.review_files import (
    AddedVerdicts,
    Verdicts,
    add_decisions,
    add_verdicts,
    begin_review,
    draw_more,
    has_review,
    read_frame,
    read_verdict_file,
    rows_given_to,
    stored_frame_digest,
    with_decisions,
)
from regrade.store.signature_folder import TABLE, SignatureKey, read_signatures, stage_signatures, taken_over
from regrade.store.slice_file import read_slice_set, write_slice_set
from regrade.store.test_set_file import read_test_set, stored_class_space, write_test_set
from regrade.store.transaction import Transaction, recover, transaction
from regrade.store.work_folder import remove_abandoned_work, work_folder
from regrade.tables import Columns

FIRST_MODEL = "regrade predict, or regrade import predictions"
"""What brings the first predictions on a test set."""

FIRST_LABELS = "regrade import labels, or from the images' own labels with regrade labels create"
"""What brings the first label set of a test set."""


def _has_no_root(source: ImageSource) -> bool:
    return not source.path.exists()


@dataclass(frozen=True)
class Stored:
    """What came of storing: what is new, and what was there already with the same content."""

    new: tuple[str, ...]
    unchanged: tuple[str, ...]


class Store:
    """A workspace on disk; everything in it is written whole and once.

    Use `Store.create` or `Store.open`.
    """

    def __init__(self, root: Path, config: Config) -> None:
        self.root = root
        self.config = config
        self._lost_files = LostFiles(root)

    @classmethod
    def create(cls, root: Path) -> Store:
        """Make a new workspace; a folder that is one already raises, other files in it are left alone."""
        if (root / CONFIG).exists():
            raise AlreadyStored(f"{root} is a workspace already")
        if root.exists() and not root.is_dir():
            raise InputError(f"{root} is a file: a workspace is a folder")
        with refusals_as_errors(root):
            root.mkdir(parents=True, exist_ok=True)
        with transaction(root) as change:
            change.write_at(root / CONFIG, lambda file: file.write(TEMPLATE.encode()))
        return cls.open(root)

    @classmethod
    def open(cls, root: Path) -> Store:
        """Open a workspace; a folder that is none raises and says how to make one."""
        if not (root / CONFIG).is_file():
            raise StoreError(f"{root} is not a workspace (no {CONFIG}): make one with regrade init {root}")
        config = read_config(root / CONFIG)
        recover(root)
        remove_abandoned_work(root)
        return cls(root, config)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Several changes as one: all of them or none, decided on what is stored, while other writers wait."""
        return transaction(self.root)

    # Class spaces

    def class_space_names(self) -> tuple[str, ...]:
        """The built-in class spaces and those stored here."""
        return (*BUILT_IN, *_stems(self.root / "classes", ".json"))

    def class_space(self, name: str) -> ClassSpace:
        """A built-in class space, or one stored here."""
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
        """The test sets stored here."""
        return _stems(self.root / "testsets", ".parquet")

    def test_set(self, name: str) -> TestSet:
        """Read a test set, with the slices that came after it."""
        path = self._test_set_path(name)
        if not path.is_file():
            raise UnknownName("test set", name, self.test_set_names(), first=f"regrade testsets add {name} PATH")
        found = read_test_set(path, self.class_space(stored_class_space(path)))
        self._lost_files.tell(self.root / place_of_slices(name, lost_name) for lost_name in self._lost_slice_sets(name))
        slices = sorted(self._slice_folder(name).glob("*.parquet"))
        return replace(found, slice_sets=tuple(read_slice_set(each, found) for each in slices)) if slices else found

    def add_test_set(self, test_set: TestSet, class_map: ClassMap | None = None) -> Stored:
        """Store a test set, its class space and its class map if it has one; others under its name raise."""
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
        """The classes that stand for those of a test set where models predict others; none if it has no map."""
        path = self._class_map_path(test_set.name)
        return read_class_map(path, test_set, self.class_space) if path.is_file() else None

    def _place_class_map(self, change: Transaction, test_set: TestSet, class_map: ClassMap | None) -> list[Stored]:
        if class_map is None:
            return []
        path = self._class_map_path(test_set.name)
        if path.is_file():
            known = self.class_map(test_set)
            if known is None or known.digest != class_map.digest:
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

    # Slices that came after a test set

    def add_slice_set(self, slices: SliceSet, test_set: TestSet) -> Stored:
        """Store slices beside their test set; the same again is no change, others under their name raise."""
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
        """The models whose predictions on a test set are stored, by name; people are not among them."""
        return tuple(name for name in self._answerer_names(test_set) if not name.startswith(PERSON_PREFIX))

    def people_names(self, test_set: str) -> tuple[str, ...]:
        """The people whose answers on a test set are stored, by name."""
        return tuple(name for name in self._answerer_names(test_set) if name.startswith(PERSON_PREFIX))

    def _answerer_names(self, test_set: str) -> tuple[str, ...]:
        return self._folders_with(MANIFEST, self.root / "predictions" / file_name(test_set))

    def _folders_with(self, name: str, base: Path) -> tuple[str, ...]:
        """The names of the folders that hold a file; those that hold only others are told on standard error."""
        folders = sorted(base.glob("*"))
        complete = {folder for folder in folders if (folder / name).is_file()}
        self._lost_files.tell(each / name for each in folders if each not in complete and is_filled(each))
        return tuple(sorted(original_name(folder.name) for folder in complete))

    def check_manifests(self, test_set: str, names: Iterable[str]) -> None:
        """Raise where a model or person that was named has predictions without a manifest."""
        for folder in (self.prediction_folder(test_set, name) for name in names):
            if not (folder / MANIFEST).is_file() and is_filled(folder):
                raise lost(folder / MANIFEST)

    def predictions(self, test_set: TestSet, model: str) -> Predictions:
        """Read one model's predictions; those made for another version of the test set raise."""
        folder = self.prediction_folder(test_set.name, model)
        self.check_manifests(test_set.name, [model])
        if not (folder / MANIFEST).is_file():
            names = self.model_names(test_set.name)
            raise UnknownName(f"model on {test_set.name}", model, names, first=FIRST_MODEL)
        if read_manifest(folder).test_set_digest != test_set.digest:
            raise MismatchError(f"{folder} was made for another version of test set {test_set.name!r}")
        return read_predictions(folder)

    def manifest(self, test_set: TestSet, model: str) -> Manifest:
        """What stands behind one model's stored predictions."""
        return read_manifest(self.prediction_folder(test_set.name, model))

    def add_predictions(
        self, test_set: TestSet, entries: Sequence[tuple[Predictions, Manifest]], space: ClassSpace
    ) -> Stored:
        """Store predictions of any number of models in one class space: all of them or none.

        The test set and the class space come along if they are new. A model that is called as people are raises, and
        so do other predictions than are stored; only answers of a ledger may replace earlier ones, which it still has.
        """
        for predictions, _ in entries:
            if predictions.model.startswith(PERSON_PREFIX) and predictions.by is not Answerer.PERSON:
                raise InputError(
                    f"{predictions.model!r} is the name of a person: bring people with regrade import people"
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
        """Put predictions in the place of those that are stored under the same name, in one step."""
        with self.transaction() as change:
            folder = change.new_folder()
            stage_predictions(change, folder, predictions, test_set, manifest)
            change.replace(folder, self.prediction_folder(test_set.name, manifest.model.name))

    def remove_answers(self, test_set: str, person: str) -> None:
        """Take away the answers of a person that came from a ledger and of which none stands."""
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
        """Predictions under way; they become visible once they are finished and added.

        A name that could not be told from that of another model raises now, before anything is computed.
        """
        check_distinct_names("model or person", [model], self._answerer_names(test_set.name))
        folder = self.root / ".partial" / file_name(test_set.name) / file_name(model)
        return PartialPredictions(folder, len(test_set), part_size, {**plan, "test_set_digest": test_set.digest})

    # Checkpoints of ensembles

    def ensemble_names(self, test_set: str) -> tuple[str, ...]:
        """The ensembles whose checkpoints on a test set are stored."""
        return self._folders_with(CHECKPOINT_MANIFEST, self.root / "checkpoints" / file_name(test_set))

    def checkpoints(self, test_set: TestSet, ensemble: str) -> Checkpoints:
        """The checkpoints of an ensemble; those made for another version of the test set raise."""
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
        """What stands behind the checkpoints of an ensemble."""
        return read_checkpoint_manifest(self._checkpoint_folder(test_set.name, ensemble))

    def checkpoint_writer(
        self, test_set: TestSet, ensemble: str, kind: ScoreKind, space: ClassSpace | None = None
    ) -> CheckpointWriter:
        """Takes an ensemble's scores epoch by epoch, and stores them once all are there."""
        base = self.root / ".partial" / ".checkpoints" / file_name(test_set.name) / file_name(ensemble)
        known = space or test_set.class_space
        return CheckpointWriter(ensemble, test_set, known, kind, base, partial(self._place_checkpoints, space=known))

    @contextmanager
    def checkpoints_at_once(
        self, test_set: TestSet, ensemble: str, kind: ScoreKind, space: ClassSpace | None = None
    ) -> Iterator[CheckpointWriter]:
        """A writer for all scores in one go: it knows nothing of a run that was stopped, and leaves nothing behind."""
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
        self._lost_files.tell(self._label_path(test_set, full) for full in self._lost_label_sets(test_set))
        return _by_version(_stems(self._label_folder(test_set), ".parquet"))

    def _lost_label_sets(self, test_set: str) -> tuple[str, ...]:
        """The label sets that are missing though they are listed, or though there are reviews of them."""
        reviewed = [original_name(each.name) for each in filled_folders(self.root / "reviews" / file_name(test_set))]
        missing = [full for full in reviewed if not self._label_path(test_set, full).is_file()]
        return tuple({*missing, *missing_listed_files(self.root, f"labels/{file_name(test_set)}")})

    def label_set(self, test_set: TestSet, name: str) -> LabelSet:
        """Read a label set by ``name`` (its newest version) or ``name@version``."""
        missing = self._lost_label_sets(test_set.name)
        known = _by_version((*_stems(self._label_folder(test_set.name), ".parquet"), *missing))
        found = [full for full in known if name in (full, full.rpartition("@")[0])]
        if not found:
            raise self._unknown_labels(test_set.name, name)
        path = self._label_path(test_set.name, found[-1])
        if found[-1] in missing:
            review = folder_of_review(test_set.name, found[-1])
            raise lost(path, f"{review} is a review of it") if is_filled(self.root / review) else removed(path)
        return read_label_set(path, test_set)

    def add_label_set(self, labels: LabelSet, test_set: TestSet, slices: SliceSet | None = None) -> Stored:
        """Store one version of a label set and the slices that came with it; others under their names raise.

        The same again is no change.
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
        """The newest version of a label set, 0 if there is none."""
        split = (full.rpartition("@") for full in (*self.label_set_names(test_set), *self._lost_label_sets(test_set)))
        return max((int(version) for base, _, version in split if base == name), default=0)

    def newest_from_file(self, test_set: str, name: str) -> str:
        """The newest version of a label set, as ``name@version``, that holds no decisions of a ledger."""
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
        """Store where a test set's images are, and the test set and its class map as far as they are new.

        Other places than before raise, unless ``is_missing`` says that the images at the place before are gone.
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
        path, given = self._image_path(test_set.name), inside_workspace(source, self.root)
        if path.is_file():
            stored = read_images(path, test_set, self.root)
            if stored == given:
                return Stored((), (test_set.name,))
            if not is_missing(stored):
                raise AlreadyStored(
                    f"the images of {test_set.name} are registered at {stored.path}, which exists: remove {path} to "
                    f"read them from {given.path} instead"
                )
        staged = change.new_folder() / path.name
        change.replace(change.write(staged, lambda file: write_images(given, test_set, file)), path)
        return Stored((test_set.name,), ())

    def images(self, test_set: TestSet) -> ImageSource:
        """Where a test set's images are; one without images raises and says how to add them."""
        self.check_images(test_set)
        return read_images(self._image_path(test_set.name), test_set, self.root)

    def check_images(self, test_set: TestSet) -> None:
        """Raise where a test set has no images, and say how to add them."""
        if not self.has_images(test_set.name):
            raise InputError(f"test set {test_set.name} has no images: regrade testsets add {test_set.name} PATH")

    def has_images(self, test_set: str) -> bool:
        """Whether it is known where a test set's images are."""
        return self._image_path(test_set).is_file()

    def _image_path(self, test_set: str) -> Path:
        return self.root / place_of_images(test_set)

    # Signatures of images

    def signatures(self, name: str, signed: SignatureKey) -> Signatures | None:
        """What was kept of the images of a set; none where it is not known yet."""
        folder = self.root / folder_of_signatures(name, signed.digest)
        return read_signatures(folder) if (folder / TABLE).is_file() else None

    def signature_sizes(self, name: str) -> frozenset[int]:
        """The sizes at which the images of a set were looked at, as far as anything was kept of it."""
        return frozenset(int(read_meta(table)["size"]) for table in self._signature_folder(name).glob(f"*/{TABLE}"))

    def signatures_elsewhere(self, name: str, signed: SignatureKey) -> Iterator[tuple[Signatures, dict[str, int]]]:
        """Signatures that were made the same way of more or fewer images, with the row of each place."""
        for table in sorted(self._signature_folder(name).glob(f"*/{TABLE}")):
            if (found := taken_over(table.parent, signed)) is not None:
                yield found

    def partial_signatures(self, name: str, signed: SignatureKey, *, part_size: int) -> PartialSignatures:
        """Signatures under way; they become visible once they are finished and added."""
        folder = self.root / ".partial" / ".signatures" / file_name(name) / signed.digest[:16]
        return PartialSignatures(folder, len(signed.source.locations), part_size)

    def add_signatures(self, name: str, signed: SignatureKey, parts: Iterable[Signatures]) -> None:
        """Store the signatures of a set, given in parts that follow one another."""
        with self.transaction() as change:
            staged = change.new_folder()
            stage_signatures(change, staged, name, signed, parts)
            change.place(staged, self.root / folder_of_signatures(name, signed.digest))

    def _signature_folder(self, name: str) -> Path:
        return self.root / "neighbors" / file_name(name)

    # Reviews of novel predictions

    def add_review(self, frame: ReviewFrame, test_set: TestSet) -> Stored:
        """Store the frame of a review; the same again is no change, another for the same labels raises."""
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

    def review(self, test_set: TestSet, labels: LabelSet) -> ReviewFrame | None:
        """The review of what is novel under a label set, with its verdicts; none if none was drawn."""
        folder = self._review_folder(test_set.name, labels.full_name)
        return read_frame(folder, test_set) if has_review(folder) else None

    def draw_more(self, frame: ReviewFrame, size: int, *, queue: str = "") -> ReviewFrame:
        """Give out the next predictions of a review, and note for which queue, if for one."""
        with self.transaction() as change:
            return draw_more(change, self._review_folder(frame.test_set, frame.labels), frame, size, queue=queue)

    def rows_given_to(self, frame: ReviewFrame, queue: str) -> IntArray:
        """The rows of a review that were drawn for a queue, in their order."""
        return rows_given_to(self._review_folder(frame.test_set, frame.labels), frame, queue)

    def add_verdicts(
        self, path: Path, test_set: TestSet, labels: LabelSet, columns: Columns, *, correction: str = ""
    ) -> AddedVerdicts:
        """Add the verdicts of a file to a review, and say how many are new; ``correction`` lets them replace others."""
        with self.transaction() as change:
            frame = self.review(test_set, labels)
            if frame is None:
                raise InputError(f"no sample was drawn for {labels.name}: draw one with regrade labels sample")
            verdicts = read_verdict_file(path, test_set, columns)
            folder = self._review_folder(test_set.name, frame.labels)
            return add_verdicts(change, folder, frame, test_set, verdicts, correction=correction)

    def with_decisions(self, frame: ReviewFrame, test_set: TestSet, verdicts: Verdicts, *, queue: str) -> ReviewFrame:
        """A review as it would be with the decisions of a queue, in place of what the same queue gave before."""
        folder = self._review_folder(test_set.name, frame.labels)
        return with_decisions(folder, frame, test_set, verdicts, queue=queue)

    def add_decisions(self, before: ReviewFrame, after: ReviewFrame, test_set: TestSet, *, queue: str) -> None:
        """Add to a review what the decisions of a queue change in it."""
        folder = self._review_folder(test_set.name, before.labels)
        with self.transaction() as change:
            add_decisions(change, folder, before, after, test_set, queue=queue)

    def _review_folder(self, test_set: str, labels: str) -> Path:
        return self.root / folder_of_review(test_set, labels)

    # Reviews of mistakes

    def mistake_review_names(self, test_set: str) -> tuple[str, ...]:
        """The models whose mistakes on a test set people have reviewed."""
        self._lost_files.tell(self.root / place_of_mistakes(test_set, model) for model in self._lost_reviews(test_set))
        return _stems(self._mistake_folder(test_set), ".parquet")

    def mistake_review(self, test_set: TestSet, model: str) -> MistakeReview:
        """Read what people said of a model's mistakes."""
        path = self.root / place_of_mistakes(test_set.name, model)
        if not path.is_file():
            if model in self._lost_reviews(test_set.name):
                raise removed(path)
            names = self.mistake_review_names(test_set.name)
            raise UnknownName(f"review of mistakes on {test_set.name}", model, names, first="regrade review mistakes")
        return read_mistake_review(path, test_set)

    def add_mistake_review(self, review: MistakeReview, test_set: TestSet) -> Stored:
        """Store a review of mistakes; the same again is no change, another for the same model raises.

        Decisions of a ledger may replace earlier ones, which it still has.
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
        """Take away a review of mistakes that came from a ledger and of which no decision stands."""
        with self.transaction() as change:
            change.remove(self.root / place_of_mistakes(test_set, model))

    def _lost_reviews(self, test_set: str) -> list[str]:
        return missing_listed_files(self.root, f"mistakes/{file_name(test_set)}")

    def _mistake_folder(self, test_set: str) -> Path:
        return self.root / "mistakes" / file_name(test_set)

    def _test_set_path(self, name: str) -> Path:
        return self.root / place_of_test_set(name)

    def prediction_folder(self, test_set: str, model: str) -> Path:
        """Where one model's predictions on a test set are, or will be."""
        return self.root / folder_of_predictions(test_set, model)

    def _label_folder(self, test_set: str) -> Path:
        return self.root / "labels" / file_name(test_set)

    def _label_path(self, test_set: str, full: str) -> Path:
        return self.root / place_of_labels(test_set, full)


def _together(name: str, placed: Iterable[Stored]) -> Stored:
    """What came of storing several parts of one thing: it is new if any of them is."""
    return Stored((name,), ()) if any(part.new for part in placed) else Stored((), (name,))


def _by_version(names: Iterable[str]) -> tuple[str, ...]:
    """Full names of label sets, ``name@version``, oldest version first; what is no such name is left out."""
    split = (full.rpartition("@") for full in names)
    versions = sorted((name, int(version)) for name, _, version in split if name and version.isdigit())
    return tuple(f"{name}@{version}" for name, version in versions)


def _stems(folder: Path, suffix: str) -> tuple[str, ...]:
    return tuple(sorted(original_name(p.name.removesuffix(suffix)) for p in folder.glob(f"*{suffix}")))
