"""The Python face of regrade: open a workspace, bring things in, get results out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regrade.classes import class_map_from_file, class_space_from_file
from regrade.core import (
    UNLABELED,
    ClassMap,
    ClassSpace,
    InputError,
    MapRule,
    Orientation,
    PictureSource,
    Predictions,
    Preprocessing,
    ReviewFrame,
    TestSet,
    UnknownName,
    Unlisted,
)
from regrade.core.arguments import member, refuse_text
from regrade.core.arrays import IntArray
from regrade.metrics import MultilabelRule
from regrade.models import LITE_FIGURES, Device, Precision, Settings, load_model, read_figures
from regrade.predict import How, Keep, PublishedCheck, Run, check_published, default_workers, predict, unwatched
from regrade.predict import Watch as WatchRun
from regrade.store import (
    ImportedLabels,
    ImportedPredictions,
    LabelFormat,
    Source,
    Store,
    Stored,
    answers_from_scores,
    import_labels,
    import_predictions,
    store_answers,
)
from regrade.studies import (
    Comparison,
    Grade,
    MultilabelScoring,
    Novel,
    ReviewedLabels,
    Scoring,
    StratifyBy,
    compare,
    draw_review,
    grade,
    novel_predictions,
    scoring_for,
)
from regrade.tables import TABLE_SUFFIXES, Columns, check_unique, read_examples, read_table
from regrade.testsets import (
    CatalogueEntry,
    Checked,
    Found,
    Layout,
    Wanted,
    check,
    contact_sheet,
    locations_for,
    reader_for,
    readers,
)
from regrade.testsets import entry as catalogue_entry
from regrade.testsets import names as catalogue_names
from regrade.testsets.check import Watch as WatchPictures

if TYPE_CHECKING:
    from PIL.Image import Image

Watch = Callable[[Sequence[str]], Iterable[str]]
"""Goes through names one by one, showing how far it is."""


@dataclass(frozen=True)
class AddedTestSet:
    """What adding a test set did: the set, where its pictures are if it has any, and whether that is new."""

    test_set: TestSet
    source: PictureSource | None
    new: bool


@dataclass(frozen=True)
class DrawnReview:
    """A review and the rows of it that were drawn just now, in the order in which they are to be judged."""

    frame: ReviewFrame
    rows: IntArray


class Workspace:
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

    def label_sets(self, test_set: str) -> tuple[str, ...]:
        """The label sets of a test set, as ``name@version``."""
        return self.store.label_set_names(self.store.test_set(test_set).name)

    def class_space(self, name: str | Path | ClassSpace) -> ClassSpace:
        """A class space by name, or from a CSV, JSON or folder; one from a file is stored here."""
        space = self._space(name)
        if space.name != name:
            self.store.add_class_space(space)
        return space

    def _space(self, name: str | Path | ClassSpace) -> ClassSpace:
        """A class space, not stored yet if it comes from a file."""
        if isinstance(name, ClassSpace):
            return name
        if str(name) in self.store.class_space_names() or not Path(name).exists():
            return self.store.class_space(str(name))
        return class_space_from_file(Path(name))

    # Bringing things in

    def add_test_set(
        self,
        name: str,
        path: str | Path,
        *,
        classes: str | Path | ClassSpace | None = None,
        layout: Layout | str = Layout.PROVEN,
        columns: Columns | None = None,
    ) -> AddedTestSet:
        """Add a test set from pictures in any known form, or without pictures from a table of ids and labels.

        A name of the catalogue brings its classes along. Pictures for a test set that is here already, from a file
        of predictions say, are found by their ids.
        """
        path = Path(path)
        known = self.store.test_set(name) if self.store.has_test_set(name) else None
        listed = catalogue_entry(name) if name in catalogue_names() else None
        space = self._space_of(name, classes, known, listed)
        if known is not None and space.digest != known.class_space.digest:
            raise InputError(
                f"test set {name} is stored with the classes of {known.class_space.name}: leave out --classes"
            )
        wanted = Wanted(space, member(Layout, layout), columns or Columns())
        if _is_plain_table(path):
            examples = read_examples(read_table(path), space, wanted.columns)
            stored = self.store.add_test_set(examples.as_test_set(name, space))
            return AddedTestSet(self.store.test_set(name), None, bool(stored.new))
        reader = reader_for(path)
        found = reader.find(path, wanted)
        test_set = known or _test_set_of(found, name, space)
        source = PictureSource(
            reader.name,
            str(path.resolve()),
            locations_for(known, found) if known else found.locations,
            Orientation.AS_STORED if listed and not listed.applies_exif else Orientation.UPRIGHT,
            listed.border if listed else 0,
        )
        return AddedTestSet(test_set, source, bool(self.store.add_pictures(test_set, source).new))

    def check_test_set(self, name: str, *, workers: int = 2, watch: WatchPictures | None = None) -> Checked:
        """Read and decode every picture of a test set, and compare its count with the catalogue's."""
        test_set = self.store.test_set(name)
        expected = catalogue_entry(name).examples if name in catalogue_names() else None
        return check(test_set, self.store.pictures(test_set), expected=expected, workers=workers, watch=watch)

    def contact_sheet(self, name: str, *, rows: int = 5, columns: int = 8, seed: int = 0) -> Image:
        """Some pictures of a test set with their labels, drawn at random, as one picture."""
        test_set = self.store.test_set(name)
        rng = np.random.default_rng(seed)
        return contact_sheet(test_set, self.store.pictures(test_set), rng=rng, rows=rows, columns=columns)

    def _space_of(
        self,
        name: str,
        classes: str | Path | ClassSpace | None,
        known: TestSet | None,
        listed: CatalogueEntry | None,
    ) -> ClassSpace:
        if classes is not None:
            return self._space(classes)
        if known is not None:
            return known.class_space
        if listed is None or not listed.class_space:
            raise InputError(f"test set {name!r} is new: say what its classes are with --classes, e.g. imagenet-1k")
        return self.store.class_space(listed.class_space)

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
            classes=None if classes is None else self._space(classes),
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
        return store_answers(self.store, target, {model: answers}, space=target.class_space, source=Source())

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
        batch: int = 32,
        workers: int | None = None,
        keep: Sequence[Keep | str] = (),
        watch: WatchRun = unwatched,
    ) -> Run:
        """Predict every picture of the test sets by every model and store it; what is stored already is left alone.

        Models are named as ``prefix:name``; ``classes`` and ``preprocessing`` are for those that do not say. A run
        that was stopped goes on where it was when it is called again. ``keep`` may name ``scores``.
        """
        refuse_text(models, "models")
        refuse_text(test_sets, "test_sets")
        targets = [self.store.test_set(name) for name in test_sets]
        for target in targets:
            self.store.pictures(target)
        space = None if classes is None else self._space(classes)
        settings = Settings(space, preprocessing, member(Device, device), member(Precision, precision))
        kept = {member(Keep, what) for what in keep}
        how = How(batch, default_workers() if workers is None else workers, keep_scores=Keep.SCORES in kept)
        pairs = []
        for name in models:
            model = load_model(name, settings)
            pairs += [predict(self.store, model, target, how, watch=watch) for target in targets]
        return Run(tuple(pairs))

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
        watch: Watch = iter,
    ) -> Grade:
        """Grade the models of a test set, all of them unless ``models`` names some.

        ``labels`` adds multi-label accuracy against a label set, by ``rule`` (mean over images, the default, or
        over classes), with ``collapsed`` classes accepted or not. ``within`` scores among the classes of another
        space only, and ``clean`` names another test set, graded among the same classes for comparison;
        ``class_map`` is a file for predictions in other classes than the labels.
        """
        refuse_text(slices, "slices")
        target = self.store.test_set(test_set)
        if labels and within:
            raise InputError("multi-label accuracy is over all classes: leave out either labels or within")
        if not labels and (rule or collapsed or half_width):
            raise InputError("rule, collapsed and half-width speak of multi-label accuracy: name the labels too")
        judged = None
        if labels:
            scoring = self._multilabel(target, labels, rule or MultilabelRule.IMAGES, collapsed)
            judged = ReviewedLabels(scoring, self.store.review(target, scoring.labels), half_width)
        result = grade(
            target,
            self._scored(target, self._chosen(target, models), within, class_map, watch),
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
        watch: Watch = iter,
    ) -> Comparison:
        """Compare all pairs of the given models, or of all models, on the same images.

        With ``labels`` right means right under that label set; novel predictions count as wrong, and their number and
        what they could change are told. ``slice`` keeps only the images of a slice; ``within`` and ``class_map`` are
        as in `grade`.
        """
        target = self.store.test_set(test_set)
        if labels and (within or class_map):
            raise InputError("multi-label accuracy is over all classes: leave out either labels or within and map")
        if not labels and (rule or collapsed):
            raise InputError("rule and collapsed speak of multi-label accuracy: name the labels too")
        judged = None
        if labels:
            scoring = self._multilabel(target, labels, rule or MultilabelRule.IMAGES, collapsed)
            judged = ReviewedLabels(scoring, self.store.review(target, scoring.labels))
        return compare(
            target,
            self._scored(target, self._chosen(target, models), within, class_map, watch),
            labels=judged,
            slice_name=slice,
            confidence=self.store.config.confidence,
        )

    def check_models(
        self, test_set: str, *, published: str | Path | None = None, prefix: str = "timm", watch: Watch = iter
    ) -> PublishedCheck:
        """Hold the models' top-1 accuracies against published ones: those known here, and a CSV in timm's form.

        Names of the CSV are taken with ``prefix`` before them, empty for names as they are.
        """
        figures = [LITE_FIGURES]
        if published is not None:
            figures.append(read_figures(published, test_set=test_set, prefix=prefix))
        return check_published(self.grade(test_set, watch=watch), figures)

    # Novel predictions

    def novel(self, test_set: str, *, labels: str, models: Sequence[str] = (), watch: Watch = iter) -> Novel:
        """Every prediction that no one has judged, neither in a label set nor in the review of what it lacks."""
        target = self.store.test_set(test_set)
        found = self._novel(target, labels, models, watch)
        return found.without_judged(self.store.review(target, self.store.label_set(target, labels)))

    def draw_review(
        self, test_set: str, *, labels: str, size: int, by: StratifyBy | str | None = None, seed: int = 0
    ) -> DrawnReview:
        """Draw the next ``size`` novel predictions, in random order, for people to judge.

        The first call lays down the order, stratified ``by`` votes unless told otherwise; later ones go on in it.
        """
        target = self.store.test_set(test_set)
        frame = self.store.review(target, self.store.label_set(target, labels))
        if frame is None:
            novel = self._novel(target, labels, (), iter)
            strata = member(StratifyBy, by or StratifyBy.VOTES)
            frame = draw_review(novel, by=strata, rng=np.random.default_rng(seed))
            if not 1 <= size <= len(frame):
                raise InputError(f"{len(frame):,} novel predictions can be drawn, got a size of {size:,}")
            self.store.add_review(frame, target)
        elif by is not None and member(StratifyBy, by).value != frame.stratified_by:
            raise InputError(f"the review of {labels} is stratified by {frame.stratified_by}: it cannot change now")
        drawn = self.store.draw_more(frame, size)
        return DrawnReview(drawn, drawn.given_out(frame.drawn, drawn.drawn))

    def drawn_review(self, test_set: str, *, labels: str) -> DrawnReview:
        """What was drawn for review so far and is not judged yet, in its order."""
        target = self.store.test_set(test_set)
        frame = self.store.review(target, self.store.label_set(target, labels))
        if frame is None:
            raise InputError(f"no novel prediction was drawn for {labels} yet")
        rows = frame.given_out(0, frame.drawn)
        return DrawnReview(frame, rows[~frame.judged[rows]])

    def import_verdicts(
        self, path: str | Path, *, test_set: str, labels: str, correct: str = "", columns: Columns | None = None
    ) -> int:
        """Add people's verdicts on what was drawn, and say how many are new.

        A verdict that differs from a stored one is refused, unless ``correct`` gives the reason for the correction.
        """
        target = self.store.test_set(test_set)
        judged = self.store.label_set(target, labels)
        return self.store.add_verdicts(Path(path), target, judged, columns or Columns(), correction=correct)

    def _novel(self, test_set: TestSet, labels: str, models: Sequence[str], watch: Watch) -> Novel:
        names = self._chosen(test_set, models)
        scoring = self._multilabel(test_set, labels, MultilabelRule.IMAGES, collapsed=False)
        return novel_predictions(test_set, (self.store.predictions(test_set, m) for m in watch(names)), scoring)

    def _chosen(self, test_set: TestSet, models: Sequence[str]) -> tuple[str, ...]:
        refuse_text(models, "models")
        known = self.store.model_names(test_set.name)
        for model in models:
            if model not in known:
                raise UnknownName(f"model on {test_set.name}", model, known)
        if len(set(models)) < len(models):
            raise InputError("a model is named twice")
        return tuple(models) or known

    def _multilabel(
        self, test_set: TestSet, labels: str, rule: MultilabelRule | str, collapsed: bool
    ) -> MultilabelScoring:
        also = test_set.class_space.collapsed if collapsed else None
        if collapsed and not also:
            raise InputError(f"class space {test_set.class_space.name} has no collapsed classes")
        return MultilabelScoring(self.store.label_set(test_set, labels), member(MultilabelRule, rule), also)

    def _scored(
        self,
        test_set: TestSet,
        models: tuple[str, ...],
        within: str | ClassSpace | None,
        class_map: str | Path | None,
        watch: Watch,
    ) -> Iterator[tuple[Predictions, Scoring]]:
        """Predictions one after another, each with its way of being scored."""
        subset = self._space(within) if within else None
        scorings: dict[str, Scoring] = {}
        for model in watch(models):
            predictions = self.store.predictions(test_set, model)
            if predictions.class_space not in scorings:
                predicted = self.store.class_space(predictions.class_space)
                same = predicted.digest == test_set.class_space.digest
                chart = None if same else self._class_map(class_map, predicted, test_set)
                scorings[predictions.class_space] = scoring_for(test_set, predicted, within=subset, class_map=chart)
            yield predictions, scorings[predictions.class_space]
        if class_map and not any(scoring.class_map for scoring in scorings.values()):
            raise InputError(f"no model needs the map {class_map}: all predict the classes of {test_set.name} itself")

    @staticmethod
    def _class_map(path: str | Path | None, predicted: ClassSpace, test_set: TestSet) -> ClassMap | None:
        if path is None:
            return None
        return class_map_from_file(Path(path), predicted, test_set.class_space, MapRule.ANY_IN_TOP_K)


def open(path: str | Path) -> Workspace:
    """Open the workspace in a folder."""
    return Workspace(Store.open(Path(path)))


def init(path: str | Path) -> Workspace:
    """Make a new workspace in a folder and open it."""
    return Workspace(Store.create(Path(path)))


def _is_plain_table(path: Path) -> bool:
    """Whether a file is a table that names examples but no pictures."""
    return path.suffix.lower() in TABLE_SUFFIXES and not any(reader.recognises(path) for reader in readers().values())


def _test_set_of(found: Found, name: str, space: ClassSpace) -> TestSet:
    check_unique(found.ids)
    labels = np.full(len(found.ids), UNLABELED) if found.labels is None else found.labels
    return TestSet(name, space, found.ids, labels, found.groups)
