"""Models from users' code: a function on arrays (``python:``), or one that returns a torch module (``torch:``)."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from regrade.core import InputError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.core.model_spec import Preprocessing
from regrade.models.description import (
    ModelDescription,
    checked_scores,
    checked_scores_and_features,
    describe_model,
    detect_score_kind,
)
from regrade.models.failures import running
from regrade.models.model import Model, Settings
from regrade.models.torch_runtime import TorchModel, is_module, require_torch
from regrade.models.user_code import (
    call_user_function,
    importable_from,
    own_code_of,
    source_hash,
    stated_class_space,
    stated_preprocessing,
    user_object,
)


class PythonModel(Model):
    """A function as a model; the function itself chooses device, precision and threads."""

    def __init__(self, function: Any, description: ModelDescription) -> None:
        self._function = function
        self.description = description
        self.class_space = description.class_space
        self.preprocessing = description.preprocessing
        self.spec = description.spec(str(getattr(function, "weights_hash", "")) or source_hash(function))
        self.runtime = f"python {platform.python_version()}"
        stated = getattr(function, "score_kind", None)
        self.score_kind = stated if isinstance(stated, ScoreKind) else detect_score_kind(self)

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for inputs (n, channels, size, size)."""
        with importable_from(self.description.code.folder), running(self.description.name, batch.shape):
            output = _array(self._function(batch))
        return checked_scores(output, self.description, rows=len(batch))

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (n, c) and features (n, d), by the function's own attribute ``scores_and_features``."""
        both = getattr(self._function, "scores_and_features", None)
        if both is None:
            return super().scores_and_features(batch)
        with importable_from(self.description.code.folder), running(self.description.name, batch.shape):
            scores, features = (_array(values) for values in both(batch))
        return checked_scores_and_features(scores, features, self.description, rows=len(batch))


def _array(values: Any) -> FloatArray:
    """The returned values as an array; masked values are an error."""
    if np.ma.is_masked(values):
        raise ValueError("the returned array has masked values: return scores for all classes, -inf to rule one out")
    return np.asarray(values)


def load_python(place: str, settings: Settings) -> Model:
    """Load a function (n, channels, size, size) -> (n, classes), or any callable object, as a model.

    Its attributes ``class_space``, ``preprocessing``, ``score_kind``, ``weights_hash`` and ``scores_and_features`` have
    the same meaning as those of a `Model`; ``files`` names files that belong to it. A class is instantiated once,
    without arguments.
    """
    name = f"python:{place}"
    function = user_object(place, prefix="python")
    if isinstance(function, type):
        function = call_user_function(function, place, name)
    if not callable(function):
        raise InputError(f"{name} is a {type(function).__name__}; expected a function from a batch to scores")
    description = describe_model(
        name,
        settings,
        class_space=stated_class_space(function, name),
        preprocessing=stated_preprocessing(function, name),
        code=own_code_of(function, place, name),
    )
    return PythonModel(function, description)


def load_torch(place: str, settings: Settings) -> Model:
    """Load the module that a user's function returns, alone or with its `Preprocessing`.

    The function's attribute ``class_space`` may state which classes the module predicts, and ``files`` which files
    belong to it.
    """
    name = f"torch:{place}"
    require_torch(name, "torch")
    function = user_object(place, prefix="torch")
    module, preprocessing = _module_and_preprocessing(call_user_function(function, place, name), name)
    description = describe_model(
        name,
        settings,
        class_space=stated_class_space(function, name),
        preprocessing=preprocessing or stated_preprocessing(function, name),
        code=own_code_of(function, place, name, parts=module.modules()),
    )
    model = TorchModel(module, description, settings)
    model.score_kind = detect_score_kind(model)
    return model


def _module_and_preprocessing(returned: Any, name: str) -> tuple[Any, Preprocessing | None]:
    module, preprocessing = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, None)
    if not is_module(module) or not (preprocessing is None or isinstance(preprocessing, Preprocessing)):
        raise InputError(
            f"{name} returned {_kind(returned)}, expected a torch.nn.Module or a pair of one and its Preprocessing"
        )
    return module, preprocessing


def _kind(returned: Any) -> str:
    if isinstance(returned, tuple):
        return f"({', '.join(type(part).__name__ for part in returned)})"
    return f"a {type(returned).__name__}"
