"""Grade a model batch by batch, in a loop over a test set or after an epoch of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError, MismatchError, ScoreKind, UndefinedError, joined_ties
from regrade.formats import FilePredictions, PredictionKind, inferred_classes, kind_of, predictions_from_array
from regrade.studies import Grade
from regrade.studies.grade.metrics import GradeMetric, MetricFunction
from regrade.tables import ArrayInput, array_input
from regrade.workspace.array_data import LABELS, Classes, label_input, labeled_data, named_classes
from regrade.workspace.in_memory import TEST_SET, grade_data

_EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Batch:
    """The labels (b,) of a batch and what is kept of its predictions: best classes and scores, or classes (b,)."""

    labels: NDArray[Any]
    predictions: FilePredictions | NDArray[Any]

    @property
    def kept_bytes(self) -> int:
        own = self.predictions
        arrays = (own.classes, own.scores, own.full_scores) if isinstance(own, FilePredictions) else (own,)
        return sum(array.nbytes for array in (self.labels, *arrays) if array is not None)

    @property
    def form(self) -> str:
        """What labels and predictions are, in words; all batches must have the same."""
        labels = "names" if self.labels.dtype.kind in "OU" else "numbers"
        if self.labels.dtype == object and isinstance(self.labels[0], tuple):
            labels = "lists"
        return f"labels as {labels}, {'scores' if isinstance(self.predictions, FilePredictions) else 'classes'}"


class Grader:
    """Collects the predictions of a model over batches and grades them: ``update`` per batch, then ``compute``.

    It keeps the label and the best five classes of each image with their scores, 48 bytes per image, and copies the
    scores of a batch from their device once. With ``keep_scores`` it keeps the scores of all classes, which the metrics
    "ece", "adaptive-ece", "brier" and "nll" need. ``classes``, ``metrics`` and ``confidence`` are as in `grade`.

    >>> grader = Grader()
    >>> grader.update([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    >>> grader.update([[0.7, 0.3]], [1])
    >>> grader.compute()["model"].top1.value
    0.6666666666666666
    """

    def __init__(
        self,
        *,
        classes: Classes = None,
        keep_scores: bool = False,
        metrics: Sequence[str | GradeMetric | MetricFunction] = (),
        confidence: float = 0.95,
        model: str = "model",
        test_set: str = TEST_SET,
    ) -> None:
        self._classes = None if classes is None else named_classes(classes)
        self._metrics, self._confidence = metrics, confidence
        self._keep_scores = keep_scores
        self._model, self._test_set = model, test_set
        self._batches: list[_Batch] = []

    def __len__(self) -> int:
        """The number of images so far."""
        return sum(len(batch.labels) for batch in self._batches)

    def __repr__(self) -> str:
        return f"<Grader of {self._model!r}: {len(self):,} images in {len(self._batches):,} batches>"

    @property
    def kept_bytes(self) -> int:
        """The memory of what is kept of all batches, in bytes."""
        return sum(batch.kept_bytes for batch in self._batches)

    def update(self, y_pred: Any, y_true: Any) -> None:
        """Add a batch: scores (b, c) or classes (b,), and the labels (b,); a batch that does not fit raises."""
        number = len(self._batches) + 1
        given = array_input(y_pred, name=f"y_pred of batch {number}")
        labels = label_input(y_true, name=f"{LABELS} of batch {number}")
        given.check_rows(labels)
        if len(labels):
            self._add(_Batch(np.array(labels.values), self._kept(given, labels)), given.name)

    def compute(self) -> Grade:
        """Grade all images so far, with an interval on every number; more batches may follow."""
        if not self._batches:
            raise UndefinedError("there is no image to grade yet: call update(y_pred, y_true) for every batch")
        labels = ArrayInput(LABELS, np.concatenate([batch.labels for batch in self._batches]))
        kept = [batch.predictions for batch in self._batches]
        predicted = ArrayInput(
            "y_pred", np.concatenate([own for own in kept if isinstance(own, np.ndarray)] or [_EMPTY])
        )
        classes = self._classes or inferred_classes([labels, predicted], [])
        if len(predicted):
            predictions = predictions_from_array(predicted, classes, PredictionKind.CLASSES)
        else:
            predictions = _joined([own for own in kept if isinstance(own, FilePredictions)])
        data = labeled_data(labels, classes, {self._model: predictions}, {}, self._test_set)
        return grade_data(data, metrics=self._metrics, confidence=self._confidence)

    def reset(self) -> None:
        """Forget all batches."""
        self._batches.clear()

    def merge(self, grader: Grader) -> None:
        """Add the batches of another grader, for example that of another process."""
        spaces = [own._classes.space for own in (self, grader) if own._classes is not None]
        if len({space.digest for space in spaces}) > 1:
            raise MismatchError("the graders have different classes: give both the same classes")
        self._classes = self._classes or grader._classes
        for batch in grader._batches:
            self._add(batch, "the merged grader")

    def _kept(self, given: ArrayInput, labels: ArrayInput) -> FilePredictions | NDArray[Any]:
        """What is kept of the predictions of a batch."""
        kind = kind_of(given, None)
        if kind is PredictionKind.CLASSES:
            return np.array(given.values)
        if self._classes is None:
            self._classes = inferred_classes([labels], [given])
        predictions = predictions_from_array(given, self._classes, kind)
        kept = np.array(predictions.full_scores) if self._keep_scores else None
        return replace(predictions, full_scores=kept, notes=())

    def _add(self, batch: _Batch, name: str) -> None:
        if self._batches and batch.form != self._batches[0].form:
            raise InputError(f"{name} has {batch.form}, but earlier batches {self._batches[0].form}: use one form")
        self._batches.append(batch)


def _joined(batches: Sequence[FilePredictions]) -> FilePredictions:
    """The predictions of all batches; they are probabilities only if those of every batch are."""
    kinds = {batch.score_kind for batch in batches}
    kind = ScoreKind.PROBABILITIES if kinds == {ScoreKind.PROBABILITIES} else ScoreKind.LOGITS
    classes = np.concatenate([batch.classes for batch in batches])
    scores = np.concatenate([batch.scores for batch in batches if batch.scores is not None])
    full = [batch.full_scores for batch in batches if batch.full_scores is not None]
    starts = np.cumsum([0, *(len(batch.classes) for batch in batches)]).tolist()
    ties = joined_ties([(start, batch.ties) for start, batch in zip(starts, batches, strict=False)])
    return FilePredictions(classes, scores, np.concatenate(full) if full else None, kind, ties=ties)
