"""The workspace: a folder with test sets, predictions and labels, and the methods that work on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import (
    ClassSpace,
    InputError,
    Preprocessing,
    ScoreKind,
    SliceSet,
    Unlisted,
    checkpoints_of,
)
from regrade.core.arguments import member, refuse_text
from regrade.executors import RayCluster
from regrade.formats import LabelFormat, MistakeFormat, PeopleFormat, SliceFormat, predictions_from_scores
from regrade.models import (
    LITE_PUBLISHED,
    Device,
    Precision,
    Resizer,
    Settings,
    fastest_resizer,
    read_published_accuracies,
)
from regrade.predict import (
    EngineOptions,
    Keep,
    NamedModel,
    PublishedCheck,
    Run,
    check_published,
    default_workers,
    no_progress,
    predict_all,
)
from regrade.predict import ProgressCallback as PredictProgress
from regrade.store import AddedDecisions, CheckpointWriter, PredictionSource, Store, Stored, keep_slices
from regrade.studies import Confusion, Novel, StratifyBy, Studies, study_method
from regrade.studies.compare.study import COMPARE
from regrade.studies.confusion.study import KeptHardSet, keep_hard_set
from regrade.studies.grade.study import GRADE
from regrade.studies.loading import resolve_class_space
from regrade.studies.study import ProgressCallback
from regrade.tables import Columns
from regrade.testsets import (
    Checked,
    Layout,
    check,
    contact_sheet,
)
from regrade.testsets.check import ProgressCallback as ImageProgress
from regrade.workspace.imports import (
    ImportedCheckpoints,
    ImportedLabels,
    ImportedMistakes,
    ImportedPeople,
    ImportedPredictions,
    ImportedSlices,
    create_labels,
    import_checkpoints,
    import_labels,
    import_mistakes,
    import_people,
    import_predictions,
    import_slices,
    import_verdicts,
    store_predictions,
)
from regrade.workspace.judgments import Judgments
from regrade.workspace.novel_review import DrawnReview, all_novel, draw_next, drawn_unjudged, review_of_labels
from regrade.workspace.plan_loader import Plans
from regrade.workspace.report_writing import WrittenReport, write_workspace_report
from regrade.workspace.test_set_adding import AddedTestSet, MapFile, add_test_set, corrupt_test_set, listed_in_catalog
from regrade.workspace.verification import Verification, missing_images, verify_workspace

if TYPE_CHECKING:
    from PIL.Image import Image


class Workspace(Judgments, Plans):
    """A folder with test sets, predictions and labels; its methods import data and grade models.

    ``study`` has one method per study, such as ``study.generalization``.
    Open a workspace with `regrade.open`, create one with `regrade.init`.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.study = Studies(store)

    def __repr__(self) -> str:
        return f"regrade.open({str(self.store.root)!r})"

    # Contents

    @property
    def test_sets(self) -> tuple[str, ...]:
        """The names of the test sets."""
        return self.store.test_set_names()

    def models(self, test_set: str) -> tuple[str, ...]:
        """The models with predictions on a test set."""
        return self.store.model_names(self.store.test_set(test_set).name)

    def ensembles(self, test_set: str) -> tuple[str, ...]:
        """The ensembles with checkpoints on a test set."""
        return self.store.ensemble_names(self.store.test_set(test_set).name)

    def label_sets(self, test_set: str) -> tuple[str, ...]:
        """The label sets of a test set, as ``name@version``."""
        return self.store.label_set_names(self.store.test_set(test_set).name)

    def class_space(self, name: str | Path | ClassSpace) -> ClassSpace:
        """A class space by name, or read from a CSV file, a JSON file or a folder and stored in the workspace."""
        space = resolve_class_space(self.store, name)
        if space.name != name:
            self.store.add_class_space(space)
        return space

    # Import

    def add_test_set(
        self,
        name: str,
        path: str | Path,
        *,
        classes: str | Path | ClassSpace | None = None,
        layout: Layout | str = Layout.PROVEN,
        columns: Columns | None = None,
        class_map: str | Path | None = None,
        map_source: str | Path | ClassSpace = "imagenet-1k",
    ) -> AddedTestSet:
        """Add a test set from images in any supported format, or without images from a table of ids and labels.

        A name in the catalog implies its classes. Images of an existing test set, for example one created by importing
        predictions, are matched by id. ``class_map`` is a file that maps classes of ``map_source`` to those of the test
        set; it is stored with the test set and used to grade models that predict classes of ``map_source``.
        """
        return add_test_set(
            self.store,
            name,
            Path(path),
            stated=None if classes is None else resolve_class_space(self.store, classes),
            layout=member(Layout, layout),
            columns=columns,
            map_file=None
            if class_map is None
            else MapFile(Path(class_map), resolve_class_space(self.store, map_source)),
        )

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

    def verify(self, *, progress: ProgressCallback = iter) -> Verification:
        """Check every stored file against its checksum, the ledger, and the location of the images."""
        return verify_workspace(self.store, progress=progress)

    def check_test_set(self, name: str, *, workers: int = 2, progress: ImageProgress | None = None) -> Checked:
        """Read and decode every image of a test set, and compare its count with the catalog's."""
        test_set = self.store.test_set(name)
        listed = listed_in_catalog(name)
        expected = listed.examples if listed else None
        return check(test_set, self.store.images(test_set), expected=expected, workers=workers, watch=progress)

    def contact_sheet(self, name: str, *, rows: int = 5, columns: int = 8, seed: int = 0) -> Image:
        """Randomly drawn images of a test set with their labels, as one image."""
        test_set = self.store.test_set(name)
        rng = np.random.default_rng(seed)
        return contact_sheet(test_set, self.store.images(test_set), rng=rng, rows=rows, columns=columns)

    def import_predictions(
        self,
        path: str | Path,
        *,
        test_set: str,
        classes: str | Path | ClassSpace | None = None,
        model: str | None = None,
        prefix: str = "",
        columns: Columns | None = None,
    ) -> ImportedPredictions:
        """Import a file of predictions: those of one model (named by ``model``), or one column per model."""
        return import_predictions(
            self.store,
            Path(path),
            test_set=test_set,
            classes=None if classes is None else resolve_class_space(self.store, classes),
            model=model,
            prefix=prefix,
            columns=columns,
        )

    def add_predictions(self, model: str, scores: ArrayLike, *, test_set: str) -> Stored:
        """Store the scores (n, c) of one model, with rows in the order of the test set."""
        target = self.store.test_set(test_set)
        predicted = predictions_from_scores(np.asarray(scores), target.class_space, name=model)
        if len(predicted.classes) != len(target):
            raise InputError(
                f"{len(predicted.classes):,} rows of scores for the {len(target):,} examples of {test_set}"
            )
        return store_predictions(
            self.store, target, {model: predicted}, space=target.class_space, source=PredictionSource()
        )

    def import_checkpoints(
        self,
        path: str | Path,
        *,
        test_set: str,
        ensemble: str,
        kind: ScoreKind | str,
        classes: str | Path | ClassSpace | None = None,
    ) -> ImportedCheckpoints:
        """Import the scores of an ensemble's members for each epoch, from a folder of arrays or a single array.

        ``kind`` says what the scores are: logits, probabilities or log-probabilities.
        """
        space = None if classes is None else resolve_class_space(self.store, classes)
        chosen = member(ScoreKind, kind)
        return import_checkpoints(
            self.store, Path(path), test_set=test_set, ensemble=ensemble, kind=chosen, classes=space
        )  # fmt: skip

    def checkpoint_writer(
        self,
        ensemble: str,
        *,
        test_set: str,
        kind: ScoreKind | str,
        classes: str | Path | ClassSpace | None = None,
    ) -> CheckpointWriter:
        """A writer for an ensemble's scores during training: ``add`` them by seed and epoch, then call ``finish``."""
        space = None if classes is None else resolve_class_space(self.store, classes)
        return self.store.ensembles.writer(self.store.test_set(test_set), ensemble, member(ScoreKind, kind), space)

    def add_checkpoints(
        self,
        ensemble: str,
        scores: ArrayLike,
        *,
        test_set: str,
        kind: ScoreKind | str,
        epochs: Sequence[int] = (),
    ) -> Stored:
        """Store the scores (seeds, epochs, n, c) of an ensemble, or (epochs, n, c) of one seed, numbered from 0."""
        checkpoints = checkpoints_of(np.asarray(scores), kind=member(ScoreKind, kind), ensemble=ensemble, epochs=epochs)
        with self.store.ensembles.temporary_writer(self.store.test_set(test_set), ensemble, checkpoints.kind) as writer:
            for seed, name in enumerate(checkpoints.members):
                for index, epoch in enumerate(checkpoints.epochs):
                    writer.add(checkpoints.scores(seed, index), seed=name, epoch=epoch)
            return Stored((ensemble,), ()) if writer.finish() else Stored((), (ensemble,))

    def import_labels(
        self,
        path: str | Path,
        *,
        test_set: str,
        name: str,
        form: LabelFormat | str = LabelFormat.PLAIN,
        complete: bool = False,
        new_version: bool = False,
        columns: Columns | None = None,
    ) -> ImportedLabels:
        """Import labels; with ``complete``, every class that a plain file does not list for an image is wrong."""
        return import_labels(
            self.store,
            Path(path),
            test_set=test_set,
            form=member(LabelFormat, form),
            name=name,
            unlisted=Unlisted.WRONG if complete else Unlisted.NOVEL,
            new_version=new_version,
            columns=columns,
        )

    def create_labels(self, test_set: str, *, name: str) -> ImportedLabels:
        """Create a label set from the original labels: each is correct, and no other class is judged yet."""
        return create_labels(self.store, test_set=test_set, name=name)

    def import_people(
        self,
        path: str | Path,
        *,
        test_set: str,
        form: PeopleFormat | str = PeopleFormat.TABLE,
        name: str | None = None,
        columns: Columns | None = None,
    ) -> ImportedPeople:
        """Import people's answers and their times as rows next to the models, named ``person:NAME``.

        ``name`` is the person's name if the file has none; if the file names several people, only this one is imported.
        """
        chosen = member(PeopleFormat, form)
        return import_people(self.store, Path(path), test_set=test_set, form=chosen, name=name, columns=columns)

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

    def import_mistakes(
        self,
        path: str | Path,
        *,
        test_set: str,
        model: str,
        form: MistakeFormat | str = MistakeFormat.TABLE,
        columns: Columns | None = None,
    ) -> ImportedMistakes:
        """Import people's category and severity for each mistake of a model, which need not have predictions."""
        chosen = member(MistakeFormat, form)
        return import_mistakes(self.store, Path(path), test_set=test_set, model=model, form=chosen, columns=columns)

    def keep_slices(self, slices: SliceSet) -> Stored:
        """Store slices from a study, for example the major mistakes, with their test set."""
        return keep_slices(self.store, slices)

    # Predictions

    def predict(
        self,
        models: Sequence[str],
        *,
        test_sets: Sequence[str],
        classes: str | Path | ClassSpace | None = None,
        preprocessing: Preprocessing | None = None,
        device: Device | str = Device.CPU,
        precision: Precision | str = Precision.FP32,
        compile: bool = False,
        batch: int | None = None,
        memory: int | None = None,
        workers: int | None = None,
        resizer: Resizer | str | None = None,
        keep: Sequence[Keep | str] = (),
        allow_unreadable: float | None = None,
        retry_unreadable: bool = False,
        cluster: RayCluster | None = None,
        progress: PredictProgress = no_progress,
    ) -> Run:
        """Predict every image of the test sets with every model and store the predictions; existing ones are kept.

        Models are named ``prefix:name``; ``classes`` and ``preprocessing`` apply to models without their own. An
        interrupted run resumes when it is called again. The default ``batch`` size is chosen to fit ``memory`` (bytes).
        ``keep`` may name ``scores`` and ``features``. A model that fails is reported in the result, and the run
        continues with the next one.

        More than 5 % unreadable images, and more than 10, are an error; ``allow_unreadable`` sets another fraction
        (0 to 1). With ``retry_unreadable`` images stored as unreadable are predicted again.
        """
        refuse_text(models, "models")
        refuse_text(test_sets, "test_sets")
        refuse_text(keep, "keep")
        targets = [self.store.test_set(name) for name in test_sets]
        for target in targets:
            self.store.check_images(target)
        space = None if classes is None else resolve_class_space(self.store, classes)
        settings = Settings(space, preprocessing, member(Device, device), member(Precision, precision), compile=compile)
        kept = {member(Keep, what) for what in keep}
        resizer_choice = fastest_resizer() if resizer is None else member(Resizer, resizer)
        if resizer_choice is Resizer.GPU and settings.device is not Device.CUDA:
            raise InputError("images can be decoded on a GPU only for models on the GPU: set device to cuda")
        options = EngineOptions(
            batch,
            default_workers() if workers is None else workers,
            keep_scores=Keep.SCORES in kept,
            keep_features=Keep.FEATURES in kept,
            memory=memory,
            resizer=resizer_choice,
            allow_unreadable=allow_unreadable,
            retry_unreadable=retry_unreadable,
        )
        named = [NamedModel(name, settings) for name in models]
        return predict_all(self.store, named, targets, options, cluster=cluster, progress=progress)

    # Results

    grade = study_method(GRADE)
    compare = study_method(COMPARE)

    def keep_hard_set(self, result: Confusion, name: str) -> KeptHardSet:
        """Store a study's hard images as a test set of their own and as a slice of the source test set."""
        return keep_hard_set(self.store, result, name)

    def check_models(
        self,
        test_set: str,
        *,
        published: str | Path | None = None,
        prefix: str = "timm",
        progress: ProgressCallback = iter,
    ) -> PublishedCheck:
        """Compare the models' top-1 accuracies with published ones: built-in figures, and a CSV in timm's format.

        ``prefix`` is prepended to the names in the CSV (empty: unchanged).
        """
        figures = [LITE_PUBLISHED]
        if published is not None:
            figures.append(read_published_accuracies(published, test_set=test_set, prefix=prefix))
        return check_published(self.grade(test_set, progress=progress), figures)

    def report(
        self,
        name: str | None = None,
        *,
        test_sets: Sequence[str] = (),
        original: str | None = None,
        labels: Sequence[str] = (),
        out: str | Path | None = None,
        title: str | None = None,
        force: bool = False,
        progress: ProgressCallback = iter,
    ) -> WrittenReport:
        """Write a report on the named test sets (default: all) as one page, with every study that their data allows.

        It is written to ``reports/NAME`` in the workspace (default name: the date) or to the folder ``out``; an old
        report is replaced only with ``force``. New sets are compared with ``original`` (default: the largest set).
        ``labels`` names versions, such as ``own@1``, to use instead of the newest.
        """
        folder = None if out is None else Path(out)
        return write_workspace_report(
            self,
            name,
            test_sets=test_sets,
            original=original,
            labels=labels,
            out=folder,
            title=title,
            force=force,
            progress=progress,
        )

    # Novel predictions

    def novel(
        self, test_set: str, *, labels: str, models: Sequence[str] = (), progress: ProgressCallback = iter
    ) -> Novel:
        """Every prediction that is judged neither in the label set nor in its review."""
        target = self.store.test_set(test_set)
        novel_predictions = all_novel(self.store, target, labels, models, progress)
        return novel_predictions.without_judged(review_of_labels(self.store, target, labels))

    def draw_review(
        self, test_set: str, *, labels: str, size: int, by: StratifyBy | str | None = None, seed: int = 0
    ) -> DrawnReview:
        """Draw the next ``size`` novel predictions in random order, for people to judge.

        The first call fixes the order, stratified ``by`` (default: votes); later calls continue in it.
        """
        strata = None if by is None else member(StratifyBy, by)
        return draw_next(self.store, self.store.test_set(test_set), labels, size=size, by=strata, seed=seed)

    def drawn_review(self, test_set: str, *, labels: str) -> DrawnReview:
        """The predictions that were drawn for review and are not judged yet, in random order."""
        return drawn_unjudged(self.store, self.store.test_set(test_set), labels)

    def import_decisions(
        self, path: str | Path, *, test_set: str, labels: str, correct: str = "", columns: Columns | None = None
    ) -> AddedDecisions:
        """Import people's decisions on drawn predictions, and count the new ones.

        A decision that differs from a stored one raises, unless ``correct`` gives the reason for the correction.
        """
        return import_verdicts(
            self.store, Path(path), test_set=test_set, labels=labels, correction=correct, columns=columns
        )


def open(path: str | Path) -> Workspace:
    """Open the workspace in a folder."""
    return Workspace(Store.open(Path(path)))


def init(path: str | Path) -> Workspace:
    """Create a workspace in a folder and open it."""
    return Workspace(Store.create(Path(path)))
