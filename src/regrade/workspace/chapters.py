"""The chapters of a report: those of the studies, an overview of all test sets, and the hardest images."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import numpy as np

from regrade.core import (
    PERSON_PREFIX,
    UNLABELED,
    Column,
    InputError,
    Predictions,
    Table,
    Tabular,
    TestSet,
    UnreadableImage,
)
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.display import Figure
from regrade.reports import Gallery, GalleryTile
from regrade.store import Store
from regrade.studies import EVERYTHING, Chapter, Grade, ReportData, Study, all_studies
from regrade.studies.grade.study import GRADE, GradeOptions
from regrade.studies.image_basis import judge_predictions
from regrade.studies.leakage.study import searched_pairs
from regrade.studies.loading import chosen_models, reviewed_labels, scored_predictions
from regrade.studies.study import ProgressCallback
from regrade.testsets import decode_gray_or_rgb, open_images

_HARDEST = "hardest"
_OVERVIEW = "overview"
_AFTER = {"slices": "geography", _HARDEST: "mistakes"}
"""Chapters that do not follow in the order of the registry, and the study that they come after."""
_HARDEST_QUESTION = "What do the hardest images look like?"
_HARDEST_REQUIRES = "Requires the images of a test set: regrade testsets add."
_TILES = 24
_SIDE, _QUALITY = 192, 80
_MAX_NAMED = 2  # predictions named per image


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

    @property
    def hard_sets_and_slices(self) -> tuple[str, ...]:
        """Slices and test sets that were chosen because models find them hard."""
        return tuple(sorted(self.data.hard))

    @cached_property
    def models_and_people(self) -> tuple[str, ...]:
        """The models and people with predictions on any of the test sets."""
        rows = (name for test_set in self.data.sets for name in self.data.row_names(test_set))
        return tuple(dict.fromkeys(rows))

    @property
    def title(self) -> str:
        """Default title of the report."""
        names = self.data.names
        models = len({model for name in names for model in self.data.store.predictions.model_names(name)})
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
            partial(self._result, study, chapter.options, all_models=chapter.all_models),
            study,
            chapter.tables,
            chapter.more_figures,
        )

    def _result(self, study: Study[..., Any, Any], options: Any, *, all_models: bool = False) -> Tabular:
        key = (study.name, options)
        if key not in self._results:
            self._results[key] = study.result_of(self.data.whole_store if all_models else self.data.store, options)
        return self._results[key]

    def _overview(self) -> Iterator[ReportChapter]:
        if len(self.data.sets) > 1:
            yield ReportChapter(_OVERVIEW, "How do all models do everywhere?", "", self._overview_table)

    def _overview_table(self) -> Table:
        """Top-1 accuracy of every model on every test set."""
        grades = {test_set.name: self._grade(test_set) for test_set in self.data.sets}
        accuracies = {
            name: {
                row.model: row.top1
                for row in grade.rows
                if row.slice == EVERYTHING and not row.model.startswith(PERSON_PREFIX)
            }
            for name, grade in grades.items()
        }
        models = dict.fromkeys(model for rows in accuracies.values() for model in rows)
        columns = (Column("model", "model"), *(Column(name, name) for name in accuracies))
        rows = tuple((model, *(rows.get(model) for rows in accuracies.values())) for model in models)
        notes = tuple(note for grade in grades.values() for note in grade.coverage_notes)
        return Table("top-1 accuracy on every test set, in %", columns, rows, notes)

    def _grade(self, test_set: TestSet) -> Grade:
        """A grade with top-1, as the first chapter on the test set computes it."""
        labels = next(iter(self.data.labels(test_set)), None)
        result = self._result(GRADE, GradeOptions(test_set.name, labels))
        assert isinstance(result, Grade)
        return result

    def _hardest(self) -> Iterator[ReportChapter]:
        for test_set in self.data.sets:
            if self.data.store.images.has(test_set.name) and self.data.model_count(test_set):
                labels = next(iter(self.data.labels(test_set)), None)
                compute = partial(hardest_images, self.data.store, test_set, labels=labels)
                yield ReportChapter(_HARDEST, _HARDEST_QUESTION, test_set.name, compute)


def _place(chapter: ReportChapter, places: Mapping[str, int]) -> float:
    """The place of a chapter in the report, from those of the studies."""
    if chapter.kind in _AFTER:
        return places[_AFTER[chapter.kind]] + 0.5
    return -1 if chapter.study is None else places[chapter.study.name]


def hardest_images(
    store: Store, test_set: TestSet, *, labels: str | None, progress: ProgressCallback = iter
) -> Gallery:
    """The images that most models get wrong, hardest first; ties by how many models make the same prediction.

    With ``labels`` predictions are scored against that label set and the decisions of its review, otherwise against the
    original labels.
    """
    names = chosen_models(store, test_set, ())
    with store.predictions.watch_partial() as reads:
        counted, wrong, novel, predicted_classes = _all_predictions(store, test_set, names, labels, progress)
    scored, missed = counted.sum(axis=0), wrong.sum(axis=0)
    if not missed.any():
        raise InputError(f"no model is wrong on any image of {test_set.name}")
    candidates = np.lexsort((np.arange(len(missed)), -missed))[: 50 * _TILES]
    hard = [int(position) for position in candidates if missed[position]]
    predicted = {position: _prediction_counts(predicted_classes[wrong[:, position], position]) for position in hard}
    order = sorted(predicted, key=lambda position: (-missed[position], -predicted[position][0][1], position))
    source = store.images.read(test_set)
    images, tiles, unread = open_images(source), list[GalleryTile](), 0
    for position in order:
        if len(tiles) == _TILES:
            break
        try:
            image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        except UnreadableImage:
            unread += 1
            continue
        image.thumbnail((_SIDE, _SIDE))
        buffer = io.BytesIO()
        image.convert("RGB").save(buffer, format="JPEG", quality=_QUALITY)
        tiles.append(
            GalleryTile(
                buffer.getvalue(),
                image.size,
                test_set.ids[position],
                _label(test_set, position),
                _predicted_in_words(predicted[position], test_set),
                f"{missed[position]} of {amount(scored[position], 'model')} wrong",
            )
        )
    if not tiles:
        raise UnreadableImage(f"none of the {amount(unread, 'image')} that models get wrong most often can be read")
    against = f"under {labels}" if labels else "by the images' own labels"
    notes = [
        f"wrong {against}; of images missed by equally many models those come first where models agree most on "
        "another answer",
    ]
    notes += [f"left out, as they cannot be read: {amount(unread, 'image')}"] if unread else []
    notes += ["novel: predictions that no one has judged; they count as wrong here"] if novel.any() else []
    notes += reads.notes
    every = int(((missed == scored) & (missed > 0)).sum())
    title = (
        f"{amount(every, 'image')} of {test_set.name} {'is' if every == 1 else 'are'} missed by every model"
        if every
        else f"No image of {test_set.name} is missed by every model"
    )
    return Gallery(f"{title}; the hardest {len(tiles)} are shown", tuple(tiles), tuple(notes))


def _all_predictions(
    store: Store, test_set: TestSet, names: Sequence[str], labels: str | None, progress: ProgressCallback
) -> tuple[BoolArray, BoolArray, BoolArray, IntArray]:
    """Arrays (models, images): whether a prediction counts, whether it is wrong, whether it is novel, and its class."""
    judged = None if labels is None else reviewed_labels(store, test_set, labels)
    counted, wrong, novel, classes = [], [], [], []
    for predictions, scoring in scored_predictions(store, test_set, tuple(names), progress=progress):
        judged_predictions = judge_predictions(predictions, scoring, judged)
        counted.append(judged_predictions.counted)
        wrong.append(judged_predictions.counted & ~judged_predictions.right)
        novel.append(judged_predictions.counted & judged_predictions.novel)
        classes.append(_in_set_classes(predictions, test_set))
    return np.array(counted), np.array(wrong), np.array(novel), np.array(classes)


def _in_set_classes(predictions: Predictions, test_set: TestSet) -> IntArray:
    """The top-1 classes (n,); -1 if the model predicts other classes than those of the test set."""
    if predictions.class_space != test_set.class_space.name:
        return np.full(len(predictions), -1, dtype=np.int64)
    return predictions.top1.astype(np.int64)


def _prediction_counts(predicted: IntArray) -> list[tuple[int, int]]:
    """Predicted classes with their counts, the most frequent first."""
    classes, counts = np.unique(predicted, return_counts=True)
    order = np.lexsort((classes, -counts))
    return [(int(classes[rank]), int(counts[rank])) for rank in order]


def _label(test_set: TestSet, position: int) -> str:
    label = int(test_set.labels[position])
    return "no label" if label == UNLABELED else test_set.class_space.names[label]


def _predicted_in_words(predicted: list[tuple[int, int]], test_set: TestSet) -> str:
    named = [(test_set.class_space.names[label], count) for label, count in predicted if label >= 0]
    words = [f"{name} ({count})" for name, count in named[:_MAX_NAMED]]
    more = len(named) - len(words)
    return ("taken for " + ", ".join(words) + (f" and {more} more" if more else "")) if words else ""
