"""The chapters that a workspace has the material for: each a question, what it is asked of, and how it is answered."""

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

_FEWEST = 3  # models in common from which a line through them says anything
_MOST_GROUPS = 12  # values of a group column that are slices of their own
_CORRUPTED = ("corruption", "severity")
_PLACES = ("region", "continent", "country", "income")
_MAPPED = ("region", "country")
_MISTAKES = (MistakePart.FLOW, MistakePart.TRIAGE, MistakePart.CATEGORIES)
_CONFUSING = (ConfusionPart.MODELS, ConfusionPart.EXPECTED)
_QUICK = (Distance.EXACT, Distance.PIXELS)
_LEAKED = (LeakagePart.DISTANCES, LeakagePart.MODELS, LeakagePart.PAIRS)


_AHEAD, _HOLDS = "Which models differ in accuracy?", "Does it hold on new data?"
_SERVED, _MISTAKEN = "How does accuracy vary by region?", "Which mistakes are mistakes?"
_LOOKS, _CONFUSED = "What do the hardest images look like?", "Which images confuse models?"
_BESIDE, _TWINS = "How do models compare with people?", "Are images of one set in another?"
_OPEN = {
    "comparison": (_AHEAD, "It takes two models on the same test set."),
    "generalization": (_HOLDS, "It takes a second test set in the same classes, with three of the models or more."),
    "geography": (_SERVED, "It takes a test set with a group column such as region, country or income."),
    "mistakes": (_MISTAKEN, "It takes labels with every right class of an image: regrade import labels."),
    "hardest": (_LOOKS, "It takes the images of a test set: regrade testsets add."),
    "confusion": (_CONFUSED, "It takes scores of several seeds over epochs: regrade import checkpoints."),
    "people": (_BESIDE, "It takes people's answers: regrade import people."),
    "leakage": (_TWINS, "It takes two test sets with images, compared once: regrade study leakage."),
}


def _one_table(result: Tabular) -> Sequence[Table]:
    return (result.table(),)


def _nothing_more(_: Tabular) -> Sequence[Figure]:
    return ()


@dataclass(frozen=True)
class Chapter:
    """A question asked of something, and how it is answered; a result may have several tables and more figures."""

    kind: str
    question: str
    about: str
    make: Callable[[], Tabular | Table | Gallery]
    tables: Callable[[Any], Sequence[Table]] = _one_table
    more_figures: Callable[[Any], Sequence[Figure]] = _nothing_more

    @property
    def title(self) -> str:
        """What is being made, for those who wait."""
        return f"{self.kind} on {self.about}" if self.about else self.kind


class ReportMaterial:
    """What a workspace holds for a report on some of its test sets, or on all."""

    def __init__(
        self,
        workspace: Workspace,
        test_sets: Sequence[str] = (),
        original: str | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        self._workspace = workspace
        self._store = workspace.store
        wanted = [self._store.test_set(name) for name in test_sets or workspace.test_sets]
        self.sets = [one for one in wanted if self._answered(one.name)]
        if not self.sets:
            raise InputError(_nothing(workspace, test_sets))
        named = [one for one in self.sets if one.name == original]
        if original is not None and not named:
            raise InputError(f"{original} is not among the test sets of this report: {', '.join(self.names)}")
        self.original = named[0] if named else max(self.sets, key=lambda one: (self._models(one), len(one)))
        self.sets.sort(key=lambda one: one.name != self.original.name)
        self._chosen_labels = {full.rpartition("@")[0]: full for full in labels}
        known = {full for one in self.sets for full in self._store.label_set_names(one.name)}
        for full in labels:
            if full not in known:
                raise UnknownName("version of labels", full, sorted(known))

    def _answered(self, name: str) -> bool:
        return bool(self._store.model_names(name) or self._store.people_names(name))

    def _models(self, test_set: TestSet) -> int:
        return len(self._store.model_names(test_set.name))

    @property
    def names(self) -> tuple[str, ...]:
        """The test sets, the original first."""
        return tuple(one.name for one in self.sets)

    @property
    def references(self) -> tuple[str, ...]:
        """Other test sets that those of the report are held against, image by image."""
        return tuple(dict.fromkeys(other for _, other, _ in self._looked_at() if other not in self.names))

    @cached_property
    def answerers(self) -> tuple[str, ...]:
        """The models and people on any of the test sets."""
        found = (name for one in self.names for name in (*self._store.model_names(one), *self._store.people_names(one)))
        return tuple(dict.fromkeys(found))

    @property
    def title(self) -> str:
        """What the report is of."""
        models = len({model for name in self.names for model in self._store.model_names(name)})
        on = self.names[0] if len(self.names) == 1 else amount(len(self.names), "test set")
        return f"A second grading of {amount(models, 'model')} on {on}"

    def subtitle(self, now: datetime) -> str:
        """How much it rests on, and when it was made."""
        images = sum(len(one) for one in self.sets)
        return f"{', '.join(self.names)} · {amount(images, 'image')} · {now.day} {now:%B %Y}"

    def chapters(self) -> Iterator[Chapter]:
        """Every chapter there is material for."""
        yield from self._overview()
        for chapters in (self._grades, self._comparisons):
            yield from (chapter for one in self.sets for chapter in chapters(one))
        yield from self._generalization()
        of_sets = (
            self._geography, self._slices, self._corruptions, self._mistakes, self._images, self._confusion,
            self._people,
        )  # fmt: skip
        for chapters in of_sets:
            yield from (chapter for one in self.sets for chapter in chapters(one))
        yield from self._similarity()
        yield from self._leakage()

    def open_questions(self) -> tuple[tuple[str, str], ...]:
        """What could be asked with more material, and what it takes."""
        asked = {chapter.kind for chapter in self.chapters()}
        return tuple(words for kind, words in _OPEN.items() if kind not in asked)

    def _overview(self) -> Iterator[Chapter]:
        if len(self.sets) > 1:
            yield Chapter("overview", "How do all models do everywhere?", "", self._everywhere)

    def _everywhere(self) -> Table:
        """Top-1 accuracy of every model on every test set."""
        found = {
            one.name: {
                row.model: row.top1
                for row in self._grade(one, None).rows
                if row.slice == EVERYTHING and not row.model.startswith(PERSON_PREFIX)
            }
            for one in self.sets
        }
        models = dict.fromkeys(model for rows in found.values() for model in rows)
        columns = (Column("model", "model"), *(Column(name, name) for name in found))
        rows = tuple((model, *(rows.get(model) for rows in found.values())) for model in models)
        return Table("top-1 accuracy on every test set, in %", columns, rows)

    def _grades(self, one: TestSet) -> Iterator[Chapter]:
        question = "How good is each model?"
        for labels in self._labels(one) or (None,):
            yield Chapter("grade", question, _against(one, labels), partial(self._grade, one, labels))

    @cache  # noqa: B019 - as long as the material itself, which is not for long
    def _grade(self, one: TestSet, labels: str | None) -> Grade:
        known = self._labels(one)
        if labels is None and known:  # it is in every grade against labels
            whole = self._grade(one, known[0])
            return replace(whole, labels=None, labels_version=None, rule=None)
        return self._workspace.grade(one.name, labels=labels)

    def _slices(self, one: TestSet) -> Iterator[Chapter]:
        columns = [
            column
            for column, values in one.groups.items()
            if column not in (*_CORRUPTED, *_PLACES) and 2 <= len(set(values)) <= _MOST_GROUPS
        ]
        slices = [*columns, *(found.name for found in one.slice_sets)]
        if slices:
            question = "On which images are models weak?"
            yield Chapter("slices", question, one.name, partial(self._workspace.grade, one.name, slices=slices))

    def _comparisons(self, one: TestSet) -> Iterator[Chapter]:
        if self._models(one) < 2:
            return
        for labels in (None, *self._labels(one)):
            yield Chapter(
                "comparison",
                _AHEAD,
                _against(one, labels),
                partial(self._workspace.compare, test_set=one.name, labels=labels),
            )

    def _generalization(self) -> Iterator[Chapter]:
        new = [one.name for one in self.sets if self._comparable(one)]
        if new:
            about = f"{self.original.name} and {new[0] if len(new) == 1 else amount(len(new), 'new set')}"
            yield Chapter(
                "generalization",
                _HOLDS,
                about,
                partial(self._workspace.generalization, self.original.name, new),
                lambda result: (result.sets_table(), result.table()),
            )

    def _comparable(self, one: TestSet) -> bool:
        """Whether a set can be held against the original: the same classes, or some of them, and enough models."""
        if one.name == self.original.name:
            return False
        common = set(self._store.model_names(one.name)) & set(self._store.model_names(self.original.name))
        known, chart = self.original.class_space, self._store.class_map(one)
        mapped = chart is not None and chart.source.digest == known.digest
        return len(common) >= _FEWEST and (mapped or set(one.class_space.ids) <= set(known.ids))

    def _corruptions(self, one: TestSet) -> Iterator[Chapter]:
        if all(column in one.groups for column in _CORRUPTED):
            question = "How well do models bear corruptions?"
            yield Chapter("corruptions", question, one.name, partial(self._corruption_grade, one))

    def _corruption_grade(self, one: TestSet) -> Tabular:
        """Beside a set with the clean images if there is one, else alone."""
        for clean in self.sets:
            if clean.name != one.name and one.ids[0].rpartition("/")[2] in clean.position_of:
                return self._workspace.grade_corruptions(one.name, clean=clean.name)
        return self._workspace.grade_corruptions(one.name)

    def _mistakes(self, one: TestSet) -> Iterator[Chapter]:
        for labels in self._labels(one):
            yield Chapter(
                "mistakes",
                _MISTAKEN,
                _against(one, labels),
                partial(self._workspace.mistakes, one.name, labels=labels),
                lambda result: [result.part(part) for part in _MISTAKES if part in result.parts],
            )

    def _images(self, one: TestSet) -> Iterator[Chapter]:
        if self._store.has_images(one.name) and self._models(one):
            labels = next(iter(self._labels(one)), None)
            yield Chapter(
                "hardest", _LOOKS, one.name, partial(hardest_images, self._store, one, labels=labels)
            )  # fmt: skip

    def _confusion(self, one: TestSet) -> Iterator[Chapter]:
        """Each set with an ensemble; what it leads one to expect of another set is asked of the original."""
        ensembles = self._store.ensemble_names(one.name)
        if not ensembles:
            return
        others = [name for name in self.names if name != one.name and ensembles[0] in self._store.ensemble_names(name)]
        unlabeled = others[0] if others and one.name == self.original.name else None
        yield Chapter(
            "confusion",
            _CONFUSED,
            one.name,
            partial(self._workspace.confusion, one.name, ensembles=ensembles, unlabeled=unlabeled),
            lambda result: [result.part(part) for part in _CONFUSING if part in result.parts],
        )

    def _geography(self, one: TestSet) -> Iterator[Chapter]:
        original = self.original.name if self._comparable(one) else None
        for column in _PLACES:
            if len(set(one.group_columns.get(column, ()))) > 1:
                make = partial(self._workspace.geography, one.name, by=column, original=original)
                question, about = _SERVED, f"{one.name} by {column}"
                drawn = (lambda result: (map_figure(result),)) if column in _MAPPED else _nothing_more
                yield Chapter("geography", question, about, make, more_figures=drawn)

    def _leakage(self) -> Iterator[Chapter]:
        """Every two sets whose images were looked at before: to do so, or to measure DSSIM, is too much here."""
        for name, other, size in self._looked_at():
            yield Chapter(
                "leakage",
                _TWINS,
                f"{name} against {other}",
                partial(self._workspace.leakage, name, against=other, by=_QUICK, size=size),
                lambda result: [result.part(part) for part in _LEAKED if part in result.parts],
            )

    def _looked_at(self) -> Iterator[tuple[str, str, int]]:
        """Each set of the report with every other one, once, and the largest size at which both were looked at."""
        sizes = {name: self._store.signature_sizes(name) for name in self._workspace.test_sets}
        for place, name in enumerate(self.names):
            for other, known in sizes.items():
                both = sizes[name] & known
                if both and other != name and other not in self.names[:place]:
                    yield name, other, max(both)

    def _people(self, one: TestSet) -> Iterator[Chapter]:
        people = len(self._store.people_names(one.name))
        if people and people + self._models(one) > 1:
            labels = next(iter(self._labels(one)), None)
            yield Chapter(
                "people", _BESIDE, _against(one, labels), partial(self._workspace.people, one.name, labels=labels)
            )  # fmt: skip

    def _similarity(self) -> Iterator[Chapter]:
        if self._models(self.original) > 1:
            question = "Do models err on the same images?"
            name = self.original.name
            yield Chapter("similarity", question, name, partial(self._workspace.similarity, name))

    def _labels(self, one: TestSet) -> tuple[str, ...]:
        """The newest version of each label set, or the one that was chosen."""
        known = self._store.label_set_names(one.name)
        newest = {full.rpartition("@")[0]: full for full in known}
        chosen = {name: full for name, full in self._chosen_labels.items() if full in known}
        return tuple((newest | chosen).values())


def _against(one: TestSet, labels: str | None) -> str:
    return f"{one.name} against {labels}" if labels else one.name


def _nothing(workspace: Workspace, test_sets: Sequence[str]) -> str:
    """Why there is nothing to report, and what to do."""
    if not workspace.test_sets:
        return (
            "there is nothing to report yet: bring predictions with regrade import predictions, or add a test set "
            "and predict it"
        )
    names = ", ".join(test_sets or workspace.test_sets)
    return f"no model has predictions on {names} yet: regrade predict, or regrade import predictions"
