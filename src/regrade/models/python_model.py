"""``python:module:function``: a user's own function from a batch of inputs to scores."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from regrade.core import InputError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.models.description import ModelDescription, statement
from regrade.models.failures import running
from regrade.models.model import Model, Settings
from regrade.models.score_checks import checked_scores, checked_scores_and_features, proven_score_kind
from regrade.models.user_code import (
    called,
    code_behind,
    modules_found,
    source_hash,
    stated_class_space,
    stated_preprocessing,
    user_object,
)


class PythonModel(Model):
    """A function as a model; device, precision and threads are its own affair."""

    def __init__(self, function: Any, statement: ModelDescription) -> None:
        self._function = function
        self.statement = statement
        self.class_space = statement.class_space
        self.preprocessing = statement.preprocessing
        self.spec = statement.spec(str(getattr(function, "weights_hash", "")) or source_hash(function))
        self.runtime = f"python {platform.python_version()}"
        stated = getattr(function, "score_kind", None)
        self.score_kind = stated if isinstance(stated, ScoreKind) else proven_score_kind(self)

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for inputs (n, channels, size, size)."""
        with modules_found(self.statement.code.folder), running(self.statement.name, batch.shape):
            output = _array(self._function(batch))
        return checked_scores(output, self.statement, rows=len(batch))

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (n, c) and features (n, d), by the function's own attribute ``scores_and_features``."""
        both = getattr(self._function, "scores_and_features", None)
        if both is None:
            return super().scores_and_features(batch)
        with modules_found(self.statement.code.folder), running(self.statement.name, batch.shape):
            scores, features = (_array(values) for values in both(batch))
        return checked_scores_and_features(scores, features, self.statement, rows=len(batch))


def _array(values: Any) -> FloatArray:
    """What a function returns as an array; values that it masks must not be taken for scores."""
    if np.ma.is_masked(values):
        raise ValueError("values of a masked array are masked: give scores for all classes, -inf for those ruled out")
    return np.asarray(values)


def load_python(place: str, settings: Settings) -> Model:
    """The model of a function (n, channels, size, size) -> (n, classes), or of an object that can be called so.

    Attributes ``class_space``, ``preprocessing``, ``score_kind``, ``weights_hash`` and ``scores_and_features`` say of
    it what they say of a model, and ``files`` which files belong to it. A class is called once, without arguments.
    """
    name = f"python:{place}"
    function = user_object(place, prefix="python")
    if isinstance(function, type):
        function = called(function, place, name)
    if not callable(function):
        raise InputError(f"{name} is a {type(function).__name__}; expected a function from a batch to scores")
    known = statement(
        name,
        settings,
        class_space=stated_class_space(function, name),
        preprocessing=stated_preprocessing(function, name),
        code=code_behind(function, place, name),
    )
    return PythonModel(function, known)
