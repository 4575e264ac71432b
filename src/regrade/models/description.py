"""The description of a model: what the model states, completed by the user's settings; and checks of its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regrade.core import ClassSpace, InputError, MismatchError, ModelSpec, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.core.model_spec import Preprocessing
from regrade.models.model import Model, OutOfMemory, Settings
from regrade.models.user_code import OwnCode

_SUM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class ModelDescription:
    """A model's name, the classes it predicts, the preprocessing of its input, and the user's own code it runs."""

    name: str
    class_space: ClassSpace
    preprocessing: Preprocessing
    code: OwnCode = field(default_factory=OwnCode)

    def spec(self, weights_hash: str, training_data: str = "", parameters: int | None = None) -> ModelSpec:
        """The record of the model that manifests store."""
        return ModelSpec(
            self.name,
            self.class_space.name,
            self.preprocessing.summary,
            weights_hash,
            training_data,
            self.code.hash,
            self.code.note,
            parameters=parameters,
        )


def describe_model(
    name: str,
    settings: Settings,
    *,
    class_space: ClassSpace | None = None,
    preprocessing: Preprocessing | None = None,
    code: OwnCode | None = None,
) -> ModelDescription:
    """Describe a model by its own ``class_space`` and ``preprocessing``, None if it has none, and the user's settings.

    The user's preprocessing overrides the model's own. Classes cannot be overridden: if both state them, they must be
    the same.
    """
    return ModelDescription(
        name,
        _class_space(name, class_space, settings),
        _preprocessing(name, preprocessing, settings),
        code or OwnCode(),
    )


def _class_space(name: str, own: ClassSpace | None, settings: Settings) -> ClassSpace:
    stated = settings.class_space
    if own is None:
        if stated is None:
            raise InputError(f"{name} does not state which classes it predicts: give --classes")
        return stated
    if stated is not None and own.digest != stated.digest:
        raise MismatchError(f"{name} predicts the classes {own.name}, not {stated.name}: leave out --classes")
    return own


def _preprocessing(name: str, own: Preprocessing | None, settings: Settings) -> Preprocessing:
    preprocessing = settings.preprocessing or own
    if preprocessing is None:
        raise InputError(f"{name} does not state its preprocessing: give --size")
    return preprocessing


def checked_scores(output: Any, description: ModelDescription, *, rows: int) -> FloatArray:
    """Shape (rows, classes): a model's output as an array; another shape, NaN or +infinity raises.

    -infinity is allowed: it is the logarithm of probability 0.
    """
    scores = np.asarray(output)
    name, space = description.name, description.class_space
    if scores.dtype.kind not in "fiu":
        raise InputError(f"{name} returned values of type {scores.dtype}, expected numbers: one score per class")
    if scores.ndim != 2 or len(scores) != rows:
        raise MismatchError(
            f"{name} returned scores of shape {scores.shape} for {rows} images, expected ({rows}, classes)"
        )
    check_width(name, scores.shape[1], len(space), space.name)
    if scores.dtype.kind != "f":
        scores = scores.astype(np.float64)
    bad = np.isnan(scores) | np.isposinf(scores)
    if bad.any():
        raise InputError(
            f"{name} returned NaN or infinity for {int(bad.any(axis=1).sum())} of {rows} images: "
            "check its weights and its input (--size, --mean, --std); with fp16, try --precision fp32"
        )
    return scores


def checked_scores_and_features(
    scores: Any, output: Any, description: ModelDescription, *, rows: int
) -> tuple[FloatArray, FloatArray]:
    """Scores as checked by `checked_scores`, and features (rows, d) with d >= 1, which must be finite."""
    features = np.asarray(output)
    if features.dtype.kind != "f" or features.ndim != 2 or len(features) != rows or not features.shape[1]:
        raise MismatchError(
            f"{description.name} returned features {features.dtype} {features.shape} for {rows} images, expected "
            f"floating-point numbers ({rows}, d)"
        )
    if not np.isfinite(features).all():
        raise InputError(f"{description.name} returned NaN or infinity among its features")
    return checked_scores(scores, description, rows=rows), features


def check_width(name: str, width: int, classes: int, class_space: str) -> None:
    """Raise if the number of a model's outputs is not the number of classes."""
    if width != classes:
        raise MismatchError(
            f"{name} gives {width} scores per image, but {class_space} has {classes} classes: give its own --classes"
        )


def detect_score_kind(model: Model) -> ScoreKind:
    """The kind of a model's scores, from two synthetic inputs: probabilities sum to 1."""
    preprocessing = model.preprocessing
    shape = (preprocessing.channels, preprocessing.size, preprocessing.size)
    noise = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    scores = _scores_of(model, np.stack([np.zeros_like(noise), noise]))
    probabilities = np.all(scores >= 0) and np.allclose(scores.sum(axis=1), 1, rtol=0, atol=_SUM_TOLERANCE)
    return ScoreKind.PROBABILITIES if probabilities else ScoreKind.LOGITS


def _scores_of(model: Model, batch: FloatArray) -> FloatArray:
    """Scores of a few inputs, computed one by one if they do not fit into memory together."""
    try:
        return model.scores(batch)
    except OutOfMemory:
        if len(batch) == 1:
            raise InputError(f"{model.spec.name} does not fit into memory even with a batch of one") from None
    return np.concatenate([_scores_of(model, batch[row : row + 1]) for row in range(len(batch))])
