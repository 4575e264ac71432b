"""A workspace, and everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import (
    ClassSpace,
    InputError,
    Predictions,
    Preprocessing,
    ScoreKind,
    SliceSet,
    TestSet,
    Unlisted,
    checkpoints_of,
)
from regrade.core.arguments import member, refuse_text
from regrade.executors import RayCluster
from regrade.metrics import MultilabelRule
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
    predict_all,
)
from regrade.predict import ProgressCallback as WatchRun
from regrade.predict import (
    no_progress as unwatched,
)
from regrade.store import (
    AddedVerdicts,
    CheckpointWriter,
    ImportedCheckpoints,
    ImportedLabels,
    ImportedMistakes,
    ImportedPeople,
    ImportedPredictions,
    ImportedSlices,
    LabelFormat,
    MistakeFormat,
    PeopleFormat,
    PredictionSource,
    SliceFormat,
    Store,
    Stored,
    answers_from_scores,
    create_labels,
    import_checkpoints,
    import_labels,
    import_mistakes,
    import_people,
    import_predictions,
    import_slices,
    keep_slices,
    store_answers,
)
from regrade.studies import (
    Comparison,
    CorruptionGrade,
    Grade,
    Novel,
    Scoring,
    StratifyBy,
    compare,
    corruption_grade,
    grade,
)
from regrade.tables import Columns
from regrade.testsets import (
    Checked,
    Layout,
    check,
    contact_sheet,
)
from regrade.testsets.check import ProgressCallback as ImageProgress
from regrade.workspace.corruption_adding import corrupt_test_set
from regrade.workspace.judgments import Judgments
from regrade.workspace.loading import (
    ProgressCallback,
    chosen_models,
    chosen_rows,
    clean_answers,
    reviewed_labels,
    scored_predictions,
    space_named,
)
from regrade.workspace.novel_review import DrawnReview, all_novel, draw_next, drawn_so_far, review_of_labels
from regrade.workspace.plan_loader import Plans
from regrade.workspace.report_writing import WrittenReport, write_workspace_report
from regrade.workspace.studies import Studies
from regrade.workspace.test_set_adding import AddedTestSet, MapFile, add_test_set, listed_in_catalog
from regrade.workspace.verification import Verification, missing_images, verify_workspace

if TYPE_CHECKING:
    from PIL.Image import Image


class Workspace(Studies, Judgments, Plans):
    """A folder with test sets, predictions and labels, and everything that can be asked of it.

    Get one with `regrade.open` or `regrade.init`.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"regrade.open({str(self.store.root)!r})"

    # What is here

    @property
    def test_sets(self) -> tuple[str, ...]:
        """The names of the test sets."""
        return self.store.test_set_names()

    def models(self, test_set: str) -> tuple[str, ...]:
        """The models that have predictions on a test set."""
        return self.store.model_names(self.store.test_set(test_set).name)

    def ensembles(self, test_set: str) -> tuple[str, ...]:
        """The ensembles whose checkpoints on a test set are stored."""
        return self.store.ensemble_names(self.store.test_set(test_set).name)

    def label_sets(self, test_set: str) -> tuple[str, ...]:
        """The label sets of a test set, as ``name@version``."""
        return self.store.label_set_names(self.store.test_set(test_set).name)

    def class_space(self, name: str | Path | ClassSpace) -> ClassSpace:
        """A class space by name, or from a CSV, JSON or folder; one from a file is stored here."""
        space = space_named(self.store, name)
        if space.name != name:
            self.store.add_class_space(space)
        return space

    # Bringing things in

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
        """Add a test set from images in any known form, or without images from a table of ids and labels.

        A name of the catalog brings its classes along. Images for a test set that is here already, from a file
        of predictions say, are found by their ids. ``class_map`` is a file that says which classes of ``map_source``
        stand for the set's own; it is stored with the set, and models that predict those classes are graded by it.
        """
        return add_test_set(
            self.store,
            name,
            Path(path),
            stated=None if classes is None else space_named(self.store, classes),
            layout=member(Layout, layout),
            columns=columns,
            map_file=None if class_map is None else MapFile(Path(class_map), space_named(self.store, map_source)),
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
        """Make a test set of ImageNet-C's corruptions from one that has images; they are made as they are read.

        All 15 corruptions at all 5 severities unless some are named, of all images or of so many ``images`` drawn by
        ``seed``. What becomes of a image depends on its id, the corruption and the severity alone.
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
        """The test sets whose registered images cannot be found, and where they were."""
        return missing_images(self.store)

    def verify(self, *, watch: ProgressCallback = iter) -> Verification:
        """Check every stored file against its checksum, the ledger, and whether images are where they were."""
        return verify_workspace(self.store, watch=watch)

    def check_test_set(self, name: str, *, workers: int = 2, watch: ImageProgress | None = None) -> Checked:
        """Read and decode every image of a test set, and compare its count with the catalog's."""
        test_set = self.store.test_set(name)
        listed = listed_in_catalog(name)
        expected = listed.examples if listed else None
        return check(test_set, self.store.images(test_set), expected=expected, workers=workers, watch=watch)

    def contact_sheet(self, name: str, *, rows: int = 5, columns: int = 8, seed: int = 0) -> Image:
        """Some images of a test set with their labels, drawn at random, as one image."""
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
        """Bring in a file of predictions: one model's (named by ``model``), or one column a model."""
        return import_predictions(
            self.store,
            Path(path),
            test_set=test_set,
            classes=None if classes is None else space_named(self.store, classes),
            model=model,
            prefix=prefix,
            columns=columns,
        )

    def add_predictions(self, model: str, scores: ArrayLike, *, test_set: str) -> Stored:
        """Store one model's scores (n, c), rows in the order of the test set."""
        target = self.store.test_set(test_set)
        answers = answers_from_scores(np.asarray(scores), target.class_space, name=model)
        if len(answers.classes) != len(target):
            raise InputError(f"{len(answers.classes):,} rows of scores for the {len(target):,} examples of {test_set}")
        return store_answers(self.store, target, {model: answers}, space=target.class_space, source=PredictionSource())

    def import_checkpoints(
        self,
        path: str | Path,
        *,
        test_set: str,
        ensemble: str,
        kind: ScoreKind | str,
        classes: str | Path | ClassSpace | None = None,
    ) -> ImportedCheckpoints:
        """Bring in the scores of an ensemble's members epoch by epoch: a folder of arrays, or one array of all.

        ``kind`` says what the scores are: logits, probabilities or log-probabilities.
        """
        space = None if classes is None else space_named(self.store, classes)
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
        """Takes an ensemble's scores while it is trained: ``add`` them by seed and epoch, ``finish`` after the last."""
        space = None if classes is None else space_named(self.store, classes)
        return self.store.checkpoint_writer(self.store.test_set(test_set), ensemble, member(ScoreKind, kind), space)

    def add_checkpoints(
        self,
        ensemble: str,
        scores: ArrayLike,
        *,
        test_set: str,
        kind: ScoreKind | str,
        epochs: Sequence[int] = (),
    ) -> Stored:
        """Store all scores of an ensemble, (seeds, epochs, n, c) or of one seed (epochs, n, c), numbered from 0."""
        given = checkpoints_of(np.asarray(scores), kind=member(ScoreKind, kind), ensemble=ensemble, epochs=epochs)
        with self.store.checkpoints_at_once(self.store.test_set(test_set), ensemble, given.kind) as writer:
            for seed, name in enumerate(given.members):
                for place, epoch in enumerate(given.epochs):
                    writer.add(given.scores(seed, place), seed=name, epoch=epoch)
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
        """Bring in labels; ``complete`` says that in a plain file every class that is not named is wrong."""
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
        """Make a label set from the images' own labels: each is correct, and no other class is judged yet."""
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
        """Bring in what people answered, and when: they become rows beside the models, called ``person:`` and a name.

        ``name`` is the person's if the file names none, and the only one to be taken if it names several.
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
        """Bring in slices of a test set that is here already, which stays what it is: subsets or group columns.

        ``chosen_hard`` says that the images were chosen because models find them hard; no finding calls them weak.
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
        """Bring in what people said of a model's mistakes: category and severity; it need not have predictions."""
        chosen = member(MistakeFormat, form)
        return import_mistakes(self.store, Path(path), test_set=test_set, model=model, form=chosen, columns=columns)

    def keep_slices(self, slices: SliceSet) -> Stored:
        """Store slices that a study found, such as that of major mistakes, beside their test set."""
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
        watch: WatchRun = unwatched,
    ) -> Run:
        """Predict every image of the test sets by every model and store it; what is stored already is left alone.

        Models are named as ``prefix:name``; ``classes`` and ``preprocessing`` are for those that do not say. A run
        that was stopped goes on where it was when it is called again. A ``batch`` that is not stated is found by how
        much ``memory`` (bytes) it may take. ``keep`` may name ``scores`` and ``features``. A model that fails is told
        in the result, and the others go on.

        More unreadable images than 5 %, or 10 where that is more, are an error; ``allow_unreadable`` states another
        share (0 to 1). With ``retry_unreadable`` images that are stored as unreadable are computed again.
        """
        refuse_text(models, "models")
        refuse_text(test_sets, "test_sets")
        refuse_text(keep, "keep")
        targets = [self.store.test_set(name) for name in test_sets]
        for target in targets:
            self.store.check_images(target)
        space = None if classes is None else space_named(self.store, classes)
        settings = Settings(space, preprocessing, member(Device, device), member(Precision, precision), compile=compile)
        kept = {member(Keep, what) for what in keep}
        by = fastest_resizer() if resizer is None else member(Resizer, resizer)
        if by is Resizer.GPU and settings.device is not Device.CUDA:
            raise InputError("images are decoded on a GPU only for models that run there: give device cuda")
        how = EngineOptions(
            batch,
            default_workers() if workers is None else workers,
            keep_scores=Keep.SCORES in kept,
            keep_features=Keep.FEATURES in kept,
            memory=memory,
            resizer=by,
            allow_unreadable=allow_unreadable,
            retry_unreadable=retry_unreadable,
        )
        named = [NamedModel(name, settings) for name in models]
        return predict_all(self.store, named, targets, how, cluster=cluster, progress=watch)

    # Results

    def grade(
        self,
        test_set: str,
        *,
        labels: str | None = None,
        rule: MultilabelRule | str | None = None,
        collapsed: bool = False,
        slices: Sequence[str] = (),
        models: Sequence[str] = (),
        within: str | ClassSpace | None = None,
        class_map: str | Path | None = None,
        clean: str | None = None,
        half_width: float | None = None,
        watch: ProgressCallback = iter,
    ) -> Grade:
        """Grade the models and people of a test set, all of them unless ``models`` names some.

        ``labels`` adds multi-label accuracy against a label set, by ``rule`` (mean over images, the default, or
        over classes), with ``collapsed`` classes accepted or not. ``within`` scores among the classes of another
        space only, and ``clean`` names another test set, graded among the same classes for comparison;
        ``class_map`` is a file for predictions in other classes than the labels, instead of the map that is stored
        with the test set.
        """
        refuse_text(slices, "slices")
        target = self.store.test_set(test_set)
        if labels and within:
            raise InputError("multi-label accuracy is over all classes: leave out either labels or within")
        if not labels and (rule or collapsed or half_width):
            raise InputError("rule, collapsed and half-width speak of multi-label accuracy: name the labels too")
        if clean and (class_map or self.store.class_map(target)):
            raise InputError(f"{test_set} is scored through a class map, and --clean compares within the same classes")
        judged = None
        if labels:
            judged = reviewed_labels(self.store, target, labels, rule=rule, collapsed=collapsed, half_width=half_width)
        result = grade(
            target,
            self._scored(target, models, within, class_map, watch),
            labels=judged,
            slices=slices,
            confidence=self.store.config.confidence,
        )
        if clean is None:
            return result
        both = [row.model for row in result.rows if row.model in self.models(clean)]
        if not both:
            raise InputError(f"none of these models has predictions on {clean}")
        same_classes = within or target.class_space
        return result.with_clean(self.grade(clean, models=list(dict.fromkeys(both)), within=same_classes, watch=watch))

    def grade_corruptions(
        self, test_set: str, *, clean: str | None = None, models: Sequence[str] = (), watch: ProgressCallback = iter
    ) -> CorruptionGrade:
        """Grade models on a test set with groups corruption and severity: errors by corruption, and mCE.

        ``clean`` names the test set of the same images before they were corrupted, and adds relative mCE.
        """
        target = self.store.test_set(test_set)
        names = chosen_models(self.store, target, models)
        answers = None if clean is None else clean_answers(self.store, self.store.test_set(clean), names, watch=watch)
        scored = scored_predictions(self.store, target, names, watch=watch)
        return corruption_grade(target, scored, clean=answers, confidence=self.store.config.confidence)

    def compare(
        self,
        *models: str,
        test_set: str,
        labels: str | None = None,
        rule: MultilabelRule | str | None = None,
        collapsed: bool = False,
        slice: str | None = None,
        within: str | ClassSpace | None = None,
        class_map: str | Path | None = None,
        equivalence: float | None = None,
        watch: ProgressCallback = iter,
    ) -> Comparison:
        """Compare all pairs of the given models and people, or of all models, on the images they were all asked about.

        With ``labels`` right means right under that label set; novel predictions count as wrong, and their number and
        what they could change are told. ``slice`` keeps only the images of a slice; ``within`` and ``class_map`` are
        as in `grade`. ``equivalence`` is a margin as a fraction: 0.005 tests whether models differ by less than half
        a point.
        """
        target = self.store.test_set(test_set)
        if labels and (within or class_map):
            raise InputError("multi-label accuracy is over all classes: leave out either labels or within and map")
        if not labels and (rule or collapsed):
            raise InputError("rule and collapsed speak of multi-label accuracy: name the labels too")
        judged = reviewed_labels(self.store, target, labels, rule=rule, collapsed=collapsed) if labels else None
        return compare(
            target,
            self._scored(target, models or self.models(test_set), within, class_map, watch),
            labels=judged,
            slice_name=slice,
            confidence=self.store.config.confidence,
            equivalence=equivalence,
        )

    def check_models(
        self,
        test_set: str,
        *,
        published: str | Path | None = None,
        prefix: str = "timm",
        watch: ProgressCallback = iter,
    ) -> PublishedCheck:
        """Hold the models' top-1 accuracies against published ones: those known here, and a CSV in timm's form.

        Names of the CSV are taken with ``prefix`` before them, empty for names as they are.
        """
        figures = [LITE_PUBLISHED]
        if published is not None:
            figures.append(read_published_accuracies(published, test_set=test_set, prefix=prefix))
        return check_published(self.grade(test_set, watch=watch), figures)

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
        watch: ProgressCallback = iter,
    ) -> WrittenReport:
        """Write one page with everything that the test sets, all unless some are named, can tell.

        It goes to ``reports/name`` in the workspace, by default named after the day, or to the folder ``out``; one that
        is there is replaced only by ``force``. New sets are held against ``original``, or the largest set. ``labels``
        names versions, such as ``own@1``, to use instead of the newest.
        """
        where = None if out is None else Path(out)
        return write_workspace_report(
            self,
            name,
            test_sets=test_sets,
            original=original,
            labels=labels,
            out=where,
            title=title,
            force=force,
            watch=watch,
        )

    # Novel predictions

    def novel(self, test_set: str, *, labels: str, models: Sequence[str] = (), watch: ProgressCallback = iter) -> Novel:
        """Every prediction that no one has judged, neither in a label set nor in the review of what it lacks."""
        target = self.store.test_set(test_set)
        found = all_novel(self.store, target, labels, models, watch)
        return found.without_judged(review_of_labels(self.store, target, labels))

    def draw_review(
        self, test_set: str, *, labels: str, size: int, by: StratifyBy | str | None = None, seed: int = 0
    ) -> DrawnReview:
        """Draw the next ``size`` novel predictions, in random order, for people to judge.

        The first call lays down the order, stratified ``by`` votes unless told otherwise; later ones go on in it.
        """
        strata = None if by is None else member(StratifyBy, by)
        return draw_next(self.store, self.store.test_set(test_set), labels, size=size, by=strata, seed=seed)

    def drawn_review(self, test_set: str, *, labels: str) -> DrawnReview:
        """What was drawn for review so far and is not judged yet, in its order."""
        return drawn_so_far(self.store, self.store.test_set(test_set), labels)

    def import_verdicts(
        self, path: str | Path, *, test_set: str, labels: str, correct: str = "", columns: Columns | None = None
    ) -> AddedVerdicts:
        """Add people's verdicts on what was drawn, and say how many are new.

        A verdict that differs from a stored one is refused, unless ``correct`` gives the reason for the correction.
        """
        target = self.store.test_set(test_set)
        judged = self.store.label_set(target, labels)
        return self.store.add_verdicts(Path(path), target, judged, columns or Columns(), correction=correct)

    def _scored(
        self,
        test_set: TestSet,
        models: Sequence[str],
        within: str | ClassSpace | None,
        class_map: str | Path | None,
        watch: ProgressCallback,
    ) -> Iterator[tuple[Predictions, Scoring]]:
        names = chosen_rows(self.store, test_set, models)
        return scored_predictions(self.store, test_set, names, within=within, class_map=class_map, watch=watch)


def open(path: str | Path) -> Workspace:
    """Open the workspace in a folder."""
    return Workspace(Store.open(Path(path)))


def init(path: str | Path) -> Workspace:
    """Make a new workspace in a folder and open it."""
    return Workspace(Store.create(Path(path)))
