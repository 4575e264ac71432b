"""What one model, or one person, answered on one test set."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.core.answer_times import AnswerTimes
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.fingerprints import Fingerprints

NO_ANSWER = -1
"""The class of an example the model gave no answer for: it counts as wrong."""

TIE_RULE = "ties go to the lower class index"
"""How equal scores are ordered, as every manifest records it."""


PERSON_PREFIX = "person:"
"""What the name of a person begins with, where that of a model has its zoo; no model is called so."""


class ScoreKind(Enum):
    """What a model's scores are."""

    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOG_PROBABILITIES = "log-probabilities"


class Answerer(Enum):
    """Who gave the answers."""

    MODEL = "model"
    PERSON = "person"


@dataclass(frozen=True, eq=False)
class Predictions:
    """The best classes of one model for every example of one test set, best first.

    ``classes`` (n, k) are indices into the class space, in the order of the test set, `NO_ANSWER`
    where there is none. ``scores`` (n, k) belong to them; ``full_scores`` (n, c) are all scores and
    ``features`` (n, d) what the model's last layer saw, often memory maps. All three may be missing.

    A person may have been ``asked`` (n,) about some examples only: the others count for nothing, while an example that
    was asked and has no answer is wrong. None stands for all. ``times`` are when the answers were given, if known.
    ``fingerprints`` (n,) are those of the images that a model was given, if known; they are no part of the digest.
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
    asked: BoolArray | None = None
    times: AnswerTimes | None = None
    fingerprints: Fingerprints | None = None

    def __post_init__(self) -> None:
        if self.classes.ndim != 2 or self.classes.shape[1] == 0:
            raise InputError(f"predictions of {self.model!r} must have shape (examples, k), got {self.classes.shape}")
        if self.scores is not None and self.scores.shape != self.classes.shape:
            raise InputError(f"predictions of {self.model!r}: scores {self.scores.shape}, classes {self.classes.shape}")
        for what, rows in (
            ("full scores", self.full_scores), ("features", self.features), ("asked", self.asked),
            ("times", self.times), ("fingerprints", self.fingerprints),
        ):  # fmt: skip
            if rows is not None and len(rows) != len(self.classes):
                raise InputError(f"predictions of {self.model!r}: {len(rows)} rows of {what}")
        if self.asked is not None and (self.classes[~self.asked] != NO_ANSWER).any():
            raise InputError(f"predictions of {self.model!r}: there is an answer to an example that was not asked")

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def k(self) -> int:
        """How many classes are kept an example."""
        return int(self.classes.shape[1])

    @property
    def top1(self) -> IntArray:
        """Shape (n,): the best class."""
        return self.classes[:, 0]

    @property
    def counted(self) -> BoolArray:
        """Shape (n,): the examples that were asked, and so count."""
        return np.ones(len(self), dtype=bool) if self.asked is None else self.asked

    def top(self, k: int) -> IntArray:
        """Shape (n, k): the best k classes; raises where fewer are stored."""
        if k < 1:
            raise UndefinedError(f"top-{k} has no meaning: k must be at least 1")
        if k > self.k:
            raise UndefinedError(f"top-{k} of {self.model!r} is not known: only the best {self.k} were stored")
        return self.classes[:, :k]

    @cached_property
    def digest(self) -> str:
        """A hash of everything that is stored, the same on every machine."""
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
        if self.asked is not None:
            state.update(b"asked" + np.packbits(self.asked).tobytes())
        if self.times is not None:
            state.update(b"times" + np.stack([self.times.start, self.times.end]).astype("<f8").tobytes())
        return state.hexdigest()
