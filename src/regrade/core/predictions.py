"""The predictions of one model, or the answers of one person, on one test set."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, MismatchError, UndefinedError
from regrade.core.images import Fingerprints
from regrade.core.ties import Ties

NO_ANSWER = -1
"""The class of an example without a prediction: it counts as wrong."""

TIE_RULE = "ties go to the lower class index"
"""How equal scores are ordered, as recorded in every manifest."""


STORED_K = 5
"""The number of best classes that are stored per example."""

PERSON_PREFIX = "person:"
"""The prefix of the names of people; model names have the prefix of their source instead."""


@dataclass(frozen=True, eq=False)
class AnswerTimes:
    """``start`` and ``end`` (n,) of each answer in seconds of any clock; NaN if unknown."""

    start: FloatArray
    end: FloatArray

    def __post_init__(self) -> None:
        if self.start.ndim != 1 or self.start.shape != self.end.shape:
            raise MismatchError(f"times: starts of shape {self.start.shape}, ends of shape {self.end.shape}")
        if (self.end < self.start).any():
            raise InputError(f"times: answer {int(np.argmax(self.end < self.start))} ends before it starts")

    def __len__(self) -> int:
        return len(self.start)

    @property
    def seconds(self) -> FloatArray:
        """Shape (n,): the duration of each answer in seconds; NaN if unknown."""
        return self.end - self.start


class ScoreKind(Enum):
    """The kinds of scores of a model."""

    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOG_PROBABILITIES = "log-probabilities"


class Answerer(Enum):
    """Whether a model or a person gave the answers."""

    MODEL = "model"
    PERSON = "person"


@dataclass(frozen=True, eq=False)
class Predictions:
    """The top k classes of one model for every example of one test set, best first.

    ``classes`` (n, k) are indices into the class space, in the order of the test set, `NO_ANSWER`
    if there is no prediction. ``scores`` (n, k) are their scores; ``full_scores`` (n, c) are all scores and
    ``features`` (n, d) the embeddings of the model, often memory maps. All three are optional.

    ``covered`` (n,) marks the examples that a person was asked about, or that a partial import has: the others are not
    counted, while a covered example without an answer is wrong. None: all examples. ``times`` are the times of the
    answers, if known. ``fingerprints`` (n,) are those of the images that a model was given, if known. ``ties`` are the
    classes that score as much as the last stored one; None if there are none, or if they are not known. Neither is part
    of the digest.
    """

    model: str
    test_set: str
    class_space: str
    classes: IntArray
    scores: FloatArray | None = None
    full_scores: FloatArray | None = None
    score_kind: ScoreKind | None = None
    features: FloatArray | None = None
    by: Answerer = Answerer.MODEL
    covered: BoolArray | None = None
    times: AnswerTimes | None = None
    fingerprints: Fingerprints | None = None
    ties: Ties | None = None

    def __post_init__(self) -> None:
        if self.classes.ndim != 2 or self.classes.shape[1] == 0:
            raise InputError(f"predictions of {self.model!r} must have shape (examples, k), got {self.classes.shape}")
        if self.scores is not None and self.scores.shape != self.classes.shape:
            raise InputError(f"predictions of {self.model!r}: scores {self.scores.shape}, classes {self.classes.shape}")
        for what, rows in (
            ("full scores", self.full_scores), ("features", self.features), ("covered", self.covered),
            ("times", self.times), ("fingerprints", self.fingerprints),
        ):  # fmt: skip
            if rows is not None and len(rows) != len(self.classes):
                raise InputError(f"predictions of {self.model!r}: {len(rows)} rows of {what}, expected {len(self)}")
        if self.covered is not None and (self.classes[~self.covered] != NO_ANSWER).any():
            raise InputError(f"predictions of {self.model!r}: an example that is not covered has an answer")

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def k(self) -> int:
        """The number of stored classes per example."""
        return int(self.classes.shape[1])

    @property
    def top1(self) -> IntArray:
        """Shape (n,): the best class."""
        return self.classes[:, 0]

    @property
    def counted(self) -> BoolArray:
        """Shape (n,): the examples that are scored; all unless ``covered`` is given."""
        return np.ones(len(self), dtype=bool) if self.covered is None else self.covered

    def within(self, inside: BoolArray) -> Predictions:
        """The predictions on the examples of a mask (n,) only, without full scores: the others are not counted."""
        classes = np.where(inside[:, None], self.classes, NO_ANSWER)
        return replace(self, classes=classes, covered=self.counted & inside, full_scores=None, ties=None)

    def top(self, k: int) -> IntArray:
        """Shape (n, k): the best k classes; raise if fewer are stored."""
        if k < 1:
            raise UndefinedError(f"top-{k} is undefined: k must be at least 1")
        if k > self.k:
            raise UndefinedError(f"top-{k} of {self.model!r} is unknown: only the top {self.k} are stored")
        return self.classes[:, :k]

    @cached_property
    def digest(self) -> str:
        """A hash of all stored values, equal on every machine."""
        state = hashlib.sha256(f"{self.class_space}\n{self.classes.shape}".encode())
        state.update(np.ascontiguousarray(self.classes, dtype="<i4").data)
        for what, scores in (("scores", self.scores), ("full scores", self.full_scores)):
            if scores is not None:
                state.update(f"{what} {self.score_kind} {scores.dtype.name}".encode())
                state.update(np.ascontiguousarray(scores, dtype=scores.dtype.newbyteorder("<")).data)
        if self.features is not None:
            state.update(f"features {self.features.shape} {self.features.dtype.name}".encode())
            state.update(np.ascontiguousarray(self.features, dtype=self.features.dtype.newbyteorder("<")).data)
        if self.by is not Answerer.MODEL:
            state.update(self.by.value.encode())
        if self.covered is not None:
            state.update(b"asked" + np.packbits(self.covered).tobytes())
        if self.times is not None:
            state.update(b"times" + np.stack([self.times.start, self.times.end]).astype("<f8").tobytes())
        return state.hexdigest()
