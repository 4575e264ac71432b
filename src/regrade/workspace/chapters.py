"""The chapters of a report: which questions the data of a workspace can answer, and how each result is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from regrade.core import PERSON_PREFIX, Column, Distance, InputError, Table, Tabular, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.report import Figure, Gallery, map_figure
from regrade.studies import EVERYTHING, ConfusionPart, Grade, LeakagePart, MistakePart
from regrade.workspace.hardest_images import hardest_images

if TYPE_CHECKING:
    from regrade.workspace.workspace import Workspace

_MIN_COMMON_MODELS = 3  # common models that a fitted line needs
_MAX_GROUPS = 12  # values of a group column that are shown as slices
_CORRUPTION_COLUMNS = ("corruption", "severity")
_PLACE_COLUMNS = ("region", "continent", "country", "income")
_MAPPED_COLUMNS = ("region", "country")
_MISTAKE_PARTS = (MistakePart.FLOW, MistakePart.TRIAGE, MistakePart.CATEGORIES)
_CONFUSION_PARTS = (ConfusionPart.MODELS, ConfusionPart.EXPECTED)
_QUICK_DISTANCES = (Distance.EXACT, Distance.PIXELS)
_LEAKAGE_PARTS = (LeakagePart.DISTANCES, LeakagePart.MODELS, LeakagePart.PAIRS)


_COMPARISON_QUESTION, _GENERALIZATION_QUESTION = "Which models differ in accuracy?", "Does it hold on new data?"
_GEOGRAPHY_QUESTION, _MISTAKES_QUESTION = "How does accuracy vary by region?", "Which mistakes are mistakes?"
_HARDEST_QUESTION, _CONFUSION_QUESTION = "What do the hardest images look like?", "Which images confuse models?"
_PEOPLE_QUESTION, _LEAKAGE_QUESTION = "How do models compare with people?", "Are images of one set in another?"
_REQUIREMENTS = {
    "comparison": (_COMPARISON_QUESTION, "Requires two models on the same test set."),
    "generalization": (
        _GENERALIZATION_QUESTION,
        "Requires a second test set with the same classes and predictions of at least three of the models.",
    ),
    "geography": (_GEOGRAPHY_QUESTION, "Requires a test set with a group column such as region, country or income."),
    "mistakes": (
        _MISTAKES_QUESTION,
        "Requires a label set with every correct class of each image: regrade import labels.",
    ),
    "hardest": (_HARDEST_QUESTION, "Requires the images of a test set: regrade testsets add."),
    "confusion": (_CONFUSION_QUESTION, "Requires scores of several seeds over epochs: regrade import checkpoints."),
    "people": (_PEOPLE_QUESTION, "Requires people's answers: regrade import people."),
    "leakage": (_LEAKAGE_QUESTION, "Requires two test sets whose images have been compared: regrade study leakage."),
}


def _one_table(result: Tabular) -> Sequence[Table]:
    return (result.table(),)


def _no_figures(_: Tabular) -> Sequence[Figure]:
    return ()


@dataclass(frozen=True)
class Chapter:
    """A question about one subject and the function that computes its answer, with its tables and extra figures."""

    kind: str
    question: str
    about: str
    compute: Callable[[], Tabular | Table | Gallery]
    tables: Callable[[Any], Sequence[Table]] = _one_table
    more_figures: Callable[[Any], Sequence[Figure]] = _no_figures

    @property
    def title(self) -> str:
        """Name of the chapter, for progress messages."""
        return f"{self.kind} on {self.about}" if self.about else self.kind


class ReportMaterial:
    """The data of a workspace for a report on the named test sets (default: all)."""

    def __init__(
        self,
        workspace: Workspace,
        test_sets: Sequence[str] = (),
        original: str | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        self._workspace = workspace
        self._store = workspace.store
        chosen = [self._store.test_set(name) for name in test_sets or workspace.test_sets]
        self.sets = [test_set for test_set in chosen if self._row_names(test_set)]
        if not self.sets:
            raise InputError(_nothing_to_report(workspace, test_sets))
        named = [test_set for test_set in self.sets if test_set.name == original]
        if original is not None and not named:
            raise InputError(f"{original} is not among the test sets of this report: {', '.join(self.names)}")
        self.original = (
            named[0] if named else max(self.sets, key=lambda test_set: (self._model_count(test_set), len(test_set)))
        )
        self.sets.sort(key=lambda test_set: test_set.name != self.original.name)
        self._chosen_labels = {full.rpartition("@")[0]: full for full in labels}
        versions = {full for test_set in self.sets for full in self._store.label_set_names(test_set.name)}
        for full in labels:
            if full not in versions:
                raise UnknownName("version of labels", full, sorted(versions))

    def _row_names(self, test_set: TestSet) -> tuple[str, ...]:
        return (*self._store.model_names(test_set.name), *self._store.people_names(test_set.name))

    def _model_count(self, test_set: TestSet) -> int:
        return len(self._store.model_names(test_set.name))

    @property
    def names(self) -> tuple[str, ...]:
        """The test sets, the original first."""
        return tuple(test_set.name for test_set in self.sets)

    @property
    def references(self) -> tuple[str, ...]:
        """Test sets outside the report whose images were compared with those of the report."""
        return tuple(
            dict.fromkeys(reference for _, reference, _ in self._searched_pairs() if reference not in self.names)
        )

    @cached_property
    def models_and_people(self) -> tuple[str, ...]:
        """The models and people with predictions on any of the test sets."""
        rows = (name for test_set in self.sets for name in self._row_names(test_set))
        return tuple(dict.fromkeys(rows))

    @property
    def title(self) -> str:
        """Default title of the report."""
        models = len({model for name in self.names for model in self._store.model_names(name)})
        on = self.names[0] if len(self.names) == 1 else amount(len(self.names), "test set")
        return f"A second grading of {amount(models, 'model')} on {on}"

    def subtitle(self, now: datetime) -> str:
        """Test sets, number of images and date."""
        images = sum(len(test_set) for test_set in self.sets)
        return f"{', '.join(self.names)} · {amount(images, 'image')} · {now.day} {now:%B %Y}"

    def chapters(self) -> Iterator[Chapter]:
        """Every chapter that the stored data allows."""
        yield from self._overview()
        for chapters in (self._grades, self._comparisons):
            yield from (chapter for test_set in self.sets for chapter in chapters(test_set))
        yield from self._generalization()
        of_sets = (
            self._geography, self._slices, self._corruptions, self._mistakes, self._images, self._confusion,
            self._people,
        )  # fmt: skip
        for chapters in of_sets:
            yield from (chapter for test_set in self.sets for chapter in chapters(test_set))
        yield from self._similarity()
        yield from self._leakage()

    def open_questions(self) -> tuple[tuple[str, str], ...]:
        """Questions that need more data, each with what it requires."""
        available_kinds = {chapter.kind for chapter in self.chapters()}
        return tuple(words for kind, words in _REQUIREMENTS.items() if kind not in available_kinds)

    def _overview(self) -> Iterator[Chapter]:
        if len(self.sets) > 1:
            yield Chapter("overview", "How do all models do everywhere?", "", self._overview_table)

    def _overview_table(self) -> Table:
        """Top-1 accuracy of every model on every test set."""
        accuracies = {
            test_set.name: {
                row.model: row.top1
                for row in self._grade(test_set, None).rows
                if row.slice == EVERYTHING and not row.model.startswith(PERSON_PREFIX)
            }
            for test_set in self.sets
        }
        models = dict.fromkeys(model for rows in accuracies.values() for model in rows)
        columns = (Column("model", "model"), *(Column(name, name) for name in accuracies))
        rows = tuple((model, *(rows.get(model) for rows in accuracies.values())) for model in models)
        return Table("top-1 accuracy on every test set, in %", columns, rows)

    def _grades(self, test_set: TestSet) -> Iterator[Chapter]:
        question = "How good is each model?"
        for labels in self._labels(test_set) or (None,):
            yield Chapter("grade", question, _about(test_set, labels), partial(self._grade, test_set, labels))

    @cache  # noqa: B019 - the cache lives as long as the report material
    def _grade(self, test_set: TestSet, labels: str | None) -> Grade:
        label_sets = self._labels(test_set)
        if labels is None and label_sets:  # every grade against a label set includes top-1
            whole = self._grade(test_set, label_sets[0])
            return replace(whole, labels=None, labels_version=None, rule=None)
        return self._workspace.grade(test_set.name, labels=labels)

    def _slices(self, test_set: TestSet) -> Iterator[Chapter]:
        columns = [
            column
            for column, values in test_set.groups.items()
            if column not in (*_CORRUPTION_COLUMNS, *_PLACE_COLUMNS) and 2 <= len(set(values)) <= _MAX_GROUPS
        ]
        slices = [*columns, *(slice_set.name for slice_set in test_set.slice_sets)]
        if slices:
            question = "On which images are models weak?"
            yield Chapter(
                "slices", question, test_set.name, partial(self._workspace.grade, test_set.name, slices=slices)
            )

    def _comparisons(self, test_set: TestSet) -> Iterator[Chapter]:
        if self._model_count(test_set) < 2:
            return
        for labels in (None, *self._labels(test_set)):
            yield Chapter(
                "comparison",
                _COMPARISON_QUESTION,
                _about(test_set, labels),
                partial(self._workspace.compare, test_set=test_set.name, labels=labels),
            )

    def _generalization(self) -> Iterator[Chapter]:
        new = [test_set.name for test_set in self.sets if self._comparable(test_set)]
        if new:
            about = f"{self.original.name} and {new[0] if len(new) == 1 else amount(len(new), 'new set')}"
            yield Chapter(
                "generalization",
                _GENERALIZATION_QUESTION,
                about,
                partial(self._workspace.generalization, self.original.name, new),
                lambda result: (result.sets_table(), result.table()),
            )

    def _comparable(self, test_set: TestSet) -> bool:
        """Whether a set can be compared with the original: the same classes or a subset, and enough common models."""
        if test_set.name == self.original.name:
            return False
        common = set(self._store.model_names(test_set.name)) & set(self._store.model_names(self.original.name))
        classes, class_map = self.original.class_space, self._store.class_map(test_set)
        mapped = class_map is not None and class_map.source.digest == classes.digest
        return len(common) >= _MIN_COMMON_MODELS and (mapped or set(test_set.class_space.ids) <= set(classes.ids))

    def _corruptions(self, test_set: TestSet) -> Iterator[Chapter]:
        if all(column in test_set.groups for column in _CORRUPTION_COLUMNS):
            question = "How well do models bear corruptions?"
            yield Chapter("corruptions", question, test_set.name, partial(self._corruption_grade, test_set))

    def _corruption_grade(self, test_set: TestSet) -> Tabular:
        """Compared with a test set of the clean images, if there is one."""
        for clean in self.sets:
            if clean.name != test_set.name and test_set.ids[0].rpartition("/")[2] in clean.position_of:
                return self._workspace.grade_corruptions(test_set.name, clean=clean.name)
        return self._workspace.grade_corruptions(test_set.name)

    def _mistakes(self, test_set: TestSet) -> Iterator[Chapter]:
        for labels in self._labels(test_set):
            yield Chapter(
                "mistakes",
                _MISTAKES_QUESTION,
                _about(test_set, labels),
                partial(self._workspace.mistakes, test_set.name, labels=labels),
                lambda result: [result.part(part) for part in _MISTAKE_PARTS if part in result.parts],
            )

    def _images(self, test_set: TestSet) -> Iterator[Chapter]:
        if self._store.has_images(test_set.name) and self._model_count(test_set):
            labels = next(iter(self._labels(test_set)), None)
            compute = partial(hardest_images, self._store, test_set, labels=labels)
            yield Chapter("hardest", _HARDEST_QUESTION, test_set.name, compute)

    def _confusion(self, test_set: TestSet) -> Iterator[Chapter]:
        """Every set with an ensemble; the expected error on another set is computed from the original only."""
        ensembles = self._store.ensemble_names(test_set.name)
        if not ensembles:
            return
        with_ensemble = [
            name for name in self.names if name != test_set.name and ensembles[0] in self._store.ensemble_names(name)
        ]
        unlabeled = with_ensemble[0] if with_ensemble and test_set.name == self.original.name else None
        yield Chapter(
            "confusion",
            _CONFUSION_QUESTION,
            test_set.name,
            partial(self._workspace.confusion, test_set.name, ensembles=ensembles, unlabeled=unlabeled),
            lambda result: [result.part(part) for part in _CONFUSION_PARTS if part in result.parts],
        )

    def _geography(self, test_set: TestSet) -> Iterator[Chapter]:
        original = self.original.name if self._comparable(test_set) else None
        for column in _PLACE_COLUMNS:
            if len(set(test_set.group_columns.get(column, ()))) > 1:
                compute = partial(self._workspace.geography, test_set.name, by=column, original=original)
                question, about = _GEOGRAPHY_QUESTION, f"{test_set.name} by {column}"
                drawn = (lambda result: (map_figure(result),)) if column in _MAPPED_COLUMNS else _no_figures
                yield Chapter("geography", question, about, compute, more_figures=drawn)

    def _leakage(self) -> Iterator[Chapter]:
        """Pairs of sets with stored signatures; computing signatures or DSSIM would take too long for a report."""
        for name, against, size in self._searched_pairs():
            yield Chapter(
                "leakage",
                _LEAKAGE_QUESTION,
                f"{name} against {against}",
                partial(self._workspace.leakage, name, against=against, by=_QUICK_DISTANCES, size=size),
                lambda result: [result.part(part) for part in _LEAKAGE_PARTS if part in result.parts],
            )

    def _searched_pairs(self) -> Iterator[tuple[str, str, int]]:
        """Each pair of a set of the report and another set, with the largest size at which both have signatures."""
        sizes = {name: self._store.signature_sizes(name) for name in self._workspace.test_sets}
        for place, name in enumerate(self.names):
            for other_name, other_sizes in sizes.items():
                both = sizes[name] & other_sizes
                if both and other_name != name and other_name not in self.names[:place]:
                    yield name, other_name, max(both)

    def _people(self, test_set: TestSet) -> Iterator[Chapter]:
        people = len(self._store.people_names(test_set.name))
        if people and people + self._model_count(test_set) > 1:
            labels = next(iter(self._labels(test_set)), None)
            compute = partial(self._workspace.people, test_set.name, labels=labels)
            yield Chapter("people", _PEOPLE_QUESTION, _about(test_set, labels), compute)

    def _similarity(self) -> Iterator[Chapter]:
        if self._model_count(self.original) > 1:
            question = "Do models err on the same images?"
            name = self.original.name
            yield Chapter("similarity", question, name, partial(self._workspace.similarity, name))

    def _labels(self, test_set: TestSet) -> tuple[str, ...]:
        """The chosen version of each label set (default: the newest)."""
        versions = self._store.label_set_names(test_set.name)
        newest = {full.rpartition("@")[0]: full for full in versions}
        chosen = {name: full for name, full in self._chosen_labels.items() if full in versions}
        return tuple((newest | chosen).values())


def _about(test_set: TestSet, labels: str | None) -> str:
    return f"{test_set.name} against {labels}" if labels else test_set.name


def _nothing_to_report(workspace: Workspace, test_sets: Sequence[str]) -> str:
    """Error message: why there is nothing to report, and what to do next."""
    if not workspace.test_sets:
        return (
            "there is nothing to report yet: run regrade import predictions, or add a test set (regrade testsets add) "
            "and run regrade predict"
        )
    names = ", ".join(test_sets or workspace.test_sets)
    return f"no model has predictions on {names} yet: run regrade predict or regrade import predictions"
