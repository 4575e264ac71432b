"""The grade under corruptions: error by corruption, mCE and relative mCE, with intervals over images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, InputError, MismatchError, Predictions, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray
from regrade.metrics import (
    ALEXNET_CLEAN_ERROR,
    ALEXNET_ERRORS,
    mean_corruption_error,
    relative_mean_corruption_error,
)
from regrade.stats import clustered_mean, clustered_proportion, proportion
from regrade.studies.corruption_frame import CorruptionFrame, corruption_frame
from regrade.studies.grade import EVERYTHING
from regrade.studies.scoring import Scoring


@dataclass(frozen=True)
class CorruptionRow:
    """One model under one corruption, or under all of them; what is undefined is none.

    ``error`` is the mean over severities. ``ratio`` is that error over AlexNet's, and under all corruptions mCE;
    ``relative`` takes of both only what they lose against ``clean`` pictures, and is relative mCE.
    """

    model: str
    corruption: str
    error: Estimate
    ratio: Estimate | None
    relative: Estimate | None
    clean: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """The row, ready for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value.as_dict() if isinstance(value, Estimate) else value for name, value in plain.items()}


@dataclass(frozen=True, repr=False)
class CorruptionGrade(Tabular):
    """The grade of all models under corruptions, the most robust first."""

    test_set: str
    clean: str | None
    rows: tuple[CorruptionRow, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The grade, ready for JSON."""
        rows = [row.as_dict() for row in self.rows]
        return {"test_set": self.test_set, "clean": self.clean, "rows": rows, "notes": list(self.notes)}

    def table(self) -> Table:
        """One line a model and corruption; columns that say nothing are left out."""
        said = [key for key in _HEADINGS if any(getattr(row, key) is not None for row in self.rows)]
        rows = tuple(tuple(getattr(row, key) for key in said) for row in self.rows)
        columns = tuple(Column(key, _HEADINGS[key]) for key in said)
        return Table(f"{self.test_set}: errors under corruptions, in %", columns, rows, self.notes)


_HEADINGS = {
    "model": "model",
    "corruption": "corruption",
    "error": "error",
    "ratio": "CE (all: mCE)",
    "relative": "relative CE",
    "clean": "error, clean",
}


@dataclass(frozen=True, eq=False)
class CleanAnswers:
    """Which examples of a clean test set each model has right, by model."""

    test_set: TestSet
    right: Mapping[str, BoolArray]


def corruption_grade(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    clean: CleanAnswers | None = None,
    confidence: float = 0.95,
) -> CorruptionGrade:
    """Grade models on a test set with group columns ``corruption`` and ``severity``.

    Every image must be there under every corruption and severity of the set. Intervals are over images, which come
    back many times and are no new evidence each time. What an image is, column ``image`` says, or else its id behind
    ``corruption/severity/``. Images without a label are left out.
    """
    frame = corruption_frame(test_set)
    rows: list[CorruptionRow] = []
    for answers, scoring in predictions:
        rows += _model_rows(frame, answers, scoring, clean, confidence)
    if not rows:
        raise InputError(
            f"no model has predictions on {test_set.name} yet: regrade predict, or regrade import predictions"
        )
    notes = _notes(frame, rows, clean)
    return CorruptionGrade(test_set.name, clean.test_set.name if clean else None, _most_robust_first(rows), notes)


def _model_rows(
    frame: CorruptionFrame, answers: Predictions, scoring: Scoring, clean: CleanAnswers | None, confidence: float
) -> list[CorruptionRow]:
    counted = np.asarray(scoring.counted[frame.positions].all(axis=(1, 2)))
    wrong = ~scoring.top_k(answers, 1).right[frame.positions[counted]]
    clean_wrong = _clean_wrong(frame, counted, clean, answers.model)
    referred, reference = frame.referred, frame.reference
    overall = CorruptionRow(
        answers.model,
        EVERYTHING,
        _error(wrong, confidence),
        _mce(wrong[:, referred], reference, confidence),
        _relative(wrong[:, referred], clean_wrong, reference, confidence),
        None if clean_wrong is None else proportion(int(clean_wrong.sum()), len(clean_wrong), confidence=confidence),
    )
    rows = [overall]
    for number, name in enumerate(frame.corruptions):
        error, mine = _error(wrong[:, [number]], confidence), referred == number
        rows.append(
            CorruptionRow(
                answers.model,
                name,
                error,
                _divided(error, ALEXNET_ERRORS[name]) if mine.any() else None,
                _relative(wrong[:, referred[mine]], clean_wrong, reference[mine], confidence),
                None,
            )
        )
    return rows


def _error(wrong: BoolArray, confidence: float) -> Estimate:
    """The share of wrong answers of (images, corruptions, severities), images as clusters."""
    images = np.repeat(np.arange(len(wrong)), wrong[0].size) if len(wrong) else np.arange(0)
    return clustered_proportion(wrong.ravel(), images, confidence=confidence)[0]


def _mce(wrong: BoolArray, reference: FloatArray, confidence: float) -> Estimate | None:
    if not reference.size:
        return None
    most = float((1 / reference).mean())
    return _over_images(mean_corruption_error(wrong.astype(float), reference), (0.0, most), confidence)


def _relative(
    wrong: BoolArray, clean_wrong: BoolArray | None, reference: FloatArray, confidence: float
) -> Estimate | None:
    if clean_wrong is None or not reference.size:
        return None
    each = relative_mean_corruption_error(
        wrong.astype(float), reference, clean=clean_wrong.astype(float), reference_clean=ALEXNET_CLEAN_ERROR
    )
    most = float((1 / (reference - ALEXNET_CLEAN_ERROR)).mean())
    return _over_images(each, (-most, most), confidence)


def _over_images(values: FloatArray, bounds: tuple[float, float], confidence: float) -> Estimate:
    """The mean of what each image would score alone: mCE and relative mCE are linear in the errors.

    Where all images are alike their spread says nothing; how large a share of others may lie anywhere within
    ``bounds`` is known exactly instead.
    """
    estimate = clustered_mean(values, np.arange(len(values)), confidence=confidence)[0]
    low, high = estimate.low, estimate.high
    if np.ptp(values) < 1e-12:
        others = 1 - proportion(len(values), len(values), confidence=confidence).low
        low, high = (estimate.value + others * (bound - estimate.value) for bound in bounds)
    return replace(estimate, low=max(low, bounds[0]), high=min(high, bounds[1]))


def _divided(estimate: Estimate, by: float) -> Estimate:
    return replace(estimate, value=estimate.value / by, low=estimate.low / by, high=estimate.high / by)


def _clean_wrong(
    frame: CorruptionFrame, counted: BoolArray, clean: CleanAnswers | None, model: str
) -> BoolArray | None:
    """Shape (images,): which of the images a model has wrong when they are clean."""
    if clean is None or model not in clean.right:
        return None
    images = [image for image, counts in zip(frame.images, counted, strict=True) if counts]
    missing = [image for image in images if image not in clean.test_set.position_of]
    if missing:
        raise MismatchError(
            f"{len(missing):,} of {len(images):,} images are not in {clean.test_set.name}, for instance {missing[0]!r}"
        )
    return ~clean.right[model][[clean.test_set.position_of[image] for image in images]]


def _most_robust_first(rows: list[CorruptionRow]) -> tuple[CorruptionRow, ...]:
    overall = {row.model: (row.ratio or row.error).value for row in rows if row.corruption == EVERYTHING}
    return tuple(sorted(rows, key=lambda row: (overall[row.model], row.model)))


def _notes(frame: CorruptionFrame, rows: list[CorruptionRow], clean: CleanAnswers | None) -> tuple[str, ...]:
    methods = sorted({e.method for row in rows for e in (row.error, row.ratio, row.relative) if e})
    notes = [f"intervals over {amount(len(frame.images), 'image')}: {', '.join(methods)}"]
    if not frame.referred.size:
        notes.append("no CE: AlexNet's published errors are means over all five severities of ImageNet-C's corruptions")
    else:
        notes.append(
            f"CE: the error over AlexNet's on the released ImageNet-C; mCE is their mean over {len(frame.referred)} of "
            f"the {len(ALEXNET_ERRORS)} corruptions"
        )
    if clean:
        notes.append(f"clean: the same images of {clean.test_set.name}; relative CE: in excess of the clean error")
    return tuple(notes)
