"""The chapters of a report: those of the studies, an overview of all test sets, and the hardest images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from regrade.core import PERSON_PREFIX, Column, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.display import Figure
from regrade.report import Gallery
from regrade.studies import EVERYTHING, Chapter, Grade, ReportData, Study, all_studies
from regrade.studies.grade.study import GRADE, GradeOptions
from regrade.studies.leakage.study import searched_pairs
from regrade.workspace.hardest_images import hardest_images

_HARDEST = "hardest"
_OVERVIEW = "overview"
_AFTER = {"slices": "geography", _HARDEST: "mistakes"}
"""Chapters that do not follow in the order of the registry, and the study that they come after."""
_HARDEST_QUESTION = "What do the hardest images look like?"
_HARDEST_REQUIRES = "Requires the images of a test set: regrade testsets add."


@dataclass(frozen=True)
class ReportChapter:
    """A question about one subject and the function that computes its answer; for a study, its tables and figures."""

    kind: str
    question: str
    about: str
    compute: Callable[[], Tabular | Table | Gallery]
    study: Study[..., Any, Any] | None = None
    tables: Callable[[Any], Sequence[Table]] = lambda result: (result.table(),)
    more_figures: Callable[[Any], Sequence[Figure]] = lambda _: ()

    @property
    def title(self) -> str:
        """Name of the chapter, for progress messages."""
        return f"{self.kind} on {self.about}" if self.about else self.kind


class ReportMaterial:
    """The data of a report, and its chapters; a result that two chapters need is computed once."""

    def __init__(self, data: ReportData) -> None:
        self.data = data
        self._results: dict[tuple[str, Any], Tabular] = {}

    @property
    def references(self) -> tuple[str, ...]:
        """Test sets outside the report whose images were compared with those of the report."""
        pairs = searched_pairs(self.data)
        return tuple(dict.fromkeys(reference for _, reference, _ in pairs if reference not in self.data.names))

    @cached_property
    def models_and_people(self) -> tuple[str, ...]:
        """The models and people with predictions on any of the test sets."""
        rows = (name for test_set in self.data.sets for name in self.data.row_names(test_set))
        return tuple(dict.fromkeys(rows))

    @property
    def title(self) -> str:
        """Default title of the report."""
        names = self.data.names
        models = len({model for name in names for model in self.data.store.model_names(name)})
        on = names[0] if len(names) == 1 else amount(len(names), "test set")
        return f"A second grading of {amount(models, 'model')} on {on}"

    def subtitle(self, now: datetime) -> str:
        """Test sets, number of images and date."""
        images = sum(len(test_set) for test_set in self.data.sets)
        return f"{', '.join(self.data.names)} · {amount(images, 'image')} · {now.day} {now:%B %Y}"

    @cached_property
    def chapters(self) -> tuple[ReportChapter, ...]:
        """Every chapter that the stored data allows: the overview, then the studies in the order of the registry."""
        chapters = [*self._overview(), *self._hardest()]
        for study in all_studies():
            chapters += [self._chapter(study, chapter) for chapter in study.chapters(self.data)]
        places = {study.name: place for place, study in enumerate(all_studies())}
        return tuple(sorted(chapters, key=lambda chapter: _place(chapter, places)))

    def open_questions(self) -> tuple[tuple[str, str], ...]:
        """Questions that need more data, each with what it requires."""
        answered = {chapter.question for chapter in self.chapters}
        questions = [(study.question, study.requires) for study in all_studies() if study.requires]
        questions.append((_HARDEST_QUESTION, _HARDEST_REQUIRES))
        return tuple((question, requires) for question, requires in questions if question not in answered)

    def _chapter(self, study: Study[..., Any, Any], chapter: Chapter) -> ReportChapter:
        return ReportChapter(
            chapter.kind or study.command,
            chapter.question or study.question,
            chapter.about,
            partial(self._result, study, chapter.options),
            study,
            chapter.tables,
            chapter.more_figures,
        )

    def _result(self, study: Study[..., Any, Any], options: Any) -> Tabular:
        key = (study.name, options)
        if key not in self._results:
            self._results[key] = study.run(self.data.store, options)
        return self._results[key]

    def _overview(self) -> Iterator[ReportChapter]:
        if len(self.data.sets) > 1:
            yield ReportChapter(_OVERVIEW, "How do all models do everywhere?", "", self._overview_table)

    def _overview_table(self) -> Table:
        """Top-1 accuracy of every model on every test set."""
        accuracies = {
            test_set.name: {
                row.model: row.top1
                for row in self._grade(test_set).rows
                if row.slice == EVERYTHING and not row.model.startswith(PERSON_PREFIX)
            }
            for test_set in self.data.sets
        }
        models = dict.fromkeys(model for rows in accuracies.values() for model in rows)
        columns = (Column("model", "model"), *(Column(name, name) for name in accuracies))
        rows = tuple((model, *(rows.get(model) for rows in accuracies.values())) for model in models)
        return Table("top-1 accuracy on every test set, in %", columns, rows)

    def _grade(self, test_set: TestSet) -> Grade:
        """A grade with top-1, as the first chapter on the test set computes it."""
        labels = next(iter(self.data.labels(test_set)), None)
        result = self._result(GRADE, GradeOptions(test_set.name, labels))
        assert isinstance(result, Grade)
        return result

    def _hardest(self) -> Iterator[ReportChapter]:
        for test_set in self.data.sets:
            if self.data.store.has_images(test_set.name) and self.data.model_count(test_set):
                labels = next(iter(self.data.labels(test_set)), None)
                compute = partial(hardest_images, self.data.store, test_set, labels=labels)
                yield ReportChapter(_HARDEST, _HARDEST_QUESTION, test_set.name, compute)


def _place(chapter: ReportChapter, places: Mapping[str, int]) -> float:
    """The place of a chapter in the report, from those of the studies."""
    if chapter.kind in _AFTER:
        return places[_AFTER[chapter.kind]] + 0.5
    return -1 if chapter.study is None else places[chapter.study.name]
