"""The description of a model: what the model itself states, completed by the user's settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from regrade.core import ClassSpace, InputError, MismatchError, ModelSpec
from regrade.core.model_spec import Preprocessing
from regrade.models.model import Settings
from regrade.models.user_code import OwnCode


@dataclass(frozen=True)
class ModelDescription:
    """A model's name, the classes it predicts, the preprocessing of its input, and the user's own code it runs."""

    name: str
    class_space: ClassSpace
    preprocessing: Preprocessing
    code: OwnCode = field(default_factory=OwnCode)

    def spec(self, weights_hash: str, training_data: str = "") -> ModelSpec:
        """The record of the model that manifests store."""
        return ModelSpec(
            self.name,
            self.class_space.name,
            self.preprocessing.summary,
            weights_hash,
            training_data,
            self.code.hash,
            self.code.note,
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
